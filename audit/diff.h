/*
 * Differences: what got worse, what got better, between two audits.
 *
 * Programs are matched by key, findings by rule and identity: nothing with a hash in it counts. Of
 * several with one key, those of the same version are matched first, then in order.
 */
#pragma once

#include "audit/audit.h"

struct diff_limits {
    uint32_t min_calls; /* a start changes when it changes by at least this many failed calls ... */
    uint32_t min_percent; /* ... and by this much */
    size_t allow_new;     /* new offenders that are within the budget */
    size_t allow_worse;   /* programs that got worse, likewise */
    bool limits_total;    /* `allow_total` counts */
    uint64_t allow_total; /* growth of all failed calls together */
    enum severity
        fail_on; /* new findings from this severity on are over the budget; never: nothing */
};

#define DIFF_LIMITS                                                                                \
    {                                                                                              \
        .min_calls = 10, .min_percent = 5, .fail_on = SEVERITY_ERROR                               \
    }

enum change {
    CHANGE_NEW_OFFENDER, /* over the probe budget, and was not, or was not there */
    CHANGE_BROKEN,       /* does not start, and did */
    CHANGE_WORSE,
    CHANGE_BETTER,
    CHANGE_FIXED,    /* was over the budget, and is not */
    CHANGE_REPAIRED, /* starts, and did not */
    CHANGE_ADDED,    /* a program that is new, and within the budget */
    CHANGE_REMOVED,
    N_CHANGES,
};

struct diff_program {
    enum change change;
    const struct audit_program *before, *after; /* NULL: not there */
};

struct diff_package {
    const struct audit_package *before, *after; /* NULL: not there; both: another version */
};

struct diff {
    const struct audit *a, *b;
    struct diff_program *program; /* by change, then the largest difference first */
    size_t n_programs, count[N_CHANGES];
    const struct audit_finding **new_finding, **fixed_finding; /* errors first */
    size_t n_new, n_fixed;
    struct diff_package *package;
    size_t n_packages, n_added, n_removed, n_updated;
    size_t n_same_programs;
    const char **over; /* sentences: why it is over the budget */
    size_t n_over;
};

/* Texts are borrowed from the audits. */
void diff_make(const struct audit *a, const struct audit *b, const struct diff_limits *limits,
               struct arena *arena, struct diff *ret_diff);

const char *change_name(enum change change);  /* "new-offender", ... */
const char *change_title(enum change change); /* "New offenders" */
/* Behind a number of programs: "new offender", "new offenders". */
const char *change_words(enum change change, size_t n);
/* Behind a number of findings from a severity on: "errors", "findings of severity note or worse". */
const char *severity_words(struct arena *arena, enum severity from, size_t n);

/* ---- diff_format.c */

int diff_json(const struct diff *diff, FILE *to, struct err *err);
void diff_text(const struct diff *diff, FILE *to, struct arena *arena);
/* What one pastes into a pull request. */
void diff_markdown(const struct diff *diff, FILE *to, struct arena *arena);
