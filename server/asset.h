/*
 * Files of the pages: web/, compiled in, or read from a directory while somebody works on them.
 */
#pragma once

#include "base/arena.h"

struct asset {
    const char *path; /* below web/: "index.html", "views/program.js" */
    const unsigned char *bytes;
    size_t len;
};

/* Made by make out of web/; ends with a NULL path. */
extern const struct asset assets[];

/* `dir` NULL: of those compiled in. -ENOENT: there is none. Bytes are static or the arena's. */
MUST_CHECK int asset_find(const char *dir, const char *path, struct arena *arena,
                          struct asset *ret_asset, struct err *err);

/* Content-Type by the file's name. */
const char *asset_type(const char *path);
