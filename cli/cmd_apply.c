/*
 * stormlint apply PLAN...: carry plans out, prove what came of it, or change nothing.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/apply_inputs.h"
#include "cli/apply_keep.h"
#include "cli/options.h"
#include "cli/plan_text.h"
#include "loader/storm.h"
#include "planner/package.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct options_apply {
    struct apply_options apply;
    struct apply_output *output;
    const char **plan; /* files */
    size_t n_plans;
    const char *policy, *attrs;
    const char *allowed, *disallowed;
    bool json, keep, has_budget;
    uint64_t budget;
    struct apply_inputs inputs;
    struct policy own;
    struct arena *arena;
};

/* Without slashes at its end. */
static const char *directory(const char *text, struct arena *arena)
{
    char *path = arena_strdup(arena, options_absolute(arena, str_unescape(arena, text)));

    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    return path;
}

static int take_directory(void *into, const char *text, struct arena *arena, struct err *err UNUSED)
{
    *(const char **)into = directory(text, arena);
    return 0;
}

static int take_output(void *into, const char *text, struct arena *arena, struct err *err)
{
    struct options_apply *o = into;
    const char *equals = strchr(text, '='), *name;
    const size_t n = o->apply.n_outputs;

    if (!equals || equals == text || !equals[1])
        return err_set(err, EINVAL, "--output wants NAME=DIR, not '%s'", text);
    name = arena_strndup(arena, text, (size_t)(equals - text));
    for (size_t i = 0; i < n; i++)
        if (strcmp(o->output[i].name, name) == 0)
            return err_set(err, EINVAL, "output '%s' is given twice", name);
    o->output = arena_grow(arena, o->output, n, sizeof(*o->output));
    o->output[n] = (struct apply_output){.name = name, .dir = directory(equals + 1, arena)};
    o->apply.output = o->output;
    o->apply.n_outputs++;
    return 0;
}

static int take_stale(void *into, const char *text, struct arena *arena UNUSED, struct err *err)
{
    static const char *const words[] = {
        [STALE_FAIL] = "fail", [STALE_REPLAN] = "replan", [STALE_SKIP] = "skip"};
    struct options_apply *o = into;

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i], text) == 0) {
            o->apply.stale = (enum stale)i;
            return 0;
        }
    }
    return err_set(err, EINVAL, "--stale wants replan, skip or fail, not '%s'", text);
}

