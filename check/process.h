/*
 * One process as strace showed it: the programs it ran, and what the loader did for each.
 *
 *	process   a list of starts, one for every execve() that succeeded, in order
 *	start     the calls on paths from there to the end of start-up
 *
 * The end of start-up is the first of (docs/check.md says why):
 *	- the thread pointer is set, and a call on a path other than readlink was made before: glibc
 *	  sets it when all libraries are in memory and before it relocates them (musl sets it before
 *	  it opens anything, glibc too when there are audit modules, so there it does not count);
 *	- something is sealed by mprotect(.., PROT_READ): relocation is under way;
 *	- the process is gone, or runs another program: start-up failed.
 * Up to there no instruction of the program or of its libraries has been run, so every call is the
 * loader's. Of what comes later only opens of files that are named like libraries are kept.
 */
#pragma once

#include "check/parse.h"

/* How the part that is compared ended. */
enum startup_end {
    STARTUP_OPEN,   /* not yet: nothing more was seen */
    STARTUP_DONE,   /* everything is loaded */
    STARTUP_EXITED, /* the loader gave up: `status` */
    STARTUP_KILLED, /* by `signal` */
    STARTUP_EXEC,   /* another program was run before the end was seen */
};

struct start_seen {
    const char *program; /* as given to execve() */
    struct call *call;
    bool *cut; /* of each call: strace did not print the whole path */
    size_t n_calls;
    const char **later; /* libraries opened after the end of start-up, by name: each path once */
    size_t n_later;
    enum startup_end end;
    int status;
    const char *signal;
};

struct process {
    struct arena *arena; /* everything here is allocated there */
    struct start_seen *start;
    size_t n_starts;
    size_t n_done;       /* starts whose end was seen */
    size_t failed_execs; /* execve() calls that failed */
    int exec_error;      /* errno of the last of them */
    bool stopped;        /* stands still right now, after a signal that stops */
    bool gone;
};

/*
 * Take one line in. -EINVAL: not a line of strace; -E2BIG: more calls than any start-up makes.
 * The error does not know the line's number: the caller adds it.
 */
MUST_CHECK int process_line(struct process *process, const char *text, size_t len, struct err *err);
