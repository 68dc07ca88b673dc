/*
 * Names of store paths taken apart: '<hash>-<pname>-<version>[-<output>]'.
 */
#pragma once

#include "base/arena.h"

struct store_name {
    const char *hash;    /* 32 characters; NULL: the name has none */
    const char *name;    /* without hash and output */
    const char *pname;   /* name up to the first dash that no letter follows */
    const char *version; /* behind that dash; "" when there is none */
    const char *output;  /* "out" unless the name says otherwise */
};

/*
 * Take `base` apart. `deriver`: the base name of the derivation it was built by
 * ('<hash>-<name>.drv'), which tells the output for certain; NULL: not known, then only well-known
 * outputs behind a version count as such. Spack's form, with the hash behind, is understood too.
 */
void store_name_parse(struct arena *arena, const char *base, const char *deriver,
                      struct store_name *ret_name);

/*
 * The package that absolute `path` is in, `*ret_below` what follows it; NULL: outside the store.
 * Doubled slashes and "." are dropped, ".." is taken as written: what run paths mean lexically.
 */
const char *store_path_split(struct arena *arena, const char *store, const char *path,
                             const char **ret_below);

/*
 * Which of `shards` (1 or more) parts of a store the package belongs to, from 1: by its hash, by its
 * whole name when it has none. The same on every machine and in every version.
 */
unsigned store_name_shard(const char *base, unsigned shards);

/* Can it be the name of a store's entry? Not "", ".", "..", nor a path. */
bool store_name_is_entry(const char *base);

/* Is this entry of a store no package: locks, temporaries, derivations, Nix's links? */
bool store_name_is_internal(const char *base);
