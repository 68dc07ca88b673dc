/*
 * The package manager's own database: which paths are registered, by what content, and who refers
 * to whom. Read only; schema 10 of Nix, which Guix shares.
 */
#pragma once

#include "base/arena.h"

struct nix_path {
    const char *base;     /* name in the store */
    const char *nar_hash; /* identity of the content: "sha256:..." */
    const char *deriver;  /* base name of the derivation; NULL: not known */
    int64_t nar_size;     /* bytes; 0: not known */
    int64_t id;           /* the database's; not negative */
};

/* All valid paths that are no derivations, and the references between them. */
struct nix_db {
    struct nix_path *path;
    size_t n_paths;
};

/*
 * Read the database of the store that programs call `store`, below `root`. -ENOENT: it has none;
 * -EACCES and others: it cannot be read.
 */
MUST_CHECK int nix_db_paths(const char *root, const char *store, struct arena *arena,
                            struct nix_db *ret_db, struct err *err);

/* Is each of `n` paths still registered, and has it been all the time since it was read? */
MUST_CHECK int nix_db_same(const char *root, const char *store, const struct nix_path *const *path,
                           size_t n, bool *ret_same, struct err *err);

/* Call `each` for every reference, by ids; those from or to derivations too. */
MUST_CHECK int nix_db_references(const char *root, const char *store,
                                 void (*each)(void *data, int64_t referrer, int64_t reference),
                                 void *data, struct err *err);