static const struct flag rows[] = {
    {"output", "NAME=DIR", "The package's output NAME is DIR: edit it in place (repeatable)",
     CALL(take_output)},
    {"out", "DIR", "Write edited copies and farms below DIR; the package stays as it is",
     CALL_ON(struct options_apply, apply.copies, take_directory)},
    {"stale", "replan|skip|fail",
     "When a program is not what its plan expects: decide anew, leave it, or change nothing at "
     "all (default)",
     CALL(take_stale)},
    {"policy", "FILE", "Decide under this policy, not under the plan's own",
     INTO(struct options_apply, policy)},
    {"budget", "N",
     "Only check: exit code 1 when a program of the outputs fails more than N opens at start-up",
     INTO(struct options_apply, budget), .given = offsetof(struct options_apply, has_budget)},
    {"keep-plan", NULL,
     "Leave plans made here in their outputs, as nix-support/stormlint/plan.json",
     INTO(struct options_apply, keep)},
    {"root", "DIR", "Take the tree below DIR for /",
     CALL_ON(struct options_apply, apply.root, take_directory)},
    {"json", NULL, "Print JSON", INTO(struct options_apply, json)},
    {NULL, "PLAN", NULL, LIST(struct options_apply, plan, n_plans)},
    {.help = "For build hooks:"},
    {"store", "DIR", "DIR holds packages, too",
     CALL_ON(struct options_apply, apply.store, take_directory)},
    {"attrs", "FILE",
     "Read stormlintPlan, stormlintPolicy and outputChecks from structured attributes",
     INTO(struct options_apply, attrs)},
    {"allowed-references", "LIST", "Store paths and outputs that the outputs may refer to",
     INTO(struct options_apply, allowed)},
    {"disallowed-references", "LIST", "The same, that they may not",
     INTO(struct options_apply, disallowed)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct options_apply *o = into;

    if (o->apply.n_outputs == 0 && !(o->apply.copies && o->n_plans))
        return err_set(err, EINVAL,
                       "where is the package? (--output NAME=DIR, or a plan and --out DIR)");
    if (o->has_budget && o->n_plans)
        return err_set(err, EINVAL, "--budget only checks: it takes no plan");
    return 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "[PLAN...]",
    .doc = "Carry out plans that 'stormlint plan -o' has written: edit programs and "
           "libraries, make the farms. Each is resolved anew first, and everything is proved "
           "before and after files change: the same libraries in the same order, calls as planned. "
           "Without a PLAN the outputs are planned on the spot.\v"
           "Each file is the old or the new one at every moment; when anything fails, all is put "
           "back. A second call completes what a killed one has begun, or says that all is done. "
           "Exit code: 0, done; 1, above the budget; 3, a plan cannot be read; 4, nothing was "
           "changed, and why.",
};

/* ---- what is told */

static json_t *applied_json(const struct applied *a)
{
    json_t *out = json_object();

    json_put_text(out, "path", a->path);
    json_put_text(out, "state", applied_name(a->state));
    json_put_text(out, "strategy", a->strategy);
    json_put_text(out, "scope", a->scope);
    json_put(out, "replanned", json_boolean(a->replanned));
    json_put_text(out, "reason", a->reason);
    json_put_text(out, "cpu", a->cpu);
    if (a->state == APPLIED_EDITED || a->state == APPLIED_DONE) {
        json_put(out, "before", storm_json(&a->before));
        json_put(out, "after", storm_json(&a->after));
    }
    if (a->state == APPLIED_EDITED) {
        json_put_int(out, "old_size", (int64_t)a->old_size);
        json_put_int(out, "new_size", (int64_t)a->new_size);
        json_put_text(out, "how", a->how);
    }
    return out;
}

static int print_json(const struct apply_result *result, struct err *err)
{
    json_t *out = json_object(), *objects = json_array();
    int r;

    for (size_t i = 0; i < result->n; i++)
        json_push(objects, applied_json(&result->item[i]));
    json_put(out, "objects", objects);
    json_put_int(out, "links", (int64_t)result->n_links);
    r = json_print(out, stdout, true, err);
    json_decref(out);
    return r;
}

static void print_applied(const struct applied *a, struct arena *arena)
{
    const char *path = str_escape(arena, a->path);
    const char *reason = a->reason ? str_sentence(arena, a->reason) : "";

    switch (a->state) {
    case APPLIED_EDITED:
        printf("%s: %s %s%s: %" PRIu64 " failed calls become %" PRIu64 " (%s); ", path, a->strategy,
               a->scope, a->replanned ? ", planned anew" : "", storm_failed(&a->before),
               storm_failed(&a->after), a->cpu);
        if (a->new_size > a->old_size)
            printf("%" PRIu64 " bytes longer (%s)\n", a->new_size - a->old_size, a->how);
        else
            printf("in place\n");
        break;
    case APPLIED_DONE:
        printf("%s: done before: %s %s\n", path, a->strategy, a->scope);
        break;
    case APPLIED_NOTHING:
        printf("%s: nothing to do%s%s\n", path, *reason ? ": " : "", reason);
        break;
    case APPLIED_SKIPPED:
        printf("%s: left alone: %s\n", path, reason);
        break;
    }
}

static void print_text(const struct apply_result *result, struct arena *arena)
{
    size_t n[APPLIED_SKIPPED + 1] = {0};

    for (size_t i = 0; i < result->n; i++) {
        print_applied(&result->item[i], arena);
        n[result->item[i].state]++;
    }
    if (result->n > 1)
        printf("%zu objects: %zu edited, %zu done before, %zu with nothing to do, %zu left alone; "
               "%zu links made\n",
               result->n, n[APPLIED_EDITED], n[APPLIED_DONE], n[APPLIED_NOTHING],
               n[APPLIED_SKIPPED], result->n_links);
}

/* ---- budget */

static int check_output(const struct options_apply *o, struct world *world,
                        const struct apply_output *output, size_t *n_over, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct policy *policy = o->inputs.policy ? o->inputs.policy : policy_default();
    const struct subject_query query = {.world = world, .policy = policy};
    struct program *program;
    size_t n;
    int r = package_programs(&query, output->dir, &arena, &program, &n, err);

    for (size_t i = 0; i < n && r == 0; i++) {
        const struct start start = {
            .program = program[i].path, .env = program[i].env, .n_env = program[i].n_env};
        const struct object *object =
            world_object(world, world_walk(world, NULL, program[i].path).node);
        const char *name = policy->cpu ? policy->cpu : cpu_default(object->machine);
        CLEANUP(loader_freep) struct loader *loader = NULL;
        struct trace trace;
        struct cpu cpu;

        if (!name)
            continue; /* a machine without a model: nothing is known of its loader */
        r = cpu_find(name, &cpu, err);
        if (r == 0) {
            loader = loader_new(world, &cpu, "/", false);
            r = loader_run(loader, &start, &arena, &trace, err);
        }
        if (r == 0 && trace.storm.failed_opens > o->budget) {
            printf("%s: %u failed opens at start-up (%s), the budget is %" PRIu64 "\n",
                   str_escape(&arena, program[i].path), trace.storm.failed_opens, cpu.name,
                   o->budget);
            ++*n_over;
        }
    }
    return r;
}

static int check_budget(const struct options_apply *o, struct err *err)
{
    CLEANUP(world_closep) struct world *world = NULL;
    size_t n_over = 0;
    int r = world_live(o->apply.root, getuid(), getgid(), &world, err);

    for (size_t i = 0; i < o->apply.n_outputs && r == 0; i++)
        r = check_output(o, world, &o->output[i], &n_over, err);
    if (r < 0)
        return command_failed(EXIT_FAILED, err);
    return n_over ? EXIT_FINDINGS : EXIT_FINE;
}

/* ---- the work */

static int read_inputs(struct options_apply *o, struct err *err)
{
    int r = 0;

    if (o->attrs)
        r = inputs_attrs(&o->inputs, o->arena, o->attrs, o->output, o->apply.n_outputs, err);
    for (size_t i = 0; i < o->n_plans && r == 0; i++)
        r = inputs_plan_file(&o->inputs, o->arena, o->plan[i], err);
    if (r == 0 && o->policy) {
        r = policy_read(o->policy, o->arena, &o->own, err);
        o->inputs.policy = &o->own;
    }
    if (o->allowed)
        inputs_references(o->arena, o->allowed, true, o->output, o->apply.n_outputs);
    if (o->disallowed)
        inputs_references(o->arena, o->disallowed, false, o->output, o->apply.n_outputs);
    return r;
}

/* Plans for the outputs as they are, told as `stormlint plan` does. */
static int plan_here(struct options_apply *o, struct err *err)
{
    struct apply_inputs *in = &o->inputs;
    int r = apply_plan_outputs(&o->apply, o->arena, &in->plan, &in->n_plans, err);

    for (size_t i = 0; r == 0 && !o->json && i < in->n_plans; i++) {
        const struct plan_view view = {.to = stdout,
                                       .term = term_of(stdout),
                                       .arena = o->arena,
                                       .plan = &in->plan[i],
                                       .probe_us = -1,
                                       .brief = true};

        plan_text(&view);
        putchar('\n');
    }
    return r;
}

/* Carry out, and keep the plans where that is asked for. */
static int carry_out(struct options_apply *o, struct apply_result *ret_result, struct err *err)
{
    const struct apply_inputs *in = &o->inputs;
    struct kept kept = {0};
    struct err lost;
    int r = o->keep ? keep_prepare(&kept, &o->apply, in->plan, in->n_plans, o->arena, err) : 0;

    if (r < 0)
        return r;
    r = apply_plans(in->plan, in->n_plans, &o->apply, o->arena, ret_result, err);
    if (keep_finish(&kept, r == 0 ? ret_result : NULL, &lost) < 0)
        log_warn("all is done, but the plan is not kept: %s", lost.text);
    return r;
}

static int apply(void *into, struct arena *arena, struct err *err)
{
    struct options_apply *o = into;
    struct apply_result result = {0};
    struct err why;
    int r;

    o->arena = arena;
    if (read_inputs(o, err) < 0)
        return command_failed(EXIT_INCOMPLETE, err);
    o->apply.policy = o->inputs.policy;
    if (o->has_budget)
        return check_budget(o, err);
    r = o->inputs.n_plans ? 0 : plan_here(o, &why);
    if (r == 0)
        r = carry_out(o, &result, &why);
    if (r < 0) {
        (void)err_set(err, -r, "not applied: %s", why.text);
        return command_failed(EXIT_FAILED, err);
    }
    if (o->json)
        return print_json(&result, err) < 0 ? command_failed(EXIT_FAILED, err) : EXIT_FINE;
    print_text(&result, arena);
    return EXIT_FINE;
}

const struct command cmd_apply = {
    .name = "apply",
    .summary = "carry out plans: edit programs, make farms, prove it or undo it",
    .flags = &flags,
    WORK(apply, struct options_apply, .apply = {.root = "/", .stale = STALE_FAIL}),
};
