/*
 * strace as a child process: its command line, its surroundings.
 */
#pragma once

#include "check/strace.h"

#include <sys/types.h>

struct spawned {
    pid_t pid;   /* strace's, and its process group's and session's; <= 0: not started */
    int pidfd;   /* -1: not started */
    int text_fd; /* standard error of strace and program, to be read; -1: it is ours */
};

/*
 * Start strace writing to `output`: a FIFO, or with `tree` (follow all children) the beginning of
 * one file name per process. `ret_spawned` is set on failure too, but for -ENOENT (no strace).
 */
MUST_CHECK int spawn_strace(const struct run *run, const char *output, bool tree,
                            struct arena *arena, struct spawned *ret_spawned, struct err *err);

/* The first file `name` in $PATH that can be executed; NULL: none. */
const char *spawn_find(struct arena *arena, const char *name);
