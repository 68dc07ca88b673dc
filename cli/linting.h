/*
 * Linting, as commands do it: what is linted, from where.
 *
 * With --db, or without any argument, an index is linted; else files as they are. Numbers are those
 * of the policy's CPU unless --cpu says otherwise: two machines must find the same.
 */
#pragma once

#include "cli/places.h"
#include "linter/lint.h"
#include "linter/suppress.h"

/* --db --root --cpu and the arguments, into a struct options. */
extern const struct flag linting_rows[];

/* A flag's `take`: --fail-on, into an enum severity. */
int linting_fail_on(void *into, const char *text, struct arena *arena, struct err *err);

struct linting {
    struct places places;
    const struct setting *setting; /* the one of its places that is linted */
    struct closure closure;
};

/*
 * Make the closure of the options' arguments; `whole`: with everything they refer to. What the
 * options leave open is settled in them.
 */
MUST_CHECK int linting_open(struct options *options, bool whole, struct linting *ret_linting,
                            struct arena *arena, struct err *err);
void linting_release(struct linting *linting);

/* Where suppressions are looked for when nobody says: in the working directory. */
#define SUPPRESSIONS "stormlint.json"

/* Mark what the suppressions of `file` match (NULL: SUPPRESSIONS, when it is there). */
MUST_CHECK int linting_suppress(const char *file, struct findings *findings,
                                struct suppressions *ret_suppressions, struct arena *arena,
                                struct err *err);

/* The findings of an audit file, or of a run with --format json. */
MUST_CHECK int linting_baseline(const char *file, struct baseline *ret_baseline,
                                struct arena *arena, struct err *err);

/* Now, or $SOURCE_DATE_EPOCH: "2026-11-30T12:00:00Z". */
const char *linting_now(struct arena *arena);
