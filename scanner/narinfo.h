/*
 * What a binary cache says of a store path: the text of its .narinfo.
 *
 *	r = narinfo_read(text, len, "/nix/store", &arena, &info, &err);
 *	narinfo_is_signed(&info, "/nix/store", keys, n_keys)
 *
 * Lines of "Key: value"; keys that are not known are passed over. Nothing in it is trusted: names
 * are store names, numbers are numbers, addresses stay below the cache or are http(s).
 */
#pragma once

#include "scanner/crypto.h"

enum { NARINFO_MAX = 4 * 1024 * 1024 }; /* bytes of its text; references make it long */

struct narinfo {
    const char *base;        /* of its store path */
    const char *url;         /* of the archive: relative to the cache, or absolute */
    const char *compression; /* "xz", ...; "bzip2" when it is not said */
    uint64_t file_size;      /* of the packed archive, bytes; 0: not said */
    const char *nar_hash;    /* "sha256:<base16>" */
    uint64_t nar_size;
    const char *deriver;    /* base name; NULL: not known */
    const char **reference; /* base names, sorted */
    size_t n_references;
    const char **signature;
    size_t n_signatures;
};

/* -EINVAL: malformed, or of another store. Texts are the arena's. */
MUST_CHECK int narinfo_read(const char *text, size_t len, const char *store, struct arena *arena,
                            struct narinfo *ret_info, struct err *err);

/* Is one of its signatures good? It covers path, hash, size and references, and nothing else. */
bool narinfo_is_signed(const struct narinfo *info, const char *store, const struct public_key *key,
                       size_t n_keys);
