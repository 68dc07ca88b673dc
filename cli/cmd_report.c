/*
 * stormlint report AUDIT -o DIR: an audit as a page, and as files for CI systems.
 */
#include "audit/report.h"
#include "cli/diffing.h"
#include "cli/whose.h"

#include <errno.h>

struct report_arguments {
    struct diff_limits limits;
    struct maintainer whose;
    struct report_limits alone;
    const char **audit, *against, *dir;
    size_t n_audits;
};

static const struct flag rows[] = {
    {"output", "DIR", "Where the report is written", INTO(struct report_arguments, dir),
     .letter = 'o'},
    {"against", "AUDIT", "Also tell what changed since this earlier audit",
     INTO(struct report_arguments, against)},
    {"max-offenders", "N", "Budget: programs over the audit's --probe-budget (default: any)",
     INTO(struct report_arguments, alone.max_offenders),
     .given = offsetof(struct report_arguments, alone.limits_offenders)},
    {ROWS(struct report_arguments, whose, whose_rows)},
    {ROWS(struct report_arguments, limits, diffing_rows)},
    {NULL, "AUDIT", NULL, LIST(struct report_arguments, audit, n_audits)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct report_arguments *a = into;

    if (a->n_audits > 1)
        return err_set(err, EINVAL, "one audit is reported");
    if (!a->n_audits || !a->dir)
        return err_set(err, EINVAL, "which audit, and -o which directory?");
    return 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "AUDIT",
    .doc = "Write a report of an audit: index.html (one page, no scripts), the audit, its findings "
           "as SARIF, what to do as plan.json, and what Hydra wants in nix-support.\v"
           "It is over the budget when the differences to --against are (see 'stormlint diff'), "
           "or without that, when there are findings from --fail-on on, or more programs than "
           "--max-offenders over the budget of failed opens. "
           "With --maintainer it is as if nothing else were in the audits, but audit.ndjson is "
           "the whole. Exit code: 0; 1, over the budget (nix-support/failed is there, too); 3, an "
           "audit cannot be read, or nobody of --maintainer's NAME is known.",
};

static int nothing(void *data UNUSED, json_t *plan UNUSED, struct err *err UNUSED)
{
    return 0;
}

static int report(void *into, struct arena *arena, struct err *err)
{
    struct report_arguments *a = into;
    struct audit audit, before;
    struct diff diff;
    struct report report = {.audit = &audit, .file = a->audit[0], .dir = a->dir, .arena = arena};
    int r = audit_read(a->audit[0], arena, &audit, err);

    if (r == 0) /* before anything is written */
        r = audit_read_plans(a->audit[0], nothing, NULL, err);
    if (r == 0 && a->against)
        r = audit_read(a->against, arena, &before, err);
    if (r < 0)
        return command_failed(EXIT_INCOMPLETE, err);
    a->whose.arena = arena;
    audit_keep_own(&a->whose, &audit, a->against ? &before : NULL);
    if (a->against) {
        diff_make(&before, &audit, &a->limits, arena, &diff);
        report.diff = &diff;
        report.over = diff.over;
        report.n_over = diff.n_over;
    } else {
        const struct report_limits limits = {.fail_on = a->limits.fail_on,
                                             .limits_offenders = a->alone.limits_offenders,
                                             .max_offenders = a->alone.max_offenders};

        report.n_over = report_judge(&audit, &limits, arena, &report.over);
    }
    if (report_write(&report, err) < 0)
        return command_failed(EXIT_FAILED, err);
    if (audit.incomplete)
        return EXIT_INCOMPLETE;
    return whose_code(&a->whose, a->whose.n_own, report.n_over ? EXIT_FINDINGS : EXIT_FINE);
}

const struct command cmd_report = {
    .name = "report",
    .summary = "an audit as a page, and as files for CI systems",
    .flags = &flags,
    WORK(report, struct report_arguments, .limits = DIFF_LIMITS),
};
