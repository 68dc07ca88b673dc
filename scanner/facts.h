/*
 * The facts of one package: what is in one store path, as data, wherever it was read. A walk over
 * its files (scanner/store_walk.h), an archive or a listing of a cache (scanner/nar_walk.h) make
 * the same facts of the same package.
 *
 *	struct package_facts *f = facts_new("<hash>-name");
 *	entries_add(&entries, ENTRY_LINK, "liba.so", "liba.so.1");	(what a directory holds ...)
 *	facts_add_object(f, &gathered, &found);
 *	facts_keep(f, "lib", &entries, &gathered);		(... kept for loaders to look into)
 *	package_facts_free(f);
 *
 * Trouble with a file is a row in `problem`, not an error. One thread at a time.
 */
#pragma once

#include "base/arena.h"
#include "scanner/entries.h"
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
    uint32_t number; /* of whoever asked for it: what it likes */
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

/* Facts of a package nothing is known of yet. Never NULL. */
struct package_facts *facts_new(const char *base);
void package_facts_free(struct package_facts *facts);

/* The entries of a directory while they are gathered; the memory is used again and again. */
struct entries {
    char *bytes;
    size_t len, size;
};

void entries_add(struct entries *entries, enum entry_kind kind, const char *name, const char *text);

/* What stands beside the entries of a directory that is gathered. */
struct gathered {
    struct walked_object *object; /* in the order of entries */
    size_t n_objects;
    bool interesting; /* links to libraries in it */
};

/* Is the directory `path` kept whatever it holds? Run paths, wrappers and profiles name those. */
bool facts_always_keep(const char *path);

/* Is it worth keeping by itself? */
bool facts_is_worth(const char *path, const struct gathered *gathered);

/* Keep it. Entries and objects are in the facts' arena. */
void facts_keep(struct package_facts *facts, const char *path, const char *entries, size_t size,
                const struct gathered *gathered, uint64_t changed);

void facts_add_object(struct package_facts *facts, struct gathered *gathered,
                      const struct walked_object *found);

/* Something is wrong with `name` in directory `dir`; unread: it is not known what is in it. */
void facts_add_problem(struct package_facts *facts, const char *dir, const char *name, bool unread,
                       const char *text);

/* A link in the package: where it leads to in `store` makes a reference. */
void facts_add_link(struct package_facts *facts, struct gathered *gathered, const char *store,
                    const char *name, const char *target);

/* Bytes of a file that decide what it is. */
enum { FACTS_HEAD = 64 };

/*
 * What a regular file is by its first bytes (FACTS_HEAD, or all): ENTRY_ELF, ENTRY_FILE or
 * ENTRY_SHORT. Mach-O is counted.
 */
enum entry_kind facts_judge_head(struct package_facts *facts, const unsigned char *head,
                                 size_t len);
