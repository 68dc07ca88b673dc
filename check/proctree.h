/*
 * The storm of a whole process tree: a command and everything it starts, measured.
 *
 *	make -j2: 312 programs started, 41,000 failed opens on the way
 *
 * Only start-up is counted (check/process.h), of every program that any process of the tree runs.
 */
#pragma once

#include "check/strace.h"

struct proctree_row {
    const char *program; /* as given to execve() */
    size_t starts;
    size_t failed_starts; /* starts that did not get to the end of start-up */
    struct storm storm;   /* sum over all starts; `objects` and `directories` are not measured */
};

struct proctree {
    struct proctree_row *row; /* most failed calls first */
    size_t n;
    struct proctree_row sum; /* program: NULL */
    size_t processes;        /* that ran or became a program, or were forked */
    size_t failed_execs;     /* execve() calls that failed: searching in PATH */
    bool ended;              /* killed before its end: what came until then is counted */
    bool interrupted;        /* ... by `run->interrupt`, not by the time limit */
    int status;              /* the command's exit status; 128 + signal when killed */
};

/*
 * Run it to its end, the time limit, or an interruption. `run->stop_after` and
 * `run->root` are not used; its output goes to our standard error. Errors as of strace_run().
 */
MUST_CHECK int proctree_run(const struct run *run, struct arena *arena, struct proctree *ret_tree,
                            struct err *err);

/* Add what one process did; for tests. */
void proctree_add(struct proctree *tree, const struct process *process, struct arena *arena);

/* Rank rows and sum them up, after the last proctree_add(). */
void proctree_finish(struct proctree *tree);
