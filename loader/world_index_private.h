/*
 * What the two files of the index world share, nobody else.
 */
#pragma once

#include "loader/world_index.h"
#include "scanner/packed.h"

struct index_world;

/*
 * Texts by dense ids, fetched when first asked for, `together` neighbours at a time: who needs one
 * mostly needs the next.
 */
struct texts {
    const char *sql; /* SELECT id, text ... WHERE id BETWEEN ?1 AND ?2 */
    const char *(*make)(struct index_world *iw, const char *stored);
    int64_t together;
    const char **text;
    size_t n; /* ids are below */
};

struct index_world {
    struct db *db;
    struct world *world;
    enum world_facts facts;
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
