/*
 * A scan of a binary cache: what scan_run() does with a store, without having one.
 *
 *	r = cache_scan(db, &scan_options, &cache_options, &result, &err);
 *
 *	paths ──narinfos, following references──> what is wanted
 *	      ──listing, or archive──> facts of each package ──> index
 *	      ──listing, or archive again──> directories that only run paths name
 *
 * The index says what a scan of a store with the same packages says; local facts (inodes, times,
 * which directory it was) there are none. What was read stays read when the scan is stopped: the
 * next one goes on.
 */
#pragma once

#include "scanner/cache.h"
#include "scanner/scan.h"

struct cache_scan_result {
    struct scan_result scan;
    size_t listed;  /* packages of which the listing was enough */
    size_t ranged;  /* packages of which parts of the archive were enough */
    uint64_t bytes; /* of archives and their listings, as they came */
};

/*
 * `scan`: of it paths, closure, shard, readers and progress; no paths: everything, of a cache that
 * is a directory. 0; -ENOENT: a path that was named is not there; -ECONNABORTED: the cache does not
 * answer any more; what cache_open() returns.
 */
MUST_CHECK int cache_scan(struct db *db, const struct scan_options *scan,
                          const struct cache_options *cache, struct cache_scan_result *ret_result,
                          struct err *err);
