/*
 * Starts: each program, and each library by itself, as the loader model has them.
 */
#include "linter/lint_private.h"

static void keep_ldso(struct lint *lint, const char *path, const struct object *object)
{
    for (size_t i = 0; i < lint->n_ldso; i++)
        if (!strcmp(lint->ldso[i].path, path))
            return;
    lint->ldso = arena_grow(lint->arena, lint->ldso, lint->n_ldso, sizeof(*lint->ldso));
    lint->ldso[lint->n_ldso++] =
        (struct ldso_file){arena_strdup(lint->arena, path), machine_of(object)};
}

static void keep_interp(struct lint *lint, const char *interp)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct world *world = lint->closure->world;
    const struct place at = world_walk(world, NULL, interp);

    if (!at.error && at.node->kind == NODE_FILE && world_object(world, at.node))
        keep_ldso(lint, world_path(&arena, at.node), at.node->object);
}

void starts_find_ldso(struct lint *lint)
{
    struct closure *c = lint->closure;
    struct intern *interps = intern_new();
    uint32_t n = 0;

    for (size_t i = 0; i < c->n_objects; i++) {
        struct lint_object *o = c->object[i];

        if (o->is_ldso) {
            closure_look(c, o);
            keep_ldso(lint, o->path, o->object);
        }
        if (!o->interp || intern(interps, o->interp)->id < n)
            continue;
        n = intern_count(interps);
        keep_interp(lint, o->interp);
    }
    intern_free(interps);
}

/* The loader that would load the library: its run path's, else any of its machine. */
static const char *ldso_for(struct lint *lint, struct check *check,
                            const struct lint_object *object)
{
    const struct node *node = run_path_ldso(check, object);
    const char *found = node ? world_path(check->arena, node) : NULL;

    for (size_t i = 0; i < lint->n_ldso && !found; i++)
        if (machines_equal(lint->ldso[i].machine, machine_of(object->object)))
            found = lint->ldso[i].path;
    return found;
}

/* What each needed name was answered with: the k-th request of an object is for its k-th name. */
static void keep_answers(struct lint *lint, struct lint_object *object, const struct trace *trace)
{
    const int self = loaded_index(trace, object->node);
    size_t k = 0;

    if (self < 0 || !object->object->n_needs)
        return;
    object->need =
        arena_calloc(&lint->closure->arena, object->object->n_needs, sizeof(*object->need));
    if (!str_same(lint->ldso_path, trace->profile.interp))
        lint->ldso_path = arena_strdup(&lint->closure->arena, trace->profile.interp);
    object->loader = lint->ldso_path;
    for (size_t i = 0; i < trace->n_requests; i++) {
        const struct request *r = &trace->request[i];

        if (r->asker != self || r->phase || r->kind > REQUEST_FILTER)
            continue;
        if (k == object->object->n_needs)
            break;
        if (r->answer >= 0 && trace->loaded[r->answer].node)
            object->need[k].answer =
                closure_any_object(lint->closure, trace->loaded[r->answer].node);
        for (size_t n = 0; n < r->n_calls && r->answer < 0; n++)
            object->need[k].refused |= trace->call[r->first_call + n].outcome == OUTCOME_REJECTED;
        k++;
    }
}

struct start start_as_ldd(struct world *world, const char *ldso, const char *path,
                          struct arena *arena)
{
    static const char *const traced[] = {"LD_TRACE_LOADED_OBJECTS=1"};
    const struct place at = world_walk(world, NULL, ldso);
    const struct object *object = at.error ? NULL : world_object(world, at.node);
    const bool musl = object && object->ldso && object->ldso->libc == LIBC_MUSL;
    const char **args = arena_calloc(arena, 2, sizeof(*args));

    args[0] = musl ? "--list" : path;
    args[1] = path;
    return (struct start){.program = ldso,
                          .record = true,
                          .ld_args = args,
                          .n_ld_args = musl ? 2 : 1,
                          .env = traced,
                          .n_env = ARRAY_LEN(traced)};
}

/* False: it cannot be asked. */
static bool load_alone(struct lint *lint, const struct lint_object *object, struct arena *arena,
                       struct trace *ret_trace)
{
    struct check check = {.lint = lint, .closure = lint->closure, .arena = arena};
    const char *ldso = ldso_for(lint, &check, object);
    struct start start;
    struct err err;

