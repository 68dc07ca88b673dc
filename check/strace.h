/*
 * Running programs under strace: the only place where other people's code is started.
 *
 *	struct run run = {.argv = argv, .cwd = scratch, .scratch = scratch, .stop_after = 1};
 *	int r = strace_run(&run, &arena, &result, &err);
 *
 * No shell is involved. The program gets exactly the environment asked for (strace itself an empty
 * one, so that LD_PRELOAD and the like do not reach it), /dev/null as input, no terminal, no core
 * file, a process group of its own and a time limit.
 *
 * With `stop_after`, strace halts the process (SIGSTOP, by its fault injection) at every system
 * call that can be the end of start-up (check/process.h). There it stands still until its line has
 * been read: at the end that was waited for it is killed, anywhere else it is sent on. So not one
 * instruction of the last program is run.
 */
#pragma once

#include "check/process.h"

struct run {
    const char *const *argv; /* ends with NULL; argv[0] is the absolute path that is executed */
    const char *const *env;  /* NAME=VALUE, nothing else is passed on */
    size_t n_env;
    const char *cwd;     /* absolute; NULL: "/" */
    const char *root;    /* NULL, or the directory that plays "/" (util-linux' unshare is needed) */
    const char *scratch; /* a private directory for strace's output */
    size_t stop_after;   /* kill at the end of start-up of this many programs; 0: never */
    unsigned limit_ms;   /* 0: none */
    int interrupt;       /* a descriptor: give up as soon as it can be read; -1: none */
};

struct run_result {
    struct process process; /* with `root`: the first start is unshare's own */
    bool timed_out;         /* killed by the time limit */
    const char *message;    /* what was written to standard error, its first bytes; "": nothing */
};

/*
 * Run one program and its successors (not its children). -ENOENT: there is no strace; -EPERM: it
 * may not trace here; -EINTR: interrupted; other negative errno: it could not be run, or did not
 * print what it should. That the program fails, or cannot be executed, is a result and no error.
 */
MUST_CHECK int strace_run(const struct run *run, struct arena *arena, struct run_result *ret_result,
                          struct err *err);
