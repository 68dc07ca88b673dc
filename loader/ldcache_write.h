/*
 * Writing ld.so.cache files, new format (docs/loader.md, section 10): for worlds that are made up.
 */
#pragma once

#include "base/arena.h"

struct cache_entry {
    int32_t flags; /* 0x0303: x86-64 */
    const char *key, *value;
    uint64_t hwcap;
    const char *level; /* glibc-hwcaps name, NULL: none; sets hwcap itself */
};

/*
 * The bytes of a cache file. Entries are written in the order that a loader's binary search
 * expects, unless `as_given`.
 */
void ldcache_write(struct arena *arena, const struct cache_entry *entry, size_t n, bool as_given,
                   const char **ret_bytes, size_t *ret_size);
