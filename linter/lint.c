#include "linter/lint_private.h"

#include <stdlib.h>

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

/* ---- asking the rules */

static bool is_asked(const struct lint *lint, const struct rule *rule)
{
    if (rule->live && !lint->closure->live)
        return false;
    return lint->options->rules ? lint->options->rules[rule - rules()] : !rule->opt_in;
}

/* Findings of one rule about one object or start; a file can be wrong in a million places. */
enum { TOLD_MAX = 1000 };

static void ask_rule(struct lint *lint, struct check check)
{
    CLEANUP(arena_release) struct arena arena = {0};

    check.arena = &arena;
    lint->n_left = check.object ? TOLD_MAX : SIZE_MAX;
    check.rule->check(&check);
    if (lint->n_left)
        return;
    lint->n_left = 1;
    report_object(&check, check.object, "more",
                  "there is more of this: the first %d findings are told", TOLD_MAX);
}

void lint_ask(struct lint *lint, enum rule_scope scope, struct check like)
{
    CLEANUP(arena_release) struct arena arena = {0}; /* of its run path */

    like.lint = lint;
    like.closure = lint->closure;
    like.arena = &arena;
    if (scope == RULE_OBJECT)
        check_run_path(&like);
    for (like.rule = rules(); like.rule < rules() + N_RULES; like.rule++)
        if (like.rule->scope == scope && is_asked(lint, like.rule))
            ask_rule(lint, like);
}

/* ---- libraries that others may have, too */

static void keep_offer(struct lint *lint, const struct lint_object *o)
{
    struct offers *offers = &lint->offers[is_public(o)];
    const struct note *id = &o->object->build_id;

    if ((offers->n & (offers->n - 1)) == 0) { /* 0, 1, 2, 4, ...: full */
        offers->item =
            realloc(offers->item, (offers->n ? offers->n * 2 : 1) * sizeof(struct offer));
        if (!offers->item)
            abort();
    }
    offers->item[offers->n++] = (struct offer){
        .soname = arena_strdup(&lint->texts, o->object->soname),
        .object = o,
        .build_id = {id->bytes ? arena_memdup(&lint->texts, id->bytes, id->size) : NULL, id->size},
        .dev = o->node->dev,
        .ino = o->node->ino,
        .machine = machine_of(o->object)};
}

const struct offers *lint_offers(const struct lint *lint, bool public)
{
    return &lint->offers[public];
}

/* ---- two rounds over everything: starts of programs; what only is known after all of these */

/*
 * Is anything else to be seen first? Whether somebody has in memory what an object does not find by
 * itself, and what the wrappers of programs set for their libraries.
 */
static bool waits_for_starts(const struct lint *lint, const struct lint_object *o)
{
    for (size_t i = 0; o->need && i < o->object->n_needs; i++)
        if (!o->need[i].answer)
            return true;
    return lint->closure->live;
}

static void ask_object(struct lint *lint, struct lint_object *o)
{
    if (!(o->object->layout & LAYOUT_DEBUG_ONLY))
        lint_ask(lint, RULE_OBJECT, (struct check){.object = o});
}

static void ask_package(struct lint *lint, struct lint_package *package)
{
    if (!package->asked)
        lint_ask(lint, RULE_PACKAGE, (struct check){.package = package});
    package->asked = true;
}

/* Is it the last object of its package? */
static bool is_last(const struct lint_object *o)
{
    return o->package && o->package->object[o->package->n_objects - 1] == o;
}

static void first_round(struct lint *lint, struct lint_object *o)
{
    closure_look(lint->closure, o);
    start_library(lint, o);
    if (is_started(o->object))
        start_program(lint, o);
    if (is_offered(o))
        keep_offer(lint, o);
    o->waits_for_user = is_loaded_alone(o);
    o->waits_for_starts = waits_for_starts(lint, o);
    if (!o->waits_for_starts)
        ask_object(lint, o);
    if (is_last(o) && !lint->closure->live)
        ask_package(lint, o->package);
}

static void second_round(struct lint *lint, struct lint_object *o)
{
    const bool alone = o->waits_for_user && !o->user;

    if (!alone && !o->waits_for_starts)
        return;
    closure_look(lint->closure, o);
    if (alone)
        start_alone(lint, o);
    if (o->waits_for_starts)
        ask_object(lint, o);
}

static void drop_loader(struct lint *lint)
{
    loader_free(lint->loader);
    arena_release(&lint->run_path.arena);
    lint->run_path = (struct run_path){0}; /* texts and nodes of the world */
    lint->loader = NULL;
}

static void make_loader(struct lint *lint)
{
    lint->loader = loader_new(lint->closure->world, lint_cpu(lint), lint_cwd(lint), false);
}

/* Between two objects: forget what was fetched for those before. */
static int trim(struct lint *lint, struct err *err)
{
    int r;

    if (!closure_holds_much(lint->closure, loader_held(lint->loader)))
        return 0;
    drop_loader(lint);
    r = closure_forget(lint->closure, err);
    make_loader(lint);
    return r;
}

static int each_object(struct lint *lint, const char *label,
                       void (*act)(struct lint *lint, struct lint_object *object), struct err *err)
{
    const struct closure *c = lint->closure;
    int r = 0;

    for (size_t i = 0; i < c->n_objects && r == 0; i++) {
        act(lint, c->object[i]);
        progress_update(lint->options->progress, label, i + 1, c->n_objects);
        r = progress_check(lint->options->progress, err);
        if (r == 0)
            r = trim(lint, err);
    }
    return r;
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

static void ask_closure(struct lint *lint)
{
    for (size_t i = 0; i < ARRAY_LEN(lint->offers); i++)
        if (lint->offers[i].n > 1)
            qsort(lint->offers[i].item, lint->offers[i].n, sizeof(struct offer), offers_order);
    lint_ask(lint, RULE_CLOSURE, (struct check){0});
}

static void lint_release(struct lint *lint)
{
    drop_loader(lint);
    free(lint->told);
    for (size_t i = 0; i < ARRAY_LEN(lint->offers); i++)
        free(lint->offers[i].item);
    arena_release(&lint->texts);
    intern_free(lint->evidence);
}

/* What is asked of whole packages and of everything, behind both rounds. */
static void ask_rest(struct lint *lint, struct lint_result *ret)
{
    const struct closure *c = lint->closure;

    for (size_t i = 0; i < c->n_packages; i++)
        if (c->package[i]->selected) {
            ret->n_packages++;
            ask_package(lint, c->package[i]);
        }
    ask_closure(lint);
    for (size_t i = 0; i < c->n_problems; i++)
        ret->incomplete |= c->problem[i].unread;
}

int lint_run(struct closure *closure, const struct lint_options *options, struct arena *arena,
             struct lint_result *ret_result, struct err *err)
{
    CLEANUP(lint_release)
    struct lint lint = {
        .closure = closure, .options = options, .arena = arena, .evidence = intern_new_in(arena)};
    struct lint_result result = {.n_objects = closure->n_objects};
    int r;

    make_loader(&lint);
    starts_find_ldso(&lint);
    wrappers_find(closure, &lint.wrappers);
    r = each_object(&lint, "objects", first_round, err);
    if (r == 0)
        r = each_object(&lint, "plugins", second_round, err);
    if (r < 0)
        return r;
    ask_rest(&lint, &result);
    list_unasked(&lint, &result);
    findings_sort(&lint.findings);
    result.findings = lint.findings;
    result.n_programs = lint.n_programs;
    *ret_result = result;
    return 0;
}
