/*
 * Whole stores: every package of an index planned, and what becomes of every start.
 *
 *	r = whole_plan(&(struct whole_query){.db = path, .policy = p, .n_threads = 2}, &whole, &err);
 *	whole.package[i].program[k] ...		a start as built, and with more and more planned
 *	r = whole_tell(&whole, write_one, data, &err);	the plans, in the order of paths
 *	whole_release(&whole);
 *
 * Packages are planned side by side, each on its own; then every program is started over one world
 * with the edits of all, and edits that make one worse are taken back. The result does not depend
 * on how many threads there are. An index holds no scripts: wrappers in it are not followed, and
 * programs are planned without the environment that wrappers would set.
 *
 * Of one maintainer's packages alone, the same is asked of these and no others: "every package" is
 * each of them, and only their own programs are kept from getting worse.
 *
 * What a store has of packages decides the time alone: worlds forget what they have seen after so
 * many packages, and of a plan only what settling asks for stays in memory, some KB: its edits, the
 * starts of its programs and what was decided for them. The plans themselves, some 100 KB of JSON,
 * wait in a temporary file (base/spill.h), if they are wanted at all. They are written as if nobody
 * else's plans mattered, which is so for nearly all; into the others, what settling found out is
 * put on their way out. To plan again instead would need no file, but twice the time.
 */
#pragma once

#include "base/progress.h"
#include "planner/package.h"
#include "scanner/maintainer.h"

/* Are plans to be told? None: nothing but numbers is kept. */
enum whole_plans { WHOLE_NO_PLANS, WHOLE_LINES, WHOLE_INDENTED };

struct whole_query {
    const char *db; /* the index */
    const struct policy *policy;
    const char *cpu;          /* NULL: the policy's */
    struct maintainer *whose; /* whose packages alone, which are noted here; NULL: all */
    unsigned n_threads;       /* 0: in the caller's */
    enum whole_plans plans;
    struct progress *progress; /* may be NULL */
};

/* One program's start on the policy's CPU, and its declared dlopens. */
struct whole_program {
    const char *path;
    size_t object;                                /* of its package's plan */
    const char *cpu;                              /* the plan's */
    const char *strategy, *scope, *rule, *reason; /* as in its plan */
    struct storm before, before_dlopen;
    struct storm alone;               /* the program's own edits */
    struct storm own, own_dlopen;     /* its package planned */
    struct storm whole, whole_dlopen; /* every package planned */
};

struct whole_edited; /* planner/whole_internal.h */

struct whole_package {
    const char *path;
    const char *problem; /* NULL, or why it could not be planned */
    struct whole_program *program;
    size_t n_programs;

    /* private: its objects that have edits, and where its plan waits */
    struct whole_edited *edited;
    size_t n_edited;
    uint64_t at;
    size_t len; /* 0: there is none */
};

struct whole {
    struct whole_package *package; /* by path */
    size_t n_packages, n_programs;
    size_t n_objects[N_SUBJECT_KINDS][N_METHODS]; /* what was decided for how many */

    /* private */
    struct arena arena;
    struct intern *texts;
    struct spill *spill;
    bool indented;
};

/* Does it fail more calls than as built, declared dlopens counted? */
bool whole_is_worse(const struct whole_program *program);

MUST_CHECK int whole_plan(const struct whole_query *query, struct whole *ret_whole,
                          struct err *err);
void whole_release(struct whole *whole);

/* Every package's plan, as JSON text borrowed for the call. Ends when `each` fails. */
MUST_CHECK int whole_tell(struct whole *whole,
                          int (*each)(void *data, const struct whole_package *package,
                                      const char *text, size_t len, struct err *err),
                          void *data, struct err *err);

/* The names that objects of an index need; texts are the arena's. */
MUST_CHECK int whole_needed(struct db *db, struct arena *arena, struct name_set *ret_set,
                            struct err *err);

/* Numbers of one column of the programs. */
struct whole_sum {
    uint64_t failed_opens, failed_stats;
    uint32_t median; /* of failed opens */
};

enum whole_column { WHOLE_BEFORE, WHOLE_ALONE, WHOLE_OWN, WHOLE_ALL, N_WHOLE_COLUMNS };

struct whole_sum whole_sum(const struct whole *whole, enum whole_column column);
