/*
 * Reports: a directory that a person, a CI system and Hydra can read (docs/audits.md).
 *
 *	index.html			one page without scripts, below 2 MB
 *	audit.ndjson			the audit itself, the whole of it
 *	audit.sarif.json		its findings
 *	plan.json			the plans of its packages, one a line
 *	nix-support/hydra-build-products, hydra-metrics, failed (when over the budget)
 */
#pragma once

#include "audit/diff.h"

struct report {
    const struct audit *audit;
    const struct diff *diff; /* against an earlier one; NULL: none */
    const char *file;        /* the audit, to be copied */
    const char *dir;         /* made if need be */
    const char **over;       /* sentences: why it is over the budget */
    size_t n_over;
    struct arena *arena;
};

MUST_CHECK int report_write(const struct report *report, struct err *err);

/* What an audit by itself may have. */
struct report_limits {
    enum severity fail_on; /* open findings from this severity on are over the budget */
    bool limits_offenders; /* `max_offenders` counts */
    size_t max_offenders;  /* programs over the audit's budget of failed opens */
};

/* Why an audit by itself is over the budget: sentences, in the arena; their number. */
size_t report_judge(const struct audit *audit, const struct report_limits *limits,
                    struct arena *arena, const char ***ret_over);

/* ---- report_html.c */
MUST_CHECK int report_html(const struct report *report, FILE *to, struct err *err);
