/*
 * stormlint criteria: the checklist of plans; with --table the comparison of the methods for one
 * program.
 */
#include "base/log.h"
#include "cli/command.h"
#include "cli/compare_text.h"
#include "cli/index.h"
#include "cli/options.h"
#include "planner/follow.h"

#include <stdio.h>
#include <string.h>

struct criteria_options {
    struct options common;
    const char *policy, *table;
};

enum { OPT_POLICY = 0x200, OPT_TABLE };

static const struct argp_option rows[] = {
    {"policy", OPT_POLICY, "NAME|FILE", 0, "Show what this policy requires", 0},
    {"table", OPT_TABLE, "PROGRAM", 0,
     "The comparison of the article of June 2026, computed for PROGRAM", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct criteria_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->common;
        return 0;
    case OPT_POLICY:
        o->policy = arg;
        return 0;
    case OPT_TABLE:
        o->table = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->common.n_args)
            argp_error(state, "it takes no arguments; --table takes a program");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&options_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .doc = "Print the checklist that 'stormlint plan' holds every proposal against: what is asked, "
           "how it is decided, and whether a failure rules a proposal out.",
    .children = children,
};

static json_t *criteria_json(const struct policy *policy)
{
    json_t *list = json_array();
    size_t i;

    for (i = 0; i < N_CRITERIA; i++) {
        const struct criterion *c = &criteria()[i];
        json_t *row = json_object();

        json_put_text(row, "criterion", c->id);
        json_put_text(row, "question", c->question);
        json_put_text(row, "decided_by", decided_by_name(c->by));
        json_put(row, "required", json_boolean(criterion_required(c, policy)));
        json_push(list, row);
    }
    return list;
}

static int print_list(const struct criteria_options *o, const struct policy *policy,
                      struct err *err)
{
    json_t *json;
    size_t i;
    int r;

    if (o->common.json) {
        json = criteria_json(policy);
        r = json_print(json, stdout, true, err);
        json_decref(json);
        return r;
    }
    printf("%-17s %-9s %-9s policy '%s'\n", "", "decided", "required", policy->name);
    for (i = 0; i < N_CRITERIA; i++) {
        const struct criterion *c = &criteria()[i];

        printf("%-17s %-9s %-9s %s\n", c->id, decided_by_name(c->by),
               criterion_required(c, policy) ? "yes" : "no", c->question);
    }
    return 0;
}

static int table_in(struct criteria_options *o, const struct setting *setting,
                    const struct policy *policy, const char *path, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct compare_view view = {.to = stdout, .arena = &arena, .probe_us = -1};
    struct program program = {.path = path, .env = o->common.env, .n_env = o->common.n_env};
    struct subject_query query = {
        .world = setting->world, .policy = policy, .cpu = o->common.cpu, .cwd = setting->cwd};
    struct comparison comparison;
    struct subject subject;
    json_t *json;
    int r = program_follow(setting->world, &program, &arena, &program, err);

    if (r < 0)
        return r;
    query.program = program.path;
    query.env = program.env;
    query.n_env = program.n_env;
    query.wrapper = program.wrapper;
    if ((r = subject_init(&subject, &query, &arena, err)) < 0)
        return r;
    r = compare_methods(&subject, NULL, false, &comparison, err);
    if (r == 0 && !o->common.json)
        compare_table(&view, &comparison, path);
    else if (r == 0) {
        json = compare_json(&comparison, path);
        r = json_print(json, stdout, true, err);
        json_decref(json);
    }
    subject_release(&subject);
    return r;
}

static int print_table(struct criteria_options *o, const struct policy *policy, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char **path = &o->table;
    int r;

    o->table = options_placed(&o->common, o->table);
    if (options_is_live(&o->common, o->table)) {
        CLEANUP(setting_release) struct setting setting = {0};

        r = setting_live(&o->common, &setting, err);
        return r < 0 ? r : table_in(o, &setting, policy, o->table, err);
    }
    CLEANUP(indexed_release) struct indexed indexed = {0};
    size_t n;

    o->common.declared = true;
    if ((r = indexed_open(&o->common, &indexed, err)) < 0 ||
        (r = indexed_find(&indexed, o->table, &arena, &path, &n, err)) < 0)
        return r;
    return table_in(o, &indexed.setting, policy, path[0], err);
}

static int run(int argc, char **argv)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct criteria_options o = {0};
    struct policy policy = *policy_default();
    struct err err = {0};
    int r, code = EXIT_FINE;

    options_parse(&argp, argc, argv, &o);
    if (o.policy && policy_read(o.policy, &arena, &policy, &err) < 0) {
        log_error("%s", err.text);
        options_release(&o.common);
        return EXIT_USAGE;
    }
    r = o.table ? print_table(&o, &policy, &err) : print_list(&o, &policy, &err);
    if (r < 0) {
        log_error("%s", err.text);
        code = o.table ? setting_failure(r) : EXIT_FAILED;
    }
    options_release(&o.common);
    return code;
}

const struct command cmd_criteria = {
    .name = "criteria",
    .summary = "the checklist of plans, and the methods compared by it",
    .run = run,
};
