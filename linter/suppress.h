/*
 * Suppressions and baselines: what is known and not to be told again.
 *
 * A suppressions file (stormlint.json) is
 *
 *	{"schema": "stormlint-suppressions/1", "suppressions": [
 *	  {"rule": "needed-unresolved", "path": "*:lib/plugins/libfoo.so", "reason": "the host has
 *it", "until": "2027-01-31"}]}
 *
 * `path` is a glob ('*' also matches slashes) over the finding's path, its key
 * ("ffmpeg.out:bin/ffmpeg") or its identity ("ffmpeg.out:bin/ffmpeg>libx.so.1"). A reason is
 * required. Past its last day a suppression does nothing; one that matches nothing is told.
 */
#pragma once

#include "base/json.h"
#include "linter/finding.h"

struct suppression {
    const struct rule *rule; /* NULL: "*", all of them */
    const char *path;        /* glob */
    const char *reason;
    const char *until; /* "2027-01-31", the last day; NULL: no end */
    size_t n_matches;
    bool expired;
};

struct suppressions {
    const char *file;
    struct suppression *item;
    size_t n;
};

/* Read a suppressions file; `today` is "YYYY-MM-DD". */
MUST_CHECK int suppressions_read(const char *path, const char *today, struct arena *arena,
                                 struct suppressions *ret, struct err *err);
/* Mark what they match. */
void suppressions_apply(struct suppressions *suppressions, struct findings *findings);

/* Why a suppression is told: it expired, or matches nothing. NULL: it is in use. */
const char *suppression_problem(const struct suppression *suppression, struct arena *arena);

/*
 * A sentence for each of these: they are notes, and fail where notes fail. `suppressions` may be
 * NULL. Bytes are escaped where they are printed.
 */
size_t suppressions_told(const struct suppressions *suppressions, struct arena *arena,
                         const char ***ret_sentence);

/* A finding of an earlier run. */
struct known_finding {
    const char *identity; /* "needed-unresolved ffmpeg.out:bin/ffmpeg>libx.so.1" */
    enum severity severity;
};

struct baseline {
    struct known_finding *item;
    size_t n;
};

void baseline_add(struct baseline *baseline, const char *rule, const char *identity,
                  enum severity severity, struct arena *arena);
/* The output of `lint --format json`. */
MUST_CHECK int baseline_read(const char *path, struct arena *arena, struct baseline *ret,
                             struct err *err);
/* Mark the findings it has: each entry counts once, and not for something more severe. */
void baseline_apply(struct baseline *baseline, struct findings *findings, struct arena *arena);
