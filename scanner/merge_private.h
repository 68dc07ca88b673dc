/*
 * What the files of merging share, nobody else.
 */
#pragma once

#include "scanner/index_private.h"
#include "scanner/merge.h"

enum merge_sql_id {
    MERGE_STORES,
    MERGE_PARTS,
    MERGE_PACKAGES,
    MERGE_DIRECTORIES,
    MERGE_OBJECTS,
    MERGE_LDSOS,
    MERGE_INODES,
    MERGE_PROBLEMS,
    MERGE_REFERENCES,
    MERGE_EMPTY_DIRECTORIES,
    MERGE_ORIGINS,
    MERGE_NAME,
    MERGE_SEARCH_DIR,
    MERGE_RUN_PATH,
    MERGE_COLUMN,
};

/* Columns of MERGE_PACKAGES. */
enum {
    P_ID,
    P_STORE,
    P_BASE,
    P_STATE,
    P_NAR_HASH,
    P_MARK,
    P_FILES,
    P_OBJECTS,
    P_MACHO,
    P_TARGET,
    P_NAME,
    P_PNAME,
    P_VERSION,
    P_OUTPUT,
    P_FIRST,
    P_HASH,
    P_NAR_SIZE,
    P_KIND
};

/* A store of the new index. */
struct merged_store {
    int64_t id;
    const char *path, *root; /* root "": not the same in all inputs */
    int64_t changed;         /* 0: likewise */
    const char *place;       /* the first one seen */
    bool places;             /* there is another one */
};

/* An edition of a package, as one input has it. What decides between two stands in this order. */
struct edition {
    int rank;             /* of its state */
    const char *nar_hash; /* NULL: none */
    int64_t mark, files, objects, macho;
    const char *names; /* target, name, pname, version, output */
    uint32_t in;       /* the input's number ... */
    int64_t id;        /* ... and the package's there */
};

struct merged_package {
    struct edition edition;  /* the winner */
    const struct name *name; /* its path */
    int64_t id;              /* in the new index */
    bool clashes;
};

struct clash {
    uint32_t package;
    struct edition edition; /* that is not the winner's, or was not at some time */
};

struct merge {
    const struct merge_options *options;
    struct merge_result *result;
    struct arena arena;
    struct db *db;
    struct index *index;

    struct merged_store *store;
    size_t n_stores;
    struct intern *packages; /* "STORE/base" by number of the store; ids number the packages */
    struct merged_package *package;
    size_t size_packages;
    struct clash *clash;
    size_t n_clashes;

    int64_t next_package;

    struct column {
        int interp, soname, needed, rpath, runpath, verneed, verdef, dlopen_string;
    } column; /* of table object, from 0 */
};

/* An input while it is read. */
struct input {
    struct merge *merge;
    struct db *db;
    const char *path;
    uint32_t number;
    struct id_map {
        int64_t *to; /* ids of the new index; 0: not asked for yet */
        size_t n;
    } name, search_dir, run_path;
    struct joined {
        int64_t id;  /* of the new index */
        bool agrees; /* with what the new index has of it */
    } * package;     /* by the input's ids */
    size_t n_packages;
};

/* Ids that an index may claim. */
enum { IDS_MAX = 1 << 28 };

/* -EINVAL: the input has an id too many. */
int input_damaged(const struct input *input, struct err *err);

struct stmt *input_prepare(struct input *input, enum merge_sql_id id, struct err *err);

/* Call `each` for every package of the input; `number` is the package's in the merge. */
MUST_CHECK int input_packages(struct input *input,
                              int (*each)(struct input *input, struct stmt *row, uint32_t number,
                                          struct err *err),
                              struct err *err);

/* The edition that a row of MERGE_PACKAGES tells of. Texts are the row's. */
struct edition edition_of(struct input *input, struct stmt *row, struct arena *arena);

/* Can both be the same content? Where nothing is known of one, they can. */
bool edition_agrees(const struct edition *a, const struct edition *b);

/* The store of the new index at `path`; NULL: none. */
struct merged_store *merge_store(struct merge *merge, const char *path);

/* The second pass: the packages whose edition this input has. */
MUST_CHECK int merge_copy(struct input *input, struct err *err);

/* Third: origins, and references and directories of packages whichever input their edition is from. */
MUST_CHECK int merge_join(struct input *input, struct err *err);
