/*
 * What the two files of the index world share, nobody else.
 */
#pragma once

#include "loader/world_index.h"

/* Texts by dense ids, fetched when first asked for. */
struct texts {
    const char *sql;
    const char **text;
    size_t n; /* ids are below */
};

struct index_world {
    struct db *db;
    struct world *world;
    enum world_facts facts;
    struct texts name, search_dir;
    const struct object **object; /* by id */
    size_t n_objects;             /* ids are below */

    /* Run paths by their lists: neighbours mostly share one. */
    struct intern *lists;
    const char **path;
    size_t n_paths;

    bool shares_inodes; /* the table of inodes is not empty */
    struct err err;     /* the first thing that went wrong inside */
};

/* The object of row `id`, fetched once. NULL: the index is damaged. */
const struct object *index_world_object(struct index_world *iw, int64_t id);

/* Room for ids up to the largest of `sql` ("SELECT max(id) ..."), whose texts `each` fetches. */
MUST_CHECK int texts_open(struct index_world *iw, struct texts *texts, const char *max,
                          const char *each);

MUST_CHECK int index_world_max(struct index_world *iw, const char *sql, size_t *ret_n);
