/*
 * A binary cache: packages as others have packed them, over http, https or from a directory.
 *
 *	r = cache_open(&options, &cache, &err);
 *	reader = cache_reader_new(cache);	(one a thread)
 *	r = cache_info(reader, "<hash>", &arena, &info, &err);
 *	facts = cache_walk(reader, &info, NULL);
 *
 * An archive counts when its hash and size are those of its narinfo, and the narinfo when one of the
 * keys has signed it, if keys are given. Listings and single ranges of an archive cannot be checked
 * so: listings are believed unless told otherwise, ranges are only read when that is asked for.
 */
#pragma once

#include "scanner/fetch.h"
#include "scanner/nar_walk.h"
#include "scanner/narinfo.h"

struct cache_options {
    const char *url;
    const char *store;            /* what the cache has to be of */
    const struct public_key *key; /* whose signatures count; none: they are not looked at */
    size_t n_keys;
    bool no_listings; /* read every archive */
    bool ranges;      /* of archives that are not packed, read only what may be ELF */
    struct fetch_policy fetch;
};

struct cache;
MUST_CHECK int cache_open(const struct cache_options *options, struct cache **ret_cache,
                          struct err *err);
void cache_close(struct cache *cache);

/* Its address, the same however it was written. */
const char *cache_url(const struct cache *cache);

/*
 * Call `each` for every path that the cache has. -ENOTSUP: only a directory (file://) can tell.
 */
MUST_CHECK int cache_list(const struct cache *cache, void (*each)(void *data, const char *hash),
                          void *data, struct err *err);

struct cache_reader;
struct cache_reader *cache_reader_new(const struct cache *cache);
void cache_reader_free(struct cache_reader *reader);

/*
 * What the cache says of the path with this hash (32 characters). -ENOENT: it has it not;
 * -EKEYREJECTED: it is not signed by any of the keys; -EINVAL: malformed; others: not to be had now.
 */
MUST_CHECK int cache_info(struct cache_reader *reader, const char *hash, struct arena *arena,
                          struct narinfo *ret_info, struct err *err);

/* How it went, for the summary. Bytes are those that came over the wire. */
struct cache_walk {
    int error;   /* negative errno of what went wrong; 0 */
    bool listed; /* the listing was enough */
    bool ranged; /* only parts of the archive were read */
    uint64_t bytes;
};

/*
 * The facts of a package; never NULL. When it could not be read they are incomplete, with the reason
 * as a problem. `only`: as in nar_walk_begin().
 */
struct package_facts *cache_walk(struct cache_reader *reader, const struct narinfo *info,
                                 const struct nar_only *only, struct cache_walk *ret_walk);
