/*
 * One index out of several: shards of a store, batches of closures, what other machines have read.
 *
 *	struct merge_options o = {.in = paths, .n_in = n};
 *	r = merge_run(db, &o, &result, &err);	(db: a fresh index)
 *
 * The order of the inputs does not matter, nor whether some were merged before. A package that
 * several have is taken once: what was read wins over what is only named, and of two contents
 * under one path that with the greater NAR hash, which is reported as a clash. Storms are not
 * taken over: they are computed again. Inodes are, when all inputs read the same directory; else
 * they mean nothing together.
 *
 *	inputs ──survey──> which version of each package, stores, clashes
 *	       ──copy────> winners, with ids of their own
 *	       ──join────> references, directories and origins that any input knows
 */
#pragma once

#include "base/db.h"
#include "base/progress.h"

/* A path that two inputs have with different content. */
struct merge_clash {
    const char *path;             /* of the package */
    const char *kept, *kept_from; /* NAR hash, NULL: none; the input it was taken from */
    const char *dropped, *dropped_from;
};

struct merge_options {
    const char *const *in; /* files, at least one */
    size_t n_in;

    /* Told about every clash, sorted by path; may be NULL. */
    void (*clash)(void *data, const struct merge_clash *clash);
    void *data;
    struct progress *progress; /* may be NULL */
};

struct merge_result {
    size_t packages;   /* in the new index */
    size_t named;      /* of these only named: others refer to them, no input has read them */
    size_t incomplete; /* of these not read completely */
    size_t repeated;   /* read by more than one input, counted for each further one */
    size_t clashes;    /* paths with different contents */
};

/*
 * Fill the fresh index `db`. -EINVAL: an input is no index of this version; -EBUSY: one's scan was
 * not finished.
 */
MUST_CHECK int merge_run(struct db *db, const struct merge_options *options,
                         struct merge_result *ret_result, struct err *err);
