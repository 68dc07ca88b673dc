/*
 * Closure files: which paths belong to a closure, as the many tools around Nix, Guix and Spack
 * write it down. What a file is, its content tells (a table in closure_file.c); its name does not
 * count.
 *
 *	r = closure_file_read("registration", "/nix/store", &arena, &closure, &err);
 *
 * Files are made by others: sizes are limited, and what is no form of the table is refused with a
 * sentence that says what would be one.
 */
#pragma once

#include "base/arena.h"

/* A path of the closure. Names are base names in the store. */
struct closure_path {
    const char *path;     /* absolute, as it stands there; in the store unless only listed */
    const char *nar_hash; /* "sha256:<base16>", as the database has it; NULL: not told */
    const char *deriver;  /* base name; NULL: not told */
    int64_t nar_size;     /* bytes; 0: not told */
    const char **reference;
    size_t n_references;
};

struct closure_file {
    const char *format; /* "path-info", "registration", ... */
    bool refers;        /* references are told */
    struct closure_path *path;
    size_t n_paths;
    size_t n_left_out; /* derivations; and of Spack's: what is external, or not installed */
};

/*
 * Read `path` ("-": standard input). -EINVAL: no form of a closure, or paths of another store;
 * -EFBIG: over a limit. Texts are the arena's.
 */
MUST_CHECK int closure_file_read(const char *path, const char *store, struct arena *arena,
                                 struct closure_file *ret_file, struct err *err);

/* The same from memory; `name` is for the sentence of an error. */
MUST_CHECK int closure_file_parse(const char *name, const char *text, size_t len, const char *store,
                                  struct arena *arena, struct closure_file *ret_file,
                                  struct err *err);
