/*
 * What the files of the index world share, nobody else.
 */
#pragma once

#include "loader/world_index.h"
#include "scanner/entries.h"
#include "scanner/packed.h"

struct index_world;

/*
 * Texts by dense ids, fetched when first asked for, some neighbours with each: who needs one mostly
 * needs the next. Few at first, and twice as many each time that the next ones were needed indeed.
 */
struct texts {
    const char *sql; /* SELECT id, text ... WHERE id BETWEEN ?1 AND ?2 */
    const char *(*make)(struct index_world *iw, const char *stored);
    int64_t most;           /* to be fetched together; a power of two */
    int64_t together, next; /* the last time: how many, and the id behind them */
    const char **text;
    size_t n; /* ids are below */
};

/*
 * A directory node's `source` points to one of these:
 *
 *	PARENT	on the way from "/" to a store: has only the next component of each
 *	STORE	its entries are packages
 *	BELOW	in a package; its entries are a row, fetched when first asked for
 */
struct shown_dir {
    enum { PARENT, STORE, BELOW } kind;
    struct shown_dir *child, *next; /* PARENT: the first child; siblings */
    const char *name;               /* of a child of a PARENT */

    int64_t id; /* STORE: the store; BELOW: the package */
    bool whole; /* STORE: everything in it is indexed */

    const char *path;    /* BELOW: in the package */
    bool fetched;        /* `entries` and all below are as they stay */
    const char *entries; /* NULL: not kept by the scan */
    size_t size;
    const unsigned char *packed; /* its objects, in the order of entries */
    size_t packed_size;
    struct slot *slot; /* the entries by name: open addressing, at most half full */
    uint32_t mask;
    int64_t first_object;
    struct name_filter names; /* BELOW: everything, until it is fetched */
};

/* An entry: where it stands, how many objects stand before it, where the next is packed. */
struct slot {
    uint32_t at; /* + 1; 0: free */
    uint32_t ordinal, packed;
};

struct index_world {
    struct db *db;
    struct world *world;
    enum world_facts facts;
    bool in_transaction; /* of its own, to be ended with it */
    struct texts name, search_dir, run_path;

    /* Inodes by object, fetched likewise; `asked` says of which. NULL: nobody shares an inode. */
    struct inode *inode;
    bool *asked;
    size_t n_objects; /* ids are below */

    struct err err; /* the first thing that went wrong inside */
};

/*
 * The object of row `id`, which its directory has packed as the next of `packed`. NULL: the index
 * is damaged.
 */
const struct object *index_world_object(struct index_world *iw, int64_t id, struct packed packed);

/* Make the three kinds of texts ready. */
MUST_CHECK int index_world_texts(struct index_world *iw);

/* The largest id: of `sql` ("SELECT max(id) ..."). */
MUST_CHECK int index_world_max(struct index_world *iw, const char *sql, size_t *ret_n);

/* ---- world_index_dir.c */

/* The directory `path` of a package; the path is borrowed. */
struct shown_dir *shown_dir_below(struct index_world *iw, int64_t package, const char *path);

/* Have it fetched. 0 or -errno; its entries stay NULL when the index does not have it. */
MUST_CHECK int shown_dir_fetch(struct index_world *iw, struct shown_dir *dir);

/* The entry `name` of a directory that has entries; NULL: there is none. */
const struct slot *shown_dir_find(const struct shown_dir *dir, const struct name *name,
                                  struct entry *ret_entry);
