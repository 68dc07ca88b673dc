/*
 * Walking packages: everything that is in one store path, as data.
 *
 *	struct walker *w = walker_new("/nix/store");
 *	struct package_facts *f = walk_package(w, store_fd, "<hash>-name");
 *	...
 *	package_facts_free(f);
 *
 * Links are recorded, never followed. Regular files are opened in a way that cannot block and
 * cannot follow a link put there meanwhile; devices, FIFOs and sockets are not opened at all.
 * Trouble with a file is a row in `problem`, not an error. A walker belongs to one thread.
 */
#pragma once

#include "base/arena.h"
#include "scanner/object.h"

enum package_state { PACKAGE_SCANNED, PACKAGE_INCOMPLETE, PACKAGE_GONE, PACKAGE_UNCHANGED };

struct walked_object {
    const char *name;
    const struct object *object;
    uint64_t dev, ino, nlink;
};

/* A directory that loaders may look into, with all its entries (scanner/entries.h). */
struct walked_dir {
    const char *path; /* below the package, "" its top */
    const char *entries;
    size_t entries_size;
    uint64_t changed;             /* its change time, ns */
    struct walked_object *object; /* in the order of entries */
    size_t n_objects;
};

struct walked_problem {
    const char *path;
    bool unread; /* else malformed */
    const char *text;
};

struct package_facts {
    struct arena arena; /* of everything below */
    const char *base;
    enum package_state state;
    const char *kind;   /* "dir", "file", "link", "other" */
    const char *target; /* of a link */

    struct walked_dir *dir;
    size_t n_dirs;
    struct walked_problem *problem;
    size_t n_problems;
    const char **link; /* names of store paths that links in it lead to; not unique */
    size_t n_links;

    uint64_t files, objects, macho;
    uint64_t mark; /* package_mark() before it was read; 0: not asked for */
};

struct walker;

/* A walker for packages of the store that programs call `store`. Never NULL. */
struct walker *walker_new(const char *store);
void walker_free(struct walker *walker);

/*
 * Everything in package `base` of the store open at `store_fd`. Never NULL. `with_mark`: also take
 * its mark, first, so that later changes show; when it equals `known_mark` nothing more is done and
 * the package is PACKAGE_UNCHANGED.
 */
struct package_facts *walk_package(struct walker *walker, int store_fd, const char *base,
                                   bool with_mark, uint64_t known_mark);
void package_facts_free(struct package_facts *facts);

/*
 * The entries of one more directory below a package, which no loader would look into but for a run
 * path that names it. In `facts`, a fresh one without problems when it could be read.
 */
struct package_facts *walk_directory(struct walker *walker, int store_fd, const char *base,
                                     const char *path);

/* Is the directory `path` kept whatever it holds? Run paths, wrappers and profiles name those. */
bool walk_always_keeps(const char *path);

/*
 * A number that changes when a package's names, sizes, times or inodes do; never 0. What cannot be
 * looked at counts as it is.
 */
uint64_t package_mark(int store_fd, const char *base);
