/*
 * stormlint report AUDIT -o DIR: an audit as a page, and as files for CI systems.
 */
#include "audit/report.h"
#include "cli/command.h"
#include "cli/diffing.h"

#include <stdlib.h>
#include <string.h>

struct report_arguments {
    struct diff_limits limits;
    struct report_limits alone;
    const char *audit, *against, *dir;
};

enum { OPT_AGAINST = 0x200, OPT_MAX_OFFENDERS };

static const struct argp_option rows[] = {
    {"output", 'o', "DIR", 0, "Where the report is written", 0},
    {"against", OPT_AGAINST, "AUDIT", 0, "Also tell what changed since this earlier audit", 0},
    {"max-offenders", OPT_MAX_OFFENDERS, "N", 0,
     "Budget: programs over the audit's --probe-budget (default: any)", 0},
    {0},
};

static size_t number(const char *text, const struct argp_state *state)
{
    char *end;
    const unsigned long n = strtoul(text, &end, 10);

    if (end == text || *end || *text == '-')
        argp_error(state, "--max-offenders wants a number, not '%s'", text);
    return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct report_arguments *a = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->limits;
        return 0;
    case 'o':
        a->dir = arg;
        return 0;
    case OPT_AGAINST:
        a->against = arg;
        return 0;
    case OPT_MAX_OFFENDERS:
        a->alone.limits_offenders = true;
        a->alone.max_offenders = number(arg, state);
        return 0;
    case ARGP_KEY_ARG:
        if (a->audit)
            argp_error(state, "one audit is reported");
        a->audit = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->audit || !a->dir)
            argp_error(state, "which audit, and -o which directory?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .args_doc = "AUDIT",
    .doc = "Write a report of an audit: index.html (one page, no scripts), the audit, its findings "
           "as SARIF, what to do as plan.json, and what Hydra wants in nix-support.\v"
           "It is over the budget when the differences to --against are (see 'stormlint diff'), "
           "or without that, when there are findings from --fail-on on, or more programs than "
           "--max-offenders over the budget of failed opens. "
           "Exit code: 0; 1, over the budget (nix-support/failed is there, too); 3, an audit "
           "cannot be read.",
    .children = diffing_children,
};

static int nothing(void *data UNUSED, json_t *plan UNUSED, struct err *err UNUSED)
{
    return 0;
}

static int report(const void *arguments, struct arena *arena, struct err *err)
{
    const struct report_arguments *a = arguments;
    struct audit audit, before;
    struct diff diff;
    struct report report = {.audit = &audit, .file = a->audit, .dir = a->dir, .arena = arena};
    int r = audit_read(a->audit, arena, &audit, err);

    if (r == 0) /* before anything is written */
        r = audit_read_plans(a->audit, nothing, NULL, err);
    if (r == 0 && a->against)
        r = audit_read(a->against, arena, &before, err);
    if (r < 0)
        return EXIT_INCOMPLETE;
    if (a->against) {
        diff_make(&before, &audit, &a->limits, arena, &diff);
        report.diff = &diff;
        report.over = diff.over;
        report.n_over = diff.n_over;
    } else {
        const struct report_limits limits = {.fail_on = a->limits.fail_on,
                                             .never_fail = a->limits.never_fail,
                                             .limits_offenders = a->alone.limits_offenders,
                                             .max_offenders = a->alone.max_offenders};

        report.n_over = report_judge(&audit, &limits, arena, &report.over);
    }
    if (report_write(&report, err) < 0)
        return EXIT_FAILED;
    if (audit.incomplete)
        return EXIT_INCOMPLETE;
    return report.n_over ? EXIT_FINDINGS : EXIT_FINE;
}

static int run(int argc, char **argv)
{
    struct report_arguments a = {.limits = DIFF_LIMITS};

    return diffing_run(&argp, argc, argv, &a, report);
}

const struct command cmd_report = {
    .name = "report",
    .summary = "an audit as a page, and as files for CI systems",
    .run = run,
};
