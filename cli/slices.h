/*
 * A directory of plans, one file a package, that can be written again and again: its list tells what
 * was written there, so that the plan of a package that is gone goes, too, and nothing else does.
 *
 *	r = slices_open(dir, &arena, &slices, &err);	makes it, reads its list
 *	slices_expect(&slices, name) ...		every file that will be written, or stays
 *	r = slices_begin(&slices, &err);		from here on the list knows of all
 *	r = slices_write(&slices, name, text, len, &err) ...
 *	r = slices_end(&slices, &err);			what is not expected goes; `removed`, `kept`
 *
 * Names are of files in the directory. Killed at any time, the list names at least what was written.
 * Texts are the arena's, which is borrowed.
 */
#pragma once

#include "base/arena.h"

#define SLICES_LIST   "stormlint-plans.json"
#define SLICES_SCHEMA "stormlint-plans/1"
#define SLICE_SUFFIX  ".plan.json"

struct slice {
    const char *name;
    const char *mark; /* of its bytes; NULL: not written to its end */
    bool listed;      /* by the list that was there */
    bool expected;    /* it will be written, or stays */
    bool stays;       /* ... the latter, if it is there at all */
};

struct slices {
    struct arena *arena;
    const char *dir, *list;
    struct slice *item; /* by name, once begun */
    size_t n;
    size_t removed;
    const char **kept; /* not expected, and not as they were written: somebody has changed them */
    size_t n_kept;
};

/* -EINVAL: there is a list that is none of ours; the directory is left alone. */
MUST_CHECK int slices_open(const char *dir, struct arena *arena, struct slices *ret_slices,
                           struct err *err);
void slices_expect(struct slices *slices, const char *name);
/* What the list names stays, though it is not written: this one, all. */
void slices_stay(struct slices *slices, const char *name);
void slices_expect_all(struct slices *slices);
MUST_CHECK int slices_begin(struct slices *slices, struct err *err);
MUST_CHECK int slices_write(struct slices *slices, const char *name, const char *text, size_t len,
                            struct err *err);
MUST_CHECK int slices_end(struct slices *slices, struct err *err);
