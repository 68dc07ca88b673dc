/*
 * The index: what the scanner knows, in SQLite. Every SQL text that writes it stands in
 * index_sql.c, in one table.
 *
 *	index_open(db, &index, err);
 *	id = ... index_add_package(index, store, base, NULL, &id, err);
 *	index_write_package(index, id, facts, err);
 *	index_flush(index, err);
 *	index_close(index);
 *
 * Writing happens in transactions of some milliseconds: a killed scan loses what was in flight. One
 * thread at a time.
 */
#pragma once

#include "base/db.h"
#include "scanner/nix_db.h"
#include "scanner/store_walk.h"

struct index;

/* A package as the index has it. */
struct known_package {
    int64_t id;
    const char *base;
    const char *nar_hash; /* NULL: not registered */
    uint64_t mark;        /* 0: none */
    enum { KNOWN_NEW, KNOWN_SCANNED, KNOWN_INCOMPLETE, KNOWN_GONE } state;
};

MUST_CHECK int index_open(struct db *db, struct index **ret_index, struct err *err);
/* What was not flushed is lost. */
void index_close(struct index *index);
void index_closep(struct index **index);

/*
 * Find or add a store; -EEXIST when the index has it of another root. *ret_changed: its directory's
 * change time at the last scan of all of it, ns.
 */
MUST_CHECK int index_store(struct index *index, const char *path, const char *root,
                           int64_t *ret_store, uint64_t *ret_changed, struct err *err);
MUST_CHECK int index_set_store(struct index *index, int64_t store, uint64_t changed,
                               struct err *err);

/* A part of a directory that plays a store: shard `shard` of `shards`, 1 of 1 all of it. */
struct part {
    const char *place; /* which directory */
    unsigned shards;   /* 0: only some packages of it */
    unsigned shard;
    bool adds; /* to what is known of that directory; else it takes its place */
};

/*
 * Say that `part` is in the index, and of no other directory than this one. *ret_changed: that was
 * not known.
 */
MUST_CHECK int index_note_part(struct index *index, int64_t store, const struct part *part,
                               bool *ret_changed, struct err *err);

/* Say that `part` is in the index, too; then, once, what follows from all that was said. */
MUST_CHECK int index_add_part(struct index *index, int64_t store, const struct part *part,
                              struct err *err);
MUST_CHECK int index_settle_parts(struct index *index, int64_t store, struct err *err);

/* Call `each` for every package of a store, in the order of ids. */
MUST_CHECK int index_packages(struct index *index, int64_t store,
                              void (*each)(void *data, const struct known_package *package),
                              void *data, struct err *err);

/* Add a package that is yet to be scanned. `path`: what the database of the store says, or NULL. */
MUST_CHECK int index_add_package(struct index *index, int64_t store, const char *base,
                                 const struct nix_path *path, int64_t *ret_id, struct err *err);

/* More is known of a package than when it was added: what `path` says. */
MUST_CHECK int index_know_package(struct index *index, int64_t id, const struct nix_path *path,
                                  struct err *err);

/*
 * Put `facts` in the place of what is known about the package; `replaces`: there may be something.
 * References are added afterwards, one by one.
 */
MUST_CHECK int index_write_package(struct index *index, int64_t id,
                                   const struct package_facts *facts, const char *nar_hash,
                                   bool replaces, struct err *err);

/* The package is gone: only its name stays. */
MUST_CHECK int index_forget_package(struct index *index, int64_t id, struct err *err);

/* Not even its name stays. */
MUST_CHECK int index_drop_package(struct index *index, int64_t id, struct err *err);

/* Call `each` for every store; it must not use the index. */
MUST_CHECK int index_stores(struct index *index,
                            void (*each)(void *data, int64_t store, const char *path,
                                         const char *root),
                            void *data, struct err *err);

MUST_CHECK int index_add_reference(struct index *index, int64_t package, int64_t reference,
                                   struct err *err);

/* Call `each` with the name of every package that `package` refers to. */
MUST_CHECK int index_references(struct index *index, int64_t package,
                                void (*each)(void *data, const char *base), void *data,
                                struct err *err);

/* Add directories to a package that has been written before. */
MUST_CHECK int index_add_directories(struct index *index, int64_t id,
                                     const struct package_facts *facts, struct err *err);
MUST_CHECK int index_has_directory(struct index *index, int64_t id, const char *path, bool *ret_has,
                                   struct err *err);

/*
 * The directories that run paths name, as they are spelled, and again with `$ORIGIN` replaced by
 * where the object is; those that loader files have compiled in. `known`: it was seen before the
 * index was opened, so that only packages written since, or gone before, can lack it. When the index
 * was unfinished then, nothing is known: who was killed has not looked at them. When nothing was
 * written, nothing is called.
 */
MUST_CHECK int index_search_dirs(struct index *index,
                                 void (*each)(void *data, const char *path, bool known), void *data,
                                 struct err *err);

/*
 * Local facts: for every directory with objects whose change time is not the recorded one, `stat`
 * is asked for its objects' identities. Its arguments: path below the store, then what to fill.
 */
struct identity {
    uint64_t dev, ino, nlink, changed;
};
MUST_CHECK int index_refresh_inodes(struct index *index, int64_t store,
                                    int (*stat)(void *data, const char *path,
                                                struct identity *ret_identity),
                                    void *data, size_t *ret_n, struct err *err);

/* Say that the index is another one now. */
MUST_CHECK int index_bump(struct index *index, struct err *err);
MUST_CHECK int index_generation(struct db *db, int64_t *ret_generation, struct err *err);

/*
 * The end of a scan: `changed` bumps. From the first change up to here the index says of itself
 * that it is unfinished: what a reader sees is neither the old state nor the new one. A scan that
 * was killed leaves it so until the next one ends.
 */
MUST_CHECK int index_finish(struct index *index, bool changed, struct err *err);

/* End a change that is no scan: an index that was unfinished before still is, no other one. */
MUST_CHECK int index_settle(struct index *index, struct err *err);
MUST_CHECK int index_is_unfinished(struct db *db, bool *ret_unfinished, struct err *err);

/* Commit if the last commit was a while ago / now. */
MUST_CHECK int index_tick(struct index *index, struct err *err);
MUST_CHECK int index_flush(struct index *index, struct err *err);

/* Totals over the whole index, for summaries. */
struct index_totals {
    int64_t packages, incomplete, gone, files, objects, programs, macho, malformed, unread;
};
MUST_CHECK int index_totals(struct db *db, struct index_totals *ret_totals, struct err *err);

/* Every SQL text of the scanner, for the test that prepares them all; ends with a NULL name. */
struct sql {
    const char *name, *text;
};
extern const struct sql index_sql[];
