/*
 * Origins: where a package comes from: its attribute in nixpkgs, who maintains it, where it is
 * written. A channel's packages.json tells; packages are found there by name and version, since it
 * knows no store paths.
 *
 *	r = origins_read("packages.json", &arena, &origins, &err);
 *	origin = origins_find(origins, "hello-2.12.1", "hello");
 *	r = origins_index(db, origins, &n_found, &err);		for every package of an index
 */
#pragma once

#include "base/arena.h"
#include "base/db.h"
#include "base/json.h"

struct origin {
    const char *attribute;   /* "imagemagick", "python312Packages.numpy" */
    const char **maintainer; /* "@handle" at GitHub, "Name <address>", one of the two, or a name */
    size_t n_maintainers;
    const char *position; /* "pkgs/by-name/he/hello/package.nix:42"; NULL: not told */
};

struct origins;

/*
 * Read a packages.json, as it is or packed (br by its name; xz and zstd), package by package: of a
 * whole channel only what is needed stays, in the arena. -EINVAL: it is none; -EFBIG: a package in
 * it, or all of it, is over a limit.
 */
MUST_CHECK int origins_read(const char *path, struct arena *arena, struct origins **ret_origins,
                            struct err *err);

/* Give back what is not the arena's; origins that were found stay. NULL: nothing. */
void origins_free(struct origins *origins);
void origins_freep(struct origins **origins);

/* How many packages there are. */
size_t origins_count(const struct origins *origins);

/*
 * The origin of what is called `name` ("hello-2.12.1"), else of that `pname` in another version;
 * NULL: not there. Of several the one whose attribute is shortest, then first by alphabet: aliases
 * and variants (pkgsStatic.hello) are longer.
 */
const struct origin *origins_find(const struct origins *origins, const char *name,
                                  const char *pname);

/* Note the origins of an index's packages, in place of all that it has. */
MUST_CHECK int origins_index(struct db *db, const struct origins *origins, size_t *ret_found,
                             struct err *err);

/* Add a row of another index, all columns of its table origin; there may be one for the name. */
MUST_CHECK int origin_join(struct db *db, struct stmt *row, struct err *err);

/* An origin out of columns of an index: table origin's attribute, maintainers, position. */
const struct origin *origin_of_row(struct stmt *stmt, int first_column, struct arena *arena);

/* Who maintains it, as an array; of NULL: an empty one. The caller's. */
json_t *origin_maintainers(const struct origin *origin);

/* The origin of the package that an index has `path` in; NULL: not known. */
MUST_CHECK int origin_of_path(struct db *db, const char *path, struct arena *arena,
                              const struct origin **ret_origin, struct err *err);

/*
 * Is `name` one of those who maintain it? A handle at GitHub with or without its @, a name, an
 * address, or a text as it stands in `maintainer`; upper case or lower.
 */
bool origin_is_of(const struct origin *origin, const char *name);

/* One who maintains something, without an address where there is a name to it. */
const char *maintainer_name(const char *maintainer, struct arena *arena);

/* A line for readers: "hello: maintained by @jane; pkgs/by-name/he/hello/package.nix:42". Escaped. */
const char *origin_text(const struct origin *origin, struct arena *arena);
/* The same for what everybody reads: without addresses, and as it stands, not escaped. */
const char *origin_public(const struct origin *origin, struct arena *arena);

/* Put "attribute", "maintainers" and "position"; of NULL: null, [] and null. */
void origin_put(json_t *object, const struct origin *origin);
/* The same, nothing of NULL. */
void origin_put_known(json_t *object, const struct origin *origin);
/* The same back; NULL: there is no attribute. Texts are copied. */
const struct origin *origin_get(const json_t *object, struct arena *arena);
