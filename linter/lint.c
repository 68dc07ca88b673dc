#include "linter/check.h"

#include "base/str.h"
#include "scanner/ldso.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 0
#include <uthash.h>

enum { MAX_EVIDENCE = 8 };

/* A finding by its path and identity. */
struct told {
    const char *identity;
    struct finding *finding;
    const struct lint_object *start; /* the last one that told it */
    UT_hash_handle hh;
};

struct lint {
    struct closure *closure;
    const struct lint_options *options;
    struct arena *arena; /* of the findings */
    struct loader *loader;
    struct findings findings;
    struct told *told;
    const struct lint_object **ldso; /* loaders that programs of the closure name */
    size_t n_ldso;
    struct wrappers wrappers;
    size_t n_programs;
    bool incomplete;
};

uint32_t probe_budget(const struct lint *lint)
{
    return lint->options->probe_budget ? lint->options->probe_budget : PROBE_BUDGET;
}

const struct wrappers *lint_wrappers(const struct lint *lint)
{
    return &lint->wrappers;
}

struct loader *lint_loader(const struct lint *lint)
{
    return lint->loader;
}

const struct cpu *lint_cpu(const struct lint *lint)
{
    return lint->options->cpu;
}

const char *lint_cwd(const struct lint *lint)
{
    return lint->options->cwd ? lint->options->cwd : "/";
}

/* ---- telling */

static struct finding *tell(struct check *check, const struct finding *like, const char *message,
                            va_list ap)
{
    struct lint *lint = check->lint;
    struct arena *arena = lint->arena;
    const char *identity =
        arena_printf(check->arena, "%s %s %s", check->rule->code, like->path,
                     finding_identity(&(struct finding){.key = like->key, .subject = like->subject},
                                      check->arena));
    struct told *told;
    struct finding *f;

    HASH_FIND_STR(lint->told, identity, told);
    if (told) {
        told->finding->programs += check->trace && told->start != check->object;
        told->start = check->object;
        return NULL;
    }
    f = arena_memdup(arena, like, sizeof(*like));
    f->rule = check->rule;
    f->severity = f->rule->severity;
    f->confidence = f->rule->confidence;
    f->subject = like->subject ? arena_strdup(arena, like->subject) : NULL;
    f->message = arena_vprintf(arena, message, ap);
    f->programs = check->trace != NULL;
    told = arena_alloc(arena, sizeof(*told));
    told->identity = arena_strdup(arena, identity);
    told->finding = f;
    told->start = check->object;
    HASH_ADD_KEYPTR(hh, lint->told, told->identity, strlen(told->identity), told);
    lint->findings.item =
        arena_grow(arena, lint->findings.item, lint->findings.n, sizeof(struct finding *));
    lint->findings.item[lint->findings.n++] = f;
    return f;
}

struct finding *report_object(struct check *check, const struct lint_object *object,
                              const char *subject, const char *message, ...)
{
    const struct finding like = {.path = object->path,
                                 .package = object->package ? object->package->path : NULL,
                                 .origin = object->package ? object->package->origin : NULL,
                                 .key = object->key,
                                 .subject = subject};
    struct finding *f;
    va_list ap;

    va_start(ap, message);
    f = tell(check, &like, message, ap);
    va_end(ap);
    return f;
}

struct finding *report_package(struct check *check, const struct lint_package *package,
                               const char *subject, const char *message, ...)
{
    const struct finding like = {.path = package->path,
                                 .package = package->path,
                                 .origin = package->origin,
                                 .key = package->key,
                                 .subject = subject};
    struct finding *f;
    va_list ap;

    va_start(ap, message);
    f = tell(check, &like, message, ap);
    va_end(ap);
    return f;
}

struct finding *report_file(struct check *check, const struct lint_package *package,
                            const char *path, const char *subject, const char *message, ...)
{
    struct finding like = {.path = path, .key = path, .subject = subject};
    struct finding *f;
    va_list ap;

    if (package) {
        const char *below = path + strlen(package->path);

        like.package = package->path;
        like.origin = package->origin;
        like.key = arena_printf(check->lint->arena, "%s:%s", package->key, below + (*below == '/'));
    }
    va_start(ap, message);
    f = tell(check, &like, message, ap);
    va_end(ap);
    return f;
}

