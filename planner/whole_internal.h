/*
 * What the files of planner/whole.h share, nobody else.
 */
#pragma once

#include "base/db.h"
#include "loader/world_index.h"
#include "planner/whole.h"

/* ---- whole_list.c: what there is */

struct whole_list {
    const char **package; /* those that have objects, by path; the arena's */
    uint32_t *n_objects;
    size_t n;
    uint32_t *turn; /* indexes: the largest first, so that none of them is left to one thread */
};

/* Of what `whose` wants; NULL: all. */
MUST_CHECK int whole_list(struct db *db, const struct policy *policy, struct maintainer *whose,
                          struct arena *arena, struct whole_list *ret_list, struct err *err);

/* ---- whole_start.c: readers of the index, and starts */

/* One thread's view of the index. */
struct whole_reader {
    struct db *db;
    struct world *world; /* NULL: it could not be opened */
    size_t n_seen;       /* packages that this world was asked for */
    struct err err;      /* why not */
};

/* Never NULL. */
struct whole_reader *whole_reader_open(const char *db);
void whole_reader_close(struct whole_reader *reader);
void whole_reader_closep(struct whole_reader **reader);

/*
 * Make it ready for a look at `n` packages more. Nothing taken from its world before holds any
 * longer: what has seen enough forgets, so that it does not grow into the whole store.
 */
MUST_CHECK int whole_reader_next(struct whole_reader *reader, size_t n, struct err *err);

/* Starts over one world; the loader is kept from one to the next. */
struct whole_starts {
    struct world *world;
    const struct policy *policy; /* tells of plugins, and what loaders are in an overlay */
    struct arena *facts;         /* of those loaders; NULL: loaders are what they are */
    struct cpu cpu;
    struct loader *loader; /* NULL: none yet */
};

/* A program with all its dlopens, declared ones and the policy's, which are kept in `arena`. */
struct start whole_start_of(const struct policy *policy, struct world *world, const char *path,
                            struct arena *arena);

/* Start it. */
MUST_CHECK int whole_start(struct whole_starts *starts, const char *cpu, const char *path,
                           struct storm *ret_storm, struct storm *ret_dlopen, struct err *err);
void whole_starts_release(struct whole_starts *starts);

/* An object of a plan that has edits. */
struct whole_edited {
    const char *path; /* the file */
    size_t object;    /* of the plan */
    enum subject_kind kind;
    enum method method;
    struct edits edits;     /* none when they were taken back ... */
    const char *taken_back; /* ... for this program's sake; else NULL */
};

/* The edits of a package over a world; what they change is kept in `arena`. */
MUST_CHECK int whole_lay(const struct whole_package *package, struct world *overlay,
                         struct arena *arena, struct err *err);

/* The programs of a package, started with its edits by the policy's loaders. */
MUST_CHECK int whole_start_own(struct whole_package *package, struct world *world,
                               const struct policy *policy, struct err *err);

/* ---- whole_package.c: one package, planned in a reader's thread */

struct whole_planned {
    size_t n;                     /* of the list */
    struct whole_package package; /* borrowed from the arena */
    size_t n_objects[N_SUBJECT_KINDS][N_METHODS];
    char *text; /* the plan's JSON, malloc()ed; NULL: none, or it is not wanted */
    struct arena arena;
};

struct whole_work {
    const struct whole_query *query;
    const struct whole_list *list;
    const struct name_set *needed;
};

/* Never fails: why a package cannot be planned is the package's problem. */
struct whole_planned *whole_plan_package(const struct whole_work *work, struct whole_reader *reader,
                                         size_t n);
void whole_planned_free(struct whole_planned *planned);

/* ---- whole_settle.c: no program may get worse */

MUST_CHECK int whole_settle(struct whole *whole, const struct whole_query *query, struct err *err);
