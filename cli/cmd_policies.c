/*
 * stormlint policies [NAME|FILE]: what each policy asks for.
 */
#include "cli/options.h"
#include "planner/criteria.h"

#include <stdio.h>

struct policies_arguments {
    struct options common; /* of these only --json */
    const char *name;
};

static const struct flag rows[] = {
    {ROWS(struct policies_arguments, common, json_rows)},
    {NULL, "NAME|FILE", NULL, INTO(struct policies_arguments, name)},
    {0},
};

static const struct flags flags = {
    .row = rows,
    .args = "[NAME|FILE]",
    .doc = "Print the policies that 'stormlint plan --policy' knows by name, or one of them, or a "
           "file's, with everything that it leaves as it is.",
};

static void print_text(const struct policy *p, const char *summary)
{
    size_t i;

    printf("%s\n", p->name);
    if (summary)
        printf("  %s\n", summary);
    printf("  reader            %s%s\n", p->resolver ? "resolver, " : reader_name(p->reader),
           p->resolver ? p->resolver : "");
    printf("  CPU               %s\n", p->cpu ? p->cpu : CPU_POLICY);
    printf("  absolute paths    %s\n", p->absolute ? "may be chosen" : "are not chosen");
    printf("  saving at least   %u failed opens and %u %%; lifting %u more than scope own\n",
           p->min_saving, p->min_percent, p->lift_saving);
    printf("  required         ");
    for (i = 0; i < N_CRITERIA; i++)
        if (criterion_required(&criteria()[i], p))
            printf(" %s", criteria()[i].id);
    printf("\n  budgets           ");
    if (p->max_bytes)
        printf("%u bytes ", p->max_bytes);
    if (p->max_inodes)
        printf("%u inodes ", p->max_inodes);
    if (p->max_references)
        printf("%u new references", p->max_references);
    puts(p->max_bytes || p->max_inodes || p->max_references ? "" : "none");
    for (i = 0; i < p->n_packages; i++)
        printf("  package           %s: %s %s (%s)\n", p->package[i].pname, p->package[i].strategy,
               p->package[i].scope ? p->package[i].scope : "", p->package[i].reason);
}

static int print_all(const struct policies_arguments *a, const struct policy *one, struct err *err)
{
    const struct named_policy *row;
    json_t *list;
    int r;

    if (!a->common.json) {
        for (row = policies(); !one && row->summary; row++) {
            if (row != policies())
                putchar('\n');
            print_text(&row->policy, row->summary);
        }
        if (one)
            print_text(one, NULL);
        return 0;
    }
    list = one ? policy_json(one) : json_array();
    for (row = policies(); !one && row->summary; row++)
        json_push(list, policy_json(&row->policy));
    r = json_print(list, stdout, true, err);
    json_decref(list);
    return r;
}

static int print(void *into, struct arena *arena, struct err *err)
{
    const struct policies_arguments *a = into;
    struct policy policy;

    if (a->name && policy_read(a->name, arena, &policy, err) < 0)
        return command_failed(EXIT_USAGE, err);
    return print_all(a, a->name ? &policy : NULL, err) < 0 ? command_failed(EXIT_FAILED, err)
                                                           : EXIT_FINE;
}

const struct command cmd_policies = {
    .name = "policies",
    .summary = "what plans must not break, and what targets offer",
    .flags = &flags,
    WORK(print, struct policies_arguments),
};