void evidence(struct check *check, struct finding *finding, const char *fmt, ...)
{
    struct arena *arena = check->lint->arena;
    va_list ap;

    if (!finding || finding->n_evidence >= MAX_EVIDENCE)
        return;
    finding->evidence =
        arena_grow(arena, finding->evidence, finding->n_evidence, sizeof(*finding->evidence));
    va_start(ap, fmt);
    finding->evidence[finding->n_evidence++] = arena_vprintf(arena, fmt, ap);
    va_end(ap);
}

/* ---- asking the rules */

static bool is_asked(const struct lint *lint, const struct rule *rule)
{
    if (rule->live && !lint->closure->live)
        return false;
    return lint->options->rules ? lint->options->rules[rule - rules()] : !rule->opt_in;
}

static void ask(struct lint *lint, enum rule_scope scope, struct check like)
{
    CLEANUP(arena_release) struct arena arena = {0};

    like.lint = lint;
    like.closure = lint->closure;
    like.arena = &arena;
    if (scope == RULE_OBJECT)
        like.n_components = components(&like, like.object, &like.component);
    for (like.rule = rules(); like.rule < rules() + N_RULES; like.rule++)
        if (like.rule->scope == scope && is_asked(lint, like.rule))
            like.rule->check(&like);
}

/* ---- starts */

static void keep_ldso(struct lint *lint, const struct node *node)
{
    const struct lint_object *o = closure_object_of(lint->closure, node);

    for (size_t i = 0; i < lint->n_ldso; i++)
        if (lint->ldso[i]->node == node)
            return;
    if (!o) {
        struct lint_object *outside = arena_alloc(&lint->closure->arena, sizeof(*outside));

        outside->path = world_path(&lint->closure->arena, node);
        outside->node = (struct node *)(uintptr_t)node;
        outside->object = node->object;
        o = outside;
    }
    lint->ldso =
        arena_grow(lint->arena, lint->ldso, lint->n_ldso, sizeof(const struct lint_object *));
    lint->ldso[lint->n_ldso++] = o;
}

/* The loader files there are: those that programs name, those in the selection. */
static void find_ldso(struct lint *lint)
{
    const struct closure *c = lint->closure;

    for (size_t i = 0; i < c->n_objects; i++) {
        const struct object *object = c->object[i]->object;
        struct place at;

        if (object->ldso)
            keep_ldso(lint, c->object[i]->node);
        if (!object->interp)
            continue;
        at = world_walk(c->world, NULL, object->interp);
        if (!at.error && at.node->kind == NODE_FILE && world_object(c->world, at.node))
            keep_ldso(lint, at.node);
    }
}

/* A loader in one of the directories that the library's run path names. */
static const char *ldso_in_run_path(struct lint *lint, struct check *check,
                                    const struct lint_object *object)
{
    struct component *component;
    const size_t n = components(check, object, &component);
    const char *const *name;

    for (size_t i = 0; i < n; i++)
        for (name = ldso_names(); *name; name++) {
            struct node *node = component_find(check, &component[i], *name);
            const struct object *ldso = node ? world_object(lint->closure->world, node) : NULL;

            if (ldso && same_machine(ldso, object->object))
                return world_path(&lint->closure->arena, node);
        }
    return NULL;
}

