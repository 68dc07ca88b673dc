/*
 * Orders: what a client may ask for in the body of POST /api/v1/audits, taken apart and checked.
 */
#pragma once

#include "base/arena.h"

enum { ORDER_PATHS_MAX = 1000, ORDER_NAME_MAX = 200 };

/* Scan the closure of these paths of a store (none: all of it), and audit it under a name. */
struct order {
    const char *name;  /* as the client calls it */
    const char **path; /* absolute, without "..": n_paths */
    size_t n_paths;
    const char *root, *store; /* set by order_place() */
};

/* -EBADMSG: a sentence says what is wrong. Texts are the arena's. */
MUST_CHECK int order_read(const char *bytes, size_t len, struct arena *arena,
                          struct order *ret_order, struct err *err);

/* A directory of packages, as programs see it, and the directory that was "/" when it was read. */
struct store_place {
    const char *path, *root;
};

/* Choose the store of the first path, or the first one there is; all paths must lie in it. */
MUST_CHECK int order_place(struct order *order, const struct store_place *store, size_t n,
                           struct err *err);
