/*
 * From an archive's content to the facts of a package: what scanner/store_walk.h makes of files.
 *
 *	struct nar_walk *w = nar_walk_new("/nix/store");
 *	nar_walk_begin(w, "<hash>-name", NULL);
 *	... nar_new(&nar_walk_sink, w), nar_add() ... or the sink called by a listing ...
 *	struct package_facts *f = nar_walk_end(w);
 *
 * Only ELF files are kept while they are read, in memory up to some MiB, beyond in a temporary file
 * without a name, whatever the archive says of their size. One thread at a time.
 */
#pragma once

#include "scanner/facts.h"
#include "scanner/nar.h"

struct nar_walk;
struct nar_walk *nar_walk_new(const char *store);
void nar_walk_free(struct nar_walk *walk);

/*
 * Begin a package; what was read of another is dropped. `only`: keep these directories and no
 * others, sorted, if there are no objects in them; NULL: what loaders look into.
 */
struct nar_only {
    const char *const *path;
    size_t n;
};
void nar_walk_begin(struct nar_walk *walk, const char *base, const struct nar_only *only);

/* The next file's content will not come; by its name it is no ELF file. */
void nar_walk_pass(struct nar_walk *walk);

/* The content of the file at hand comes again, from its beginning. */
void nar_walk_again(struct nar_walk *walk);

/* Is it known already that the content of the file at hand does not matter? */
bool nar_walk_has_enough(const struct nar_walk *walk);

extern const struct nar_sink nar_walk_sink;

/* The facts, now the caller's. */
struct package_facts *nar_walk_end(struct nar_walk *walk);
