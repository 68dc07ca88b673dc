/*
 * Between the forms in which a closure is told: lines of text (closure_file.c), JSON
 * (closure_json.c).
 */
#pragma once

#include "base/str.h"
#include "scanner/closure_file.h"

enum { REFERENCES_MAX = 100 * 1000 }; /* of one path */

/* One file while it is read. */
struct reading {
    const char *name;  /* of the file, as shown */
    const char *store; /* "/nix/store" */
    struct arena *arena;
    struct closure_file *file;
    struct err *err;
    const char *at, *end; /* text: what is left */
    size_t line;
};

/* An error at the line that is read; -EINVAL. */
int reading_fail(struct reading *r, const char *what);

/* No form fits: an error that names them all; negative errno. */
int reading_refuse(struct reading *r);

/* The base name of a path of the store, or a base name as it is; NULL and an error: neither. */
const char *reading_base(struct reading *r, const char *path);

/* One path more, as it is; a path of the store, as a whole path. NULL: an error. */
struct closure_path *reading_add_any(struct reading *r, const char *path);
struct closure_path *reading_add(struct reading *r, const char *path);

/* Derivations are told among the paths, and are not of the closure. */
bool reading_is_derivation(const char *path);

/* Text that begins as JSON does. 0 or negative errno. */
int closure_json_parse(struct reading *r);
/* Where its forms come from, each behind "; ". */
void closure_json_forms(struct str *out);