    if (!ldso)
        return false;
    start = start_as_ldd(lint->closure->world, ldso, object->path, arena);
    return loader_run(lint->loader, &start, arena, ret_trace, &err) == 0;
}

static void start_by_itself(struct lint *lint, struct lint_object *object)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct trace trace = {0};

    if (load_alone(lint, object, &arena, &trace))
        keep_answers(lint, object, &trace);
}

bool is_loaded_alone(const struct lint_object *object)
{
    return is_library(object->object) && is_dynamic(object->object);
}

void start_library(struct lint *lint, struct lint_object *object)
{
    if (object->asked_alone || !is_loaded_alone(object))
        return;
    object->asked_alone = true;
    start_by_itself(lint, object);
}

/* What is loaded is compared with what each library would have had. */
static void start_loaded(struct lint *lint, const struct trace *trace)
{
    for (size_t i = 0; i < trace->n_loaded; i++) {
        struct lint_object *o =
            trace->loaded[i].node ? closure_object_of(lint->closure, trace->loaded[i].node) : NULL;

        if (o)
            start_library(lint, o);
    }
}

/* Whom a program has in memory, and which of their names are answered there. */
static void keep_users(struct lint *lint, const struct lint_object *program,
                       const struct trace *trace, struct arena *arena)
{
    struct lint_object **object = arena_calloc(arena, trace->n_loaded, sizeof(*object));
    size_t *asked = arena_calloc(arena, trace->n_loaded, sizeof(*asked));
    bool *by_wrapper = arena_calloc(arena, trace->n_loaded, sizeof(*by_wrapper));

    for (size_t i = 0; i < trace->n_loaded; i++) {
        object[i] =
            trace->loaded[i].node ? closure_object_of(lint->closure, trace->loaded[i].node) : NULL;
        if (!object[i] || object[i]->user)
            continue;
        object[i]->user = program->path;
        object[i]->wrapper = program->wrapper;
    }
    for (size_t i = 0; i < trace->n_requests; i++) {
        const struct request *r = &trace->request[i];
        struct lint_object *asker = r->asker >= 0 ? object[r->asker] : NULL;

        if (r->answer >= 0)
            by_wrapper[r->answer] |= program->wrapper && r->stage == STAGE_LIBRARY_PATH;
        if (!asker || r->phase || r->kind > REQUEST_FILTER || !asker->need)
            continue;
        if (asked[r->asker] < asker->object->n_needs) {
            struct lint_need *need = &asker->need[asked[r->asker]++];

            need->satisfied |= r->answer >= 0;
            need->failed |= r->answer < 0;
            need->by_wrapper |= r->answer >= 0 && by_wrapper[r->answer];
        }
    }
}

void start_alone(struct lint *lint, struct lint_object *object)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct trace trace = {0};

    if (!load_alone(lint, object, &arena, &trace))
        return;
    if (is_started(object->object))
        keep_answers(lint, object, &trace);
    start_loaded(lint, &trace);
    lint_ask(lint, RULE_PROCESS, (struct check){.object = object, .trace = &trace, .alone = true});
}

void start_program(struct lint *lint, struct lint_object *object)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct wrapper *w = object->wrapper;
    const struct start start = {.program = object->path,
                                .record = true,
                                .env = w ? w->env : NULL,
                                .n_env = w ? w->n_env : 0};
    struct trace trace = {0};
    struct err err;

    if (loader_run(lint->loader, &start, &arena, &trace, &err) < 0)
        return;
    lint->n_programs++;
    if (w)
        start_by_itself(lint, object); /* what it would find without */
    else
        keep_answers(lint, object, &trace);
    if (trace.exit == EXIT_MISSING || trace.exit == EXIT_BAD)
        start_alone(lint, object); /* what follows the missing one */
    start_loaded(lint, &trace);
    keep_users(lint, object, &trace, &arena);
    lint_ask(lint, RULE_PROCESS, (struct check){.object = object, .trace = &trace});
    if (lint->options->each_start)
        lint->options->each_start(lint->options->data, object, &trace);
}
