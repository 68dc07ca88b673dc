/*
 * Linting, as commands do it: what is linted, from where.
 *
 * With --db, or without any argument, an index is linted; else files as they are. Numbers are those
 * of the policy's CPU unless --cpu says otherwise: two machines must find the same.
 */
#pragma once

#include "cli/options.h"
#include "linter/lint.h"

struct linting {
    struct db *db; /* NULL: files */
    struct setting setting;
    struct closure closure;
};

/* Make the closure of the options' arguments; `whole`: with everything they refer to. */
MUST_CHECK int linting_open(struct options *options, bool whole, struct linting *ret_linting,
                            struct err *err);
void linting_release(struct linting *linting);
