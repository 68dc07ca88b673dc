/*
 * stormlint plan PROGRAM|PACKAGE...: the best remedy, what it saves, and why the others lost.
 */
#include "base/str.h"
#include "cli/places.h"
#include "cli/plan_text.h"
#include "cli/whole_text.h"
#include "cli/whose.h"
#include "linter/danger_file.h"
#include "loader/world_index.h"
#include "planner/plan_json.h"

#include <errno.h>
#include <string.h>

struct plan_options {
    struct options common;
    struct maintainer whose;
    const char *policy; /* --policy; NULL: the default */
    const char *output; /* -o; NULL: stdout */
    const char *rules;  /* --rules; NULL: none besides the table's */
    double probe_us;    /* --probe-cost; -1: calls are not turned into time */
    bool explain, all, renew;
};

static const struct flag rows[] = {
    {"policy", "NAME|FILE",
     "What must not break, and what the target offers: a policy by name, or a JSON file",
     INTO(struct plan_options, policy)},
    {"rules", "FILE", "More rules of dangerous libraries (JSON)", INTO(struct plan_options, rules)},
    {"output", "FILE",
     "Write the plan (JSON) to FILE, and the text to the terminal; with --all one file a package "
     "into the directory FILE",
     INTO(struct plan_options, output), .letter = 'o'},
    {"all", NULL, "Plan every package of the index, and every start with all of it",
     INTO(struct plan_options, all)},
    {ROWS(struct plan_options, whose, whose_rows)},
    {ROWS(struct plan_options, probe_us, probe_cost_rows)},
    {"explain", NULL, "Every criterion with its evidence, every edit in full",
     INTO(struct plan_options, explain)},
    {"renew", NULL, "Replace closure notes that say something else",
     INTO(struct plan_options, renew)},
    {ROWS(struct plan_options, common, options_rows)},
    {0},
};

/* What is about one start; of all programs of an index none is started otherwise than the others. */
static bool about_one(const struct plan_options *o)
{
    const struct options *c = &o->common;

    return o->explain || c->root || c->cwd || c->has_uid || c->n_env || c->n_dlopens;
}

static int check(void *into, struct err *err)
{
    const struct plan_options *o = into;

    if (o->common.n_args == 0 && !o->all)
        return err_set(err, EINVAL, "which program or package?");
    if (o->common.n_args && o->all)
        return err_set(err, EINVAL, "--all takes no programs");
    if (o->whose.name && !o->all)
        return err_set(err, EINVAL, "--maintainer goes with --all");
    if (o->all && about_one(o))
        return err_set(err, EINVAL,
                       "--all starts all alike: not with --explain, --root, --env, --cwd, --uid or "
                       "--dlopen NAME");
    if (o->output && o->common.n_args > 1)
        return err_set(err, EINVAL, "-o takes the plan of one package");
    return 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "PROGRAM|PACKAGE...\n--all",
    .doc =
        "Choose how a program is to find its libraries without searching for them, and tell why: "
        "each strategy proposes edits, the loader's model is run with them, and what would "
        "break is ruled out.\v"
        "What has a slash is read as it is now; a bare name is looked up in the index. "
        "Numbers are those of the policy's CPU (--cpu, else x86-64-v3) and checked on "
        "x86-64-v1 to v4. Nothing is changed. Exit code: 0, planned; 3, something could not be "
        "read, or nobody of --maintainer's NAME is known.",
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
                             .probe_us = o->probe_us};
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
static int plan_argument(const struct plan_options *o, const struct subject_query *query,
                         const char *arg, struct err *err)
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

/* The programs that have a name: none of them can be chosen here, so the error names them. */
static int ambiguous(const char *name, const struct found *found, struct arena *arena,
                     struct err *err)
{
    struct str all = {.arena = arena};

    for (size_t i = 0; i < found->n; i++)
        str_printf(&all, "%s%s", i ? ", " : "", found->path[i]);
    return err_set(err, EINVAL, "'%s' is the name of %zu programs in the index; name one: %s", name,
                   found->n, all.text);
}

/* What all arguments share. */
struct planning {
    const struct plan_options *options;
    struct policy *policy;
    struct places places;
    bool knows_index;
    struct name_set needed; /* of the index */
    struct arena *arena;
};

