/*
 * A cache of the loader in the program's package, as Guix has it: simulated, never planned, for it
 * needs a loader that asks for PACKAGE/etc/ld.so.cache before it looks at run paths.
 *
 * The cache holds the names of the start-up closure, and nothing else: one path a soname, and the
 * builds for better CPUs beside it. (Guix runs ldconfig, which takes in whole directories.)
 */
#pragma once

#include "planner/criteria.h"

struct cache_trial {
    const char *path;
    uint64_t bytes;
    size_t n_names;
    struct storm after, dlopen; /* start-up and declared dlopens, on the policy's CPU */
    bool same;                  /* the same files in the same order, declared dlopens included */
    bool overrides;             /* LD_LIBRARY_PATH wins as before */
    const char *clash;          /* a name that two askers got from two files; NULL: none */
    size_t n_clashes;
    const char *dlmopen; /* an object that opens further namespaces; NULL: none */
};

/* All memory is the subject's arena's. */
MUST_CHECK int cache_try(const struct trial *trial, struct cache_trial *ret, struct err *err);
