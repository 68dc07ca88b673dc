/*
 * stormlint plan PROGRAM|PACKAGE...: the best remedy, what it saves, and why the others lost.
 */
#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/index.h"
#include "cli/options.h"
#include "cli/plan_text.h"
#include "cli/whole_text.h"
#include "linter/danger_file.h"
#include "loader/world_index.h"
#include "planner/cost.h"
#include "planner/plan_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct plan_options {
    struct options common;
    const char *policy; /* --policy; NULL: the default */
    const char *output; /* -o; NULL: stdout */
    const char *rules;  /* --rules; NULL: none besides the table's */
    const char *cost;   /* --probe-cost; NULL: calls are not turned into time */
    bool explain, all, renew;
};

enum { OPT_POLICY = 0x200, OPT_EXPLAIN, OPT_ALL, OPT_RULES, OPT_COST, OPT_RENEW };

static const struct argp_option rows[] = {
    {"policy", OPT_POLICY, "NAME|FILE", 0,
     "What must not break, and what the target offers: a policy by name, or a JSON file", 0},
    {"rules", OPT_RULES, "FILE", 0, "More rules of dangerous libraries (JSON)", 0},
    {"output", 'o', "FILE", 0,
     "Write the plan (JSON) to FILE, and the text to the terminal; with --all one file a package "
     "into the directory FILE",
     0},
    {"all", OPT_ALL, NULL, 0, "Plan every package of the index, and every start with all of it", 0},
    {"probe-cost", OPT_COST, "local|nfs|US", 0,
     "Tell time, too: what one failed call costs, in microseconds", 0},
    {"explain", OPT_EXPLAIN, NULL, 0, "Every criterion with its evidence, every edit in full", 0},
    {"renew", OPT_RENEW, NULL, 0, "Replace closure notes that say something else", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct plan_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->common;
        return 0;
    case OPT_POLICY:
        o->policy = arg;
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    case OPT_EXPLAIN:
        o->explain = true;
        return 0;
    case OPT_RENEW:
        o->renew = true;
        return 0;
    case OPT_ALL:
        o->all = true;
        return 0;
    case OPT_RULES:
        o->rules = arg;
        return 0;
    case OPT_COST:
        o->cost = arg;
        if (probe_cost(arg) < 0)
            argp_error(state, "'%s': a probe costs 'local', 'nfs', or microseconds", arg);
        return 0;
    case ARGP_KEY_END:
        if (o->common.n_args == 0 && !o->all)
            argp_error(state, "which program or package?");
        if (o->common.n_args && o->all)
            argp_error(state, "--all takes no programs");
        if (o->output && o->common.n_args > 1)
            argp_error(state, "-o takes the plan of one package");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&options_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .args_doc = "PROGRAM|PACKAGE...\n--all",
    .doc =
        "Choose how a program is to find its libraries without searching for them, and tell why: "
        "each strategy proposes edits, the loader's model is run with them, and what would "
        "break is ruled out.\v"
        "What has a slash is read as it is now; a bare name is looked up in the index. "
        "Numbers are those of the policy's CPU (--cpu, else x86-64-v3) and checked on "
        "x86-64-v1 to v4. Nothing is changed. Exit code: 0, planned; 3, something could not be "
        "read.",
    .children = children,
};

static int write_plan(const struct plan *plan, const char *path, struct arena *arena,
                      struct err *err)
{
    json_t *json = plan_json(plan, arena);
    FILE *to = fopen(path, "we");
    int r;

    if (!to) {
        json_decref(json);
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    }
    r = json_print(json, to, true, err);
    if (fclose(to) != 0 && r == 0)
        r = err_set(err, errno, "'%s': %s", path, strerror(errno));
    json_decref(json);
    return r;
}

static int print_plan(const struct plan_options *o, const struct plan *plan, struct arena *arena,
                      struct err *err)
{
    struct plan_view view = {.to = stdout,
                             .term = term_of(stdout),
                             .arena = arena,
                             .plan = plan,
                             .explain = o->explain,
                             .probe_us = o->cost ? probe_cost(o->cost) : -1};
    json_t *json;
    int r;

    if (!o->common.json) {
        plan_text(&view);
        return 0;
    }
    json = plan_json(plan, arena);
    r = json_print(json, stdout, o->common.n_args == 1, err);
    json_decref(json);
    return r;
}

/* One argument: its programs, their plan. */
static int plan_argument(struct plan_options *o, const struct subject_query *query, const char *arg,
                         struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct program *program;
    struct plan plan = {0};
    size_t n;
    int r;

    if ((r = package_programs(query, arg, &arena, &program, &n, err)) < 0)
        return r;
    r = package_plan(query, program, n, &arena, &plan, err);
    if (r == -ENODATA)
        return err_set(err, ENODATA, "'%s': %s", arg, arena_strdup(&arena, err->text));
    if (r < 0)
        return r;
    if (o->output && (r = write_plan(&plan, o->output, &arena, err)) < 0)
        return r;
    return print_plan(o, &plan, &arena, err);
}

/* A bare name in the index: the program that has it. Several: none of them, the error names them.
 */
static int find_name(struct indexed *indexed, const char *name, struct arena *arena,
                     const char **ret_path, struct err *err)
{
    struct str all = {.arena = arena};
    const char **path;
    size_t n, i;
    int r = indexed_find(indexed, name, arena, &path, &n, err);

    if (r < 0)
        return r;
    for (i = 0; i < n && n > 1; i++)
        str_printf(&all, "%s%s", i ? ", " : "", str_escape(arena, path[i]));
    if (n > 1)
        return err_set(err, EINVAL, "'%s' is the name of %zu programs in the index; name one: %s",
                       name, n, all.text);
    *ret_path = path[0];
    return 0;
}

/* What all arguments share; made when the first of their kind comes. */
struct worlds {
    struct plan_options *options;
    struct policy *policy;
    bool has_live, has_index;
    struct setting live;
    struct indexed indexed;
    bool has_needed;
    struct name_set needed; /* of the index */
    struct arena arena;
};

static void add_store(void *data, const char *path)
{
    struct worlds *w = data;

    policy_add_store(w->policy, &w->arena, path);
}

static int open_world(struct worlds *w, bool live, const struct setting **ret_setting,
                      struct err *err)
{
    struct options *o = &w->options->common;
    int r = 0;

    if (live && !w->has_live) {
        r = setting_live(o, &w->live, err);
        w->has_live = r == 0;
    } else if (!live && !w->has_index) {
        o->declared = true; /* the facts that only dlopens ask for are asked for here, too */
        r = indexed_open(o, &w->indexed, err);
        w->has_index = r == 0;
        if (r == 0)
            r = index_store_paths(w->indexed.db, add_store, w, err);
    }
    *ret_setting = live ? &w->live : &w->indexed.setting;
    return r;
}

static void release_worlds(struct worlds *w)
{
    if (w->has_live)
        setting_release(&w->live);
    if (w->has_index)
        indexed_release(&w->indexed);
    arena_release(&w->arena);
}

/* One argument, in the world that it means. */
static int plan_one(struct worlds *w, const char *arg, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct options *o = &w->options->common;
    bool live = options_is_live(o, arg);
    const struct setting *setting;
    struct subject_query query = {.policy = w->policy, .env = o->env, .n_env = o->n_env};
    int r = open_world(w, live, &setting, err);

    if (r < 0)
        return r;
    if (!live && !strchr(arg, '/') && (r = find_name(&w->indexed, arg, &arena, &arg, err)) < 0)
        return r;
    if (live) {
        const struct place at = world_walk(setting->world, NULL, arg);

        if (at.node)
            policy_learn_store(w->policy, &w->arena, world_path(&arena, at.node));
    }
    query.world = setting->world;
    query.cwd = setting->cwd;
    query.cpu = o->cpu;
    query.all_objects = true;
    if (!live && !w->has_needed) {
        r = whole_needed(w->indexed.db, setting->world, &w->arena, &w->needed, err);
        if (r < 0)
            return r;
        w->has_needed = true;
    }
    query.needed = live ? NULL : &w->needed;
    return plan_argument(w->options, &query, arg, err);
}

/* Every package of the index. */
static int plan_everything(struct plan_options *o, const struct policy *policy)
{
    const struct whole_query query = {
        .db = options_db(&o->common), .policy = policy, .cpu = o->common.cpu, .n_threads = 2};
    struct whole_view view = {.to = stdout,
                              .json = o->common.json,
                              .output = o->output,
                              .probe_us = o->cost ? probe_cost(o->cost) : -1};
    struct whole whole;
    struct err err = {0};
    int r = whole_plan(&query, &whole, &err), code;

    if (r < 0) {
        log_error("%s", err.text);
        return EXIT_INCOMPLETE;
    }
    r = whole_show(&view, &whole, &err);
    code = r < 0 ? EXIT_FAILED : view.n_problems ? EXIT_INCOMPLETE : EXIT_FINE;
    if (r < 0)
        log_error("%s", err.text);
    whole_release(&whole);
    return code;
}

static int read_policy(const struct plan_options *o, struct arena *arena, struct policy *policy,
                       struct err *err)
{
    int r = o->policy ? policy_read(o->policy, arena, policy, err) : 0;

    return r == 0 && o->rules ? danger_read(o->rules, arena, &policy->danger, err) : r;
}

/* What --dlopen names is the policy's to say: then whoever carries the plan out decides alike. */
static void add_plugins(const struct options *o, struct arena *arena, struct policy *policy)
{
    const char **plugins =
        arena_calloc(arena, policy->n_plugins + o->n_dlopens + 1, sizeof(*plugins));
    size_t n = policy->n_plugins;

    if (n)
        memcpy(plugins, policy->plugins, n * sizeof(*plugins));
    for (size_t i = 0; i < o->n_dlopens; i++) {
        const struct dlopen_call *call = &o->dlopens[i];

        plugins[n++] =
            call->caller ? arena_printf(arena, "%s@%s", call->name, call->caller) : call->name;
    }
    policy->plugins = n ? plugins : NULL;
    policy->n_plugins = n;
}

static int run(int argc, char **argv)
{
    struct plan_options o = {0};
    CLEANUP(arena_release) struct arena arena = {0};
    struct policy policy = *policy_default();
    struct worlds worlds = {.options = &o, .policy = &policy};
    struct err err = {0};
    int code = EXIT_FINE, r;
    size_t i;

    options_parse(&argp, argc, argv, &o);
    options_place(&o.common);
    if (read_policy(&o, &arena, &policy, &err) < 0) {
        log_error("%s", err.text);
        options_release(&o.common);
        return EXIT_USAGE;
    }
    policy.renew |= o.renew;
    add_plugins(&o.common, &arena, &policy);
    if (o.all)
        code = plan_everything(&o, &policy);
    for (i = 0; i < o.common.n_args; i++) {
        if (i && !o.common.json)
            putchar('\n');
        if ((r = plan_one(&worlds, o.common.arg[i], &err)) < 0) {
            log_error("%s", err.text);
            code = r == -EINVAL ? EXIT_USAGE : EXIT_INCOMPLETE;
        }
    }
    release_worlds(&worlds);
    options_release(&o.common);
    return code;
}

const struct command cmd_plan = {
    .name = "plan",
    .summary = "the best remedy for a program, what it saves, why the others lose",
    .run = run,
};
