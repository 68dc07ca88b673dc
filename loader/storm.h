/*
 * Storms: the totals of many programs, ranked, and kept beside the index.
 *
 * A program's storm is what its start costs: struct storm of trace.h. Here are rows of them, one a
 * program, worst first.
 */
#pragma once

#include "base/db.h"
#include "loader/loader.h"

/*
 * The loader model's version: storms recorded by another are computed anew. Raised whenever a
 * change of the rules can change a number.
 */
enum { STORM_MODEL = 3 };

struct storm_row {
    const char *program; /* the path it was started by */
    struct storm storm, dlopen;
    enum trace_exit exit;
    const char *exit_text;
    const char *started; /* behind wrappers, or running a script; NULL: `program` itself */
    const char **set;    /* NAME=VALUE that wrappers set: n_set */
    size_t n_set;
    const char *not_followed; /* NULL, or why a script's way was not followed to its end */

    bool assumed; /* the trace rests on assumptions */
    /* NULL, or "profile unknown, assumed ...": every output shows it */
    const char *profile_assumed;
    const struct origin *origin; /* of its package; NULL: not known, or not asked */
};

/* The row of a trace; texts are borrowed from it. */
struct storm_row storm_row(const struct trace *trace);

/* What rows are ranked by: failed opens and stats together, start-up only. */
uint64_t storm_failed(const struct storm *storm);

/* Worst first; equal ones by path. */
void storm_rank(struct storm_row *row, size_t n);

/* Add one storm to a sum, at most to UINT32_MAX. Objects and directories are added too. */
void storm_add(struct storm *sum, const struct storm *storm);

/* ---- storm_db.c: programs of an index, and the storms it remembers */

/* One program of an index. */
struct indexed_program {
    int64_t id;       /* its object */
    const char *path; /* in its package */
};

/* All of them, in the order of ids. */
MUST_CHECK int storm_programs(struct db *db, struct arena *arena,
                              struct indexed_program **ret_program, size_t *ret_n, struct err *err);

/* What a storm was computed for. */
struct storm_key {
    const char *cpu;
    const char *scenario; /* "": the plain start; else what was set, one a line */
    int64_t generation;   /* of the index that was looked at */
};

/*
 * The storms that were computed by this model from the index as it is now, in the order of program
 * ids. They are all or nothing: *ret_n is 0 when one program has none.
 */
MUST_CHECK int storm_recall(struct db *db, const struct storm_key *key, struct arena *arena,
                            struct storm_row **ret_row, size_t *ret_n, struct err *err);

/*
 * Keep `row[i]`, the storm of `program[i]`, in the place of what was known under that key. Does
 * nothing when the index is another by now.
 */
MUST_CHECK int storm_remember(struct db *db, const struct storm_key *key,
                              const struct indexed_program *program, const struct storm_row *row,
                              size_t n, struct err *err);

/*
 * The programs that go by `name` in the bin and libexec directories of an index shown by `world`:
 * the file that the name leads to, or where that is a script, the program it wraps by nixpkgs'
 * custom (.NAME-wrapped beside it). Paths without links, each once, sorted.
 */
MUST_CHECK int storm_find(struct db *db, struct world *world, const char *name, struct arena *arena,
                          const char ***ret_path, size_t *ret_n, struct err *err);

/* Every SQL text of this file, for the test that prepares them all; ends with NULL. */
extern const char *const storm_sql[];