static void add_store(void *data, const char *path)
{
    struct planning *p = data;

    policy_add_store(p->policy, p->arena, path);
}

/* Packages are where the index says, and libraries are what is needed by something in it. */
static int learn_index(struct planning *p, struct err *err)
{
    int r = 0;

    if (!p->knows_index)
        r = index_store_paths(p->places.db, add_store, p, err);
    if (r == 0 && !p->knows_index)
        r = whole_needed(p->places.db, p->arena, &p->needed, err);
    p->knows_index = r == 0;
    return r;
}

static void learn_live(struct planning *p, const char *path, struct arena *arena)
{
    const struct place at = world_walk(p->places.live.world, NULL, path);

    if (at.node)
        policy_learn_store(p->policy, p->arena, world_path(arena, at.node));
}

/* One argument, in the world that it means. */
static int plan_one(struct planning *p, const char *arg, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct subject_query query;
    struct found found;
    int r = places_find(&p->places, arg, &arena, &found, err);
    const bool live = r == 0 && found.setting == &p->places.live;

    if (r == 0 && found.n > 1)
        r = ambiguous(arg, &found, &arena, err);
    if (r == 0 && !live)
        r = learn_index(p, err);
    if (r < 0)
        return r;
    if (live)
        learn_live(p, arg, &arena);
    query = places_query(&p->places, found.setting, p->policy);
    query.all_objects = true;
    query.needed = live ? NULL : &p->needed;
    return plan_argument(p->options, &query, found.path[0], err);
}

/* Every package of the index. */
static int plan_everything(struct plan_options *o, const struct policy *policy, struct arena *arena,
                           struct err *err)
{
    CLEANUP(progress_line_end) struct progress_line line = progress_line(stderr);
    const struct whole_query query = {.db = options_db(&o->common, arena),
                                      .policy = policy,
                                      .cpu = o->common.cpu,
                                      .whose = o->whose.name ? &o->whose : NULL,
                                      .n_threads = 2,
                                      .progress = &line.progress,
                                      .plans = o->output        ? WHOLE_INDENTED
                                               : o->common.json ? WHOLE_LINES
                                                                : WHOLE_NO_PLANS};
    struct whole_view view = {.to = stdout,
                              .json = o->common.json,
                              .output = o->output,
                              .probe_us = o->probe_us,
                              .whose = &o->whose};
    struct whole whole;
    size_t n;
    int r;

    o->whose.arena = arena;
    r = whole_plan(&query, &whole, err);

    progress_line_end(&line);
    if (r < 0)
        return command_failed(EXIT_INCOMPLETE, err);
    n = whole.n_packages;
    r = n || !o->whose.name ? whole_show(&view, &whole, err) : 0;
    whole_release(&whole);
    if (r < 0)
        return command_failed(EXIT_FAILED, err);
    return whose_code(&o->whose, n, view.n_problems ? EXIT_INCOMPLETE : EXIT_FINE);
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

/* What cannot be planned does not keep the others from it. */
static int plan_arguments(const struct plan_options *o, struct policy *policy, struct arena *arena)
{
    struct planning p = {.options = o,
                         .policy = policy,
                         .places = {.options = &o->common, .everything = true},
                         .arena = arena};
    int code = EXIT_FINE;

    for (size_t i = 0; i < o->common.n_args; i++) {
        struct err err;
        int r;

        if (i && !o->common.json)
            putchar('\n');
        if ((r = plan_one(&p, o->common.arg[i], &err)) < 0)
            code = command_failed(command_code(r), &err);
    }
    places_release(&p.places);
    return code;
}

static int plan(void *into, struct arena *arena, struct err *err)
{
    struct plan_options *o = into;
    struct policy policy = *policy_default();

    options_place(&o->common, arena);
    if (read_policy(o, arena, &policy, err) < 0)
        return command_failed(EXIT_USAGE, err);
    policy.renew |= o->renew;
    add_plugins(&o->common, arena, &policy);
    return o->all ? plan_everything(o, &policy, arena, err) : plan_arguments(o, &policy, arena);
}

const struct command cmd_plan = {
    .name = "plan",
    .summary = "the best remedy for a program, what it saves, why the others lose",
    .flags = &flags,
    WORK(plan, struct plan_options, .probe_us = -1),
};
