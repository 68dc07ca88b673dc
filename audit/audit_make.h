/*
 * Making audits: lint a closure, count every start, plan what is worth it.
 */
#pragma once

#include "audit/audit.h"
#include "linter/lint.h"
#include "planner/policy.h"

struct audit_options {
    const char *name, *time, *source;
    const char *const *path; /* what was asked for */
    size_t n_paths;
    struct lint_options lint;
    const struct policy *policy; /* NULL: nothing is planned */
    const struct origins
        *origins; /* where packages come from, before what the index says; or NULL */
    /* Mark what is known before it is kept; may be NULL. */
    int (*judge)(void *data, struct findings *findings, struct err *err);
    void *data;
};

/*
 * The audit is `arena`'s, but for origins and what the options name. -ECANCELED: their progress wants
 * it to end.
 */
MUST_CHECK int audit_make(struct closure *closure, const struct audit_options *options,
                          struct arena *arena, struct audit *ret_audit, struct err *err);
