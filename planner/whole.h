/*
 * Whole stores: every package of an index planned, and what becomes of every start.
 *
 *	r = whole_plan(&(struct whole_query){.db = path, .policy = p, .n_threads = 2}, &whole,
 *&err); whole.package[i].plan ...	one self-contained plan a package, in the order of paths
 *	whole.program[i] ...		a start as built, and with more and more planned
 *	whole_release(&whole);
 *
 * Packages are planned side by side, each on its own; the result does not depend on how many
 * threads there are. An index holds no scripts: wrappers in it are not followed, and programs are
 * planned without the environment that wrappers would set.
 */
#pragma once

#include "planner/package.h"

struct whole_query {
    const char *db; /* the index */
    const struct policy *policy;
    const char *cpu;            /* NULL: the policy's */
    unsigned n_threads;         /* 0: in the caller's */
    bool programs_only;         /* libraries and roots stay as they are */
    const char *const *package; /* store paths; NULL: all */
    size_t n_packages;
};

struct whole_package {
    const char *path;
    struct plan plan;
    const char *problem; /* NULL, or why it could not be planned */
    struct arena arena;  /* owns the plan */
};

/* One program's start on the policy's CPU, and its declared dlopens. */
struct whole_program {
    const char *path;
    const struct plan_object *object;
    const char *cpu; /* the plan's */
    struct storm before, before_dlopen;
    struct storm alone;               /* the program's own edits */
    struct storm own, own_dlopen;     /* its package planned */
    struct storm whole, whole_dlopen; /* every package planned */
};

struct whole {
    struct arena arena;
    struct whole_package *package;
    size_t n_packages;
    struct whole_program *program;
    size_t n_programs;
};

/* Does it fail more calls than as built, declared dlopens counted? */
bool whole_is_worse(const struct whole_program *program);

MUST_CHECK int whole_plan(const struct whole_query *query, struct whole *ret_whole,
                          struct err *err);
void whole_release(struct whole *whole);

/* The names that objects of an index need; texts are the arena's. */
MUST_CHECK int whole_needed(struct db *db, struct world *world, struct arena *arena,
                            struct name_set *ret_set, struct err *err);

/* Numbers of one column of a list of programs. */
struct whole_sum {
    uint64_t failed_opens, failed_stats;
    uint32_t median; /* of failed opens */
};

enum whole_column { WHOLE_BEFORE, WHOLE_ALONE, WHOLE_OWN, WHOLE_ALL, N_WHOLE_COLUMNS };

struct whole_sum whole_sum(const struct whole *whole, enum whole_column column);
