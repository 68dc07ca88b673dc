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
#include "planner/plan_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_OUTPUT = 0x100,
    OPT_OUT,
    OPT_STALE,
    OPT_POLICY,
    OPT_ROOT,
    OPT_JSON,
    OPT_STORE,
    OPT_ATTRS,
    OPT_ALLOWED,
    OPT_DISALLOWED,
    OPT_BUDGET,
    OPT_KEEP,
};

struct options_apply {
    struct apply_options apply;
    struct apply_output *output;
    const char **plan; /* files */
    size_t n_plans;
    const char *policy, *attrs;
    const char *allowed, *disallowed;
    bool json, keep, has_budget;
    unsigned long budget;
    struct apply_inputs inputs;
    struct policy own;
    struct arena arena;
};

static const struct argp_option rows[] = {
    {"output", OPT_OUTPUT, "NAME=DIR", 0,
     "The package's output NAME is DIR: edit it in place (repeatable)", 0},
    {"out", OPT_OUT, "DIR", 0,
     "Write edited copies and farms below DIR; the package stays as it is", 0},
    {"stale", OPT_STALE, "replan|skip|fail", 0,
     "When a program is not what its plan expects: decide anew, leave it, or change nothing at "
     "all (default)",
     0},
    {"policy", OPT_POLICY, "FILE", 0, "Decide under this policy, not under the plan's own", 0},
    {"budget", OPT_BUDGET, "N", 0,
     "Only check: exit code 1 when a program of the outputs fails more than N opens at start-up",
     0},
    {"keep-plan", OPT_KEEP, NULL, 0,
     "Leave plans made here in their outputs, as nix-support/stormlint/plan.json", 0},
    {"root", OPT_ROOT, "DIR", 0, "Take the tree below DIR for /", 0},
    {"json", OPT_JSON, NULL, 0, "Print JSON", 0},
    {NULL, 0, NULL, 0, "For build hooks:", 1},
    {"store", OPT_STORE, "DIR", 0, "DIR holds packages, too", 1},
    {"attrs", OPT_ATTRS, "FILE", 0,
     "Read stormlintPlan, stormlintPolicy and outputChecks from structured attributes", 1},
    {"allowed-references", OPT_ALLOWED, "LIST", 0,
     "Store paths and outputs that the outputs may refer to", 1},
    {"disallowed-references", OPT_DISALLOWED, "LIST", 0, "The same, that they may not", 1},
    {0},
};

/* Without slashes at its end. */
static const char *directory(struct options_apply *o, const char *path)
{
    char *text = arena_strdup(&o->arena, options_absolute(&o->arena, path));

    for (size_t n = strlen(text); n > 1 && text[n - 1] == '/'; n--)
        text[n - 1] = '\0';
    return text;
}

static void add_output(struct options_apply *o, const char *arg, const struct argp_state *state)
{
    const char *equals = strchr(arg, '=');
    const size_t n = o->apply.n_outputs;

    if (!equals || equals == arg || !equals[1])
        argp_error(state, "--output wants NAME=DIR, not '%s'", arg);
    for (size_t i = 0; i < n; i++)
        if (strlen(o->output[i].name) == (size_t)(equals - arg) &&
            strncmp(o->output[i].name, arg, (size_t)(equals - arg)) == 0)
            argp_error(state, "output '%s' is given twice", o->output[i].name);
    o->output = arena_grow(&o->arena, o->output, n, sizeof(*o->output));
    o->output[n] = (struct apply_output){
        .name = arena_strndup(&o->arena, arg, (size_t)(equals - arg)),
        .dir = directory(o, str_unescape(&o->arena, equals + 1)),
    };
    o->apply.output = o->output;
    o->apply.n_outputs++;
}

static void set_stale(struct options_apply *o, const char *arg, const struct argp_state *state)
{
    static const char *const words[] = {
        [STALE_FAIL] = "fail", [STALE_REPLAN] = "replan", [STALE_SKIP] = "skip"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i], arg) == 0) {
            o->apply.stale = (enum stale)i;
            return;
        }
    }
    argp_error(state, "--stale wants replan, skip or fail, not '%s'", arg);
}

