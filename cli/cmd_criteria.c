/*
 * stormlint criteria: the checklist of plans; with --table the comparison of the methods for one
 * program.
 */
#include "cli/compare_text.h"
#include "cli/places.h"
#include "planner/follow.h"

#include <errno.h>
#include <stdio.h>

struct criteria_options {
    struct options common;
    const char *policy, *table;
};

static const struct flag rows[] = {
    {"policy", "NAME|FILE", "Show what this policy requires",
     INTO(struct criteria_options, policy)},
    {"table", "PROGRAM", "The comparison of the article of June 2026, computed for PROGRAM",
     INTO(struct criteria_options, table)},
    {ROWS(struct criteria_options, common, options_rows)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct criteria_options *o = into;

    if (o->common.n_args)
        return err_set(err, EINVAL, "it takes no arguments; --table takes a program");
    return 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .doc = "Print the checklist that 'stormlint plan' holds every proposal against: what is asked, "
           "how it is decided, and whether a failure rules a proposal out.",
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

static int print_table(const struct criteria_options *o, const struct policy *policy,
                       struct arena *arena, struct err *err)
{
    CLEANUP(places_release) struct places places = {.options = &o->common, .everything = true};
    struct compare_view view = {.to = stdout, .arena = arena, .probe_us = -1};
    struct subject_query query;
    struct comparison comparison;
    struct subject subject;
    struct found found;
    json_t *json;
    int r = places_find(&places, options_placed(&o->common, o->table, arena), arena, &found, err);

    if (r < 0)
        return r;
    query = places_query(&places, found.setting, policy);
    if ((r = subject_follow(&subject, &query, found.path[0], arena, err)) < 0)
        return r;
    r = compare_methods(&subject, NULL, false, &comparison, err);
    if (r == 0 && !o->common.json)
        compare_table(&view, &comparison, found.path[0]);
    else if (r == 0) {
        json = compare_json(&comparison, found.path[0]);
        r = json_print(json, stdout, true, err);
        json_decref(json);
    }
    subject_release(&subject);
    return r;
}

static int print(void *into, struct arena *arena, struct err *err)
{
    const struct criteria_options *o = into;
    struct policy policy = *policy_default();

    if (o->policy && policy_read(o->policy, arena, &policy, err) < 0)
        return command_failed(EXIT_USAGE, err);
    if (o->table)
        return print_table(o, &policy, arena, err);
    return print_list(o, &policy, err) < 0 ? command_failed(EXIT_FAILED, err) : EXIT_FINE;
}

const struct command cmd_criteria = {
    .name = "criteria",
    .summary = "the checklist of plans, and the methods compared by it",
    .flags = &flags,
    WORK(print, struct criteria_options),
};
