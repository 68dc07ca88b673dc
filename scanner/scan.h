/*
 * A scan: bring the index up to date with a store, or with the closure of some paths.
 *
 *	struct scan_options o = {.root = "/", .store = "/nix/store", .readers = 2};
 *	struct scan_result result;
 *	r = scan_run(db, &o, &result, &err);
 *
 * What is registered with the store's database is identified by (path, NAR hash) and read once;
 * what nobody registers is read again when its mark changes. Broken files are facts, unread ones
 * make the result incomplete.
 */
#pragma once

#include "base/db.h"
#include "base/progress.h"

struct scan_options {
    const char *root;        /* the directory that plays "/" */
    const char *store;       /* as programs see it */
    const char *const *path; /* packages, or paths in or leading to them; none: the whole store */
    size_t n_paths;
    const char *closure;    /* a file that tells the closure (scanner/closure_file.h), "-": standard
                            input; NULL: found out */
    unsigned shards, shard; /* only this part of it, from 1, of so many; 0: no parts */
    unsigned readers;       /* threads that read; 0: none beside the caller's */

    bool skips_absent; /* packages of `path` that are not there are counted, not an error */

    struct progress *progress; /* told after every package; may be NULL */
};

struct scan_result {
    size_t packages;        /* looked at in this scan */
    size_t scanned;         /* read, because new or changed */
    size_t unchanged;       /* known already */
    size_t incomplete;      /* something in them could not be read */
    size_t gone;            /* vanished since the last scan */
    size_t absent;          /* asked for, and not in the store; see skips_absent */
    size_t unregistered;    /* in the store, but unknown to its database: left out */
    size_t elsewhere;       /* of other shards: left out */
    size_t refreshed;       /* directories whose inodes were read again */
    bool registered;        /* the store's database was read */
    const char *references; /* "database", "closure file", "spack", "run paths" */
    struct err database;    /* why the store's database could not be read; code 0: it was,
                               there is none, or it was not asked */
};

/* 0, or negative errno: -EINVAL for a path that is in no package of the store. */
MUST_CHECK int scan_run(struct db *db, const struct scan_options *options,
                        struct scan_result *ret_result, struct err *err);
