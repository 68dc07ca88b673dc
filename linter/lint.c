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

void lint_ask(struct lint *lint, enum rule_scope scope, struct check like)
{
    CLEANUP(arena_release) struct arena arena = {0};

    like.lint = lint;
    like.closure = lint->closure;
    like.arena = &arena;
    if (scope == RULE_OBJECT)
        check_run_path(&like);
    for (like.rule = rules(); like.rule < rules() + N_RULES; like.rule++)
        if (like.rule->scope == scope && is_asked(lint, like.rule))
            like.rule->check(&like);
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
    lint_ask(lint, RULE_OBJECT, (struct check){.object = object});
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
    starts_find_ldso(&lint);
    wrappers_find(closure, &lint.wrappers);
    each_object(&lint, "libraries", wants_alone, start_by_itself);
    each_object(&lint, "programs", wants_start, start_program);
    each_object(&lint, "plugins", wants_start_alone, start_alone);
    each_object(&lint, "objects", wants_rules, ask_object);
    for (size_t i = 0; i < closure->n_packages; i++)
        if (closure->package[i]->selected) {
            result.n_packages++;
            lint_ask(&lint, RULE_PACKAGE, (struct check){.package = closure->package[i]});
        }
    lint_ask(&lint, RULE_CLOSURE, (struct check){0});
    for (size_t i = 0; i < closure->n_problems; i++)
        result.incomplete |= closure->problem[i].unread;
    free(lint.told);
    arena_release(&lint.run_path.arena);
    list_unasked(&lint, &result);
    findings_sort(&lint.findings);
    result.findings = lint.findings;
    result.n_programs = lint.n_programs;
    *ret_result = result;
    return 0;
}
