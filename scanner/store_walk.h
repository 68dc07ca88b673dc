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

#include "scanner/facts.h"

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

/*
 * The entries of one more directory below a package, which no loader would look into but for a run
 * path that names it. In `facts`, a fresh one without problems when it could be read.
 */
struct package_facts *walk_directory(struct walker *walker, int store_fd, const char *base,
                                     const char *path);

/*
 * A number that changes when a package's names, sizes, times or inodes do; never 0. What cannot be
 * looked at counts as it is.
 */
uint64_t package_mark(int store_fd, const char *base);