/* The loader that would load the library: its run path's, else any of its machine. */
static const char *ldso_for(struct lint *lint, struct check *check,
                            const struct lint_object *object)
{
    const char *found = ldso_in_run_path(lint, check, object);

    for (size_t i = 0; i < lint->n_ldso && !found; i++)
        if (same_machine(lint->ldso[i]->object, object->object))
            found = lint->ldso[i]->path;
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
    object->loader = arena_strdup(&lint->closure->arena, trace->profile.interp);
    for (size_t i = 0; i < trace->n_requests; i++) {
        const struct request *r = &trace->request[i];

        if (r->asker != self || r->phase || r->kind > REQUEST_FILTER)
            continue;
        if (k == object->object->n_needs)
            break;
        if (r->answer >= 0)
            object->need[k].answer = trace->loaded[r->answer].node;
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

static void load_by_itself(struct lint *lint, struct lint_object *object)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct trace trace = {0};

    if (load_alone(lint, object, &arena, &trace))
        keep_answers(lint, object, &trace);
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

/* A library that no program has at its start (a plugin, or a library for others), or a program that
 * misses something. */
static void start_alone(struct lint *lint, struct lint_object *object)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct trace trace = {0};

    if (!load_alone(lint, object, &arena, &trace))
        return;
    if (is_started(object->object))
        keep_answers(lint, object, &trace);
    ask(lint, RULE_PROCESS, (struct check){.object = object, .trace = &trace, .alone = true});
}

static void start_program(struct lint *lint, struct lint_object *object)
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
        load_by_itself(lint, object); /* what it would find without */
    else
        keep_answers(lint, object, &trace);
    if (trace.exit == EXIT_MISSING || trace.exit == EXIT_BAD)
        start_alone(lint, object); /* what follows the missing one */
    keep_users(lint, object, &trace, &arena);
    ask(lint, RULE_PROCESS, (struct check){.object = object, .trace = &trace});
    if (lint->options->each_start)
        lint->options->each_start(lint->options->data, object, &trace);
}

/* ---- passes */

static void each_object(struct lint *lint, const char *label, bool (*wanted)(const void *object),
                        void (*act)(struct lint *lint, struct lint_object *object))
{
    const struct closure *c = lint->closure;

    for (size_t i = 0; i < c->n_objects; i++) {
        if (wanted(c->object[i]))
            act(lint, c->object[i]);
        progress_update(lint->options->progress, label, i + 1, c->n_objects);
    }
}

static bool wants_alone(const void *object)
{
    const struct lint_object *o = object;

    return is_library(o->object) && is_dynamic(o->object);
}

static bool wants_start(const void *object)
{
    const struct lint_object *o = object;

    return is_started(o->object);
}

static bool wants_start_alone(const void *object)
{
    const struct lint_object *o = object;

    return wants_alone(o) && !o->user;
}

static bool wants_rules(const void *object)
{
    const struct lint_object *o = object;

    return !(o->object->layout & LAYOUT_DEBUG_ONLY);
}

static void ask_object(struct lint *lint, struct lint_object *object)
{
    ask(lint, RULE_OBJECT, (struct check){.object = object});
}

static void list_unasked(struct lint *lint, struct lint_result *ret)
{
    for (size_t i = 0; i < N_RULES; i++) {
        const struct rule *rule = &rules()[i];
        const bool wanted = lint->options->rules ? lint->options->rules[i] : !rule->opt_in;

        if (!wanted || is_asked(lint, rule))
            continue;
        ret->unasked =
            arena_grow(lint->arena, ret->unasked, ret->n_unasked, sizeof(const struct rule *));
        ret->unasked[ret->n_unasked++] = rule;
    }
}

int lint_run(struct closure *closure, const struct lint_options *options, struct arena *arena,
             struct lint_result *ret_result, struct err *err)
{
    CLEANUP(loader_freep) struct loader *loader = NULL;
    struct lint lint = {.closure = closure, .options = options, .arena = arena};
    struct lint_result result = {.n_objects = closure->n_objects};

    (void)err;
    lint.loader = loader = loader_new(closure->world, options->cpu, lint_cwd(&lint), false);
    find_ldso(&lint);
    wrappers_find(closure, &lint.wrappers);
    each_object(&lint, "libraries", wants_alone, load_by_itself);
    each_object(&lint, "programs", wants_start, start_program);
    each_object(&lint, "plugins", wants_start_alone, start_alone);
    each_object(&lint, "objects", wants_rules, ask_object);
    for (size_t i = 0; i < closure->n_packages; i++)
        if (closure->package[i]->selected) {
            result.n_packages++;
            ask(&lint, RULE_PACKAGE, (struct check){.package = closure->package[i]});
        }
    ask(&lint, RULE_CLOSURE, (struct check){0});
    for (size_t i = 0; i < closure->n_problems; i++)
        result.incomplete |= closure->problem[i].unread;
    HASH_CLEAR(hh, lint.told);
    list_unasked(&lint, &result);
    findings_sort(&lint.findings);
    result.findings = lint.findings;
    result.n_programs = lint.n_programs;
    *ret_result = result;
    return 0;
}
