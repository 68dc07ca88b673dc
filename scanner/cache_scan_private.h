/*
 * What the files of a cache's scan share, nobody else.
 */
#pragma once

#include "base/intern.h"
#include "scanner/cache_scan.h"
#include "scanner/index.h"

enum { STORE_HASH = 32 }; /* characters of a store path's hash */

/* A path of the cache that this scan is about. */
struct cached {
    const char *hash;           /* what the cache knows it by */
    const char *base;           /* NULL: not known yet */
    int64_t id;                 /* in the index; 0: not there */
    int state;                  /* of struct known_package */
    const struct narinfo *info; /* NULL: not asked for */
    bool named;                 /* by the user */
    bool queued, elsewhere;     /* wanted; of another shard */
    bool written, unread;       /* in this scan; and nothing is known of what is in it */
    const char **only;          /* directories that run paths name, to be read afterwards */
    size_t n_only;
};

/* What a reader is told: it may not look at what the writer changes meanwhile. */
struct cache_job {
    uint32_t number;
    const char *hash;
    const struct narinfo *info;
    struct nar_only only;
};

struct cache_scan {
    const struct scan_options *options;
    const struct cache_options *cache_options;
    struct cache_scan_result *result;
    struct cache *cache;
    struct arena arena;
    struct index *index;
    int64_t store;
    bool follow; /* references */

    struct intern *hashes; /* their ids number what is cached */
    struct cached *cached;
    size_t n_cached, size_cached;

    uint32_t *job; /* of the round going on */
    size_t n_jobs, size_jobs, n_done;
    struct cache_job *round; /* the same, for the readers */
    size_t failures;         /* of the connection, one after the other */
};

/* The one with that hash, made if needed. They move: keep numbers. */
struct cached *cache_scan_cached(struct cache_scan *scan, const char *hash);

/* Put it among the jobs of the round that is prepared. */
void cache_scan_add_job(struct cache_scan *scan, uint32_t number);

/* Let the readers do all jobs. */
struct work;
MUST_CHECK int cache_scan_work(struct cache_scan *scan, const struct work *work, struct err *err);

/* Want what is asked for and what it refers to: narinfos, rows. */
MUST_CHECK int cache_scan_choose(struct cache_scan *scan, struct err *err);

/* Read the directories that only run paths name. */
MUST_CHECK int cache_scan_search_dirs(struct cache_scan *scan, struct err *err);

/*
 * Something could not be had for reason `code`; 0: it could. -ECONNABORTED when that happened too
 * often in a row for the cache to be there.
 */
MUST_CHECK int cache_scan_count_failure(struct cache_scan *scan, int code, const char *why,
                                        struct err *err);

/* The package is in the cache's closure, but not to be had: that is a fact, too. */
MUST_CHECK int cache_scan_write_absent(struct cache_scan *scan, uint32_t number, const char *why,
                                       struct err *err);