static void set_budget(struct options_apply *o, const char *arg, const struct argp_state *state)
{
    char *end;

    errno = 0;
    o->budget = strtoul(arg, &end, 10);
    o->has_budget = true;
    if (errno || end == arg || *end || *arg == '-')
        argp_error(state, "--budget wants a number, not '%s'", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options_apply *o = state->input;

    switch (key) {
    case OPT_OUTPUT:
        add_output(o, arg, state);
        return 0;
    case OPT_OUT:
        o->apply.copies = directory(o, str_unescape(&o->arena, arg));
        return 0;
    case OPT_STALE:
        set_stale(o, arg, state);
        return 0;
    case OPT_POLICY:
        o->policy = arg;
        return 0;
    case OPT_ROOT:
        o->apply.root = directory(o, str_unescape(&o->arena, arg));
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_KEEP:
        o->keep = true;
        return 0;
    case OPT_STORE:
        o->apply.store = directory(o, str_unescape(&o->arena, arg));
        return 0;
    case OPT_ATTRS:
        o->attrs = arg;
        return 0;
    case OPT_ALLOWED:
        o->allowed = arg;
        return 0;
    case OPT_DISALLOWED:
        o->disallowed = arg;
        return 0;
    case OPT_BUDGET:
        set_budget(o, arg, state);
        return 0;
    case ARGP_KEY_ARG:
        o->plan = arena_grow(&o->arena, o->plan, o->n_plans, sizeof(*o->plan));
        o->plan[o->n_plans++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->apply.n_outputs == 0 && !(o->apply.copies && o->n_plans))
            argp_error(state, "where is the package? (--output NAME=DIR, or a plan and --out DIR)");
        if (o->has_budget && o->n_plans)
            argp_error(state, "--budget only checks: it takes no plan");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .args_doc = "[PLAN...]",
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
        printf("%s: nothing to do%s%s\n", path, a->reason ? ": " : "", a->reason ? a->reason : "");
        break;
    case APPLIED_SKIPPED:
        printf("%s: left alone: %s\n", path, a->reason);
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
            printf("%s: %u failed opens at start-up (%s), the budget is %lu\n",
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
    if (r < 0) {
        log_error("%s", err->text);
        return EXIT_FAILED;
    }
    return n_over ? EXIT_FINDINGS : EXIT_FINE;
}

/* ---- the work */

static int read_inputs(struct options_apply *o, struct err *err)
{
    int r = 0;

    if (o->attrs)
        r = inputs_attrs(&o->inputs, &o->arena, o->attrs, o->output, o->apply.n_outputs, err);
    for (size_t i = 0; i < o->n_plans && r == 0; i++)
        r = inputs_plan_file(&o->inputs, &o->arena, o->plan[i], err);
    if (r == 0 && o->policy) {
        r = policy_read(o->policy, &o->arena, &o->own, err);
        o->inputs.policy = &o->own;
    }
    if (o->allowed)
        inputs_references(&o->arena, o->allowed, true, o->output, o->apply.n_outputs);
    if (o->disallowed)
        inputs_references(&o->arena, o->disallowed, false, o->output, o->apply.n_outputs);
    return r;
}

/* Plans for the outputs as they are, told as `stormlint plan` does. */
static int plan_here(struct options_apply *o, struct err *err)
{
    struct apply_inputs *in = &o->inputs;
    int r = apply_plan_outputs(&o->apply, &o->arena, &in->plan, &in->n_plans, err);

    for (size_t i = 0; r == 0 && !o->json && i < in->n_plans; i++) {
        const struct plan_view view = {.to = stdout,
                                       .term = term_of(stdout),
                                       .arena = &o->arena,
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
    int r = o->keep ? keep_prepare(&kept, &o->apply, in->plan, in->n_plans, &o->arena, err) : 0;

    if (r < 0)
        return r;
    r = apply_plans(in->plan, in->n_plans, &o->apply, &o->arena, ret_result, err);
    if (keep_finish(&kept, r == 0 ? ret_result : NULL, &lost) < 0)
        log_warn("all is done, but the plan is not kept: %s", lost.text);
    return r;
}

static int apply(struct options_apply *o)
{
    struct apply_result result = {0};
    struct err err = {0};
    int r;

    if (read_inputs(o, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_INCOMPLETE;
    }
    o->apply.output = o->output;
    o->apply.policy = o->inputs.policy;
    if (o->has_budget)
        return check_budget(o, &err);
    r = o->inputs.n_plans ? 0 : plan_here(o, &err);
    if (r == 0)
        r = carry_out(o, &result, &err);
    if (r < 0) {
        log_error("not applied: %s", err.text);
        return EXIT_FAILED;
    }
    if (!o->json) {
        print_text(&result, &o->arena);
    } else if (print_json(&result, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_FAILED;
    }
    return EXIT_FINE;
}

static int run(int argc, char **argv)
{
    struct options_apply o = {.apply = {.root = "/", .stale = STALE_FAIL}};
    int code;

    options_parse(&argp, argc, argv, &o);
    code = apply(&o);
    arena_release(&o.arena);
    return code;
}

const struct command cmd_apply = {
    .name = "apply",
    .summary = "carry out plans: edit programs, make farms, prove it or undo it",
    .run = run,
};
