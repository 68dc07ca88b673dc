/*
 * Timing starts: how long they take, what memory they touch, what the loader itself says of them.
 *
 *	struct timed t[2] = {{.program = old}, {.program = new}};
 *	r = timing_run(&(struct timing){.timed = t, .n_timed = 2, .rounds = 21, ...}, &arena, &err);
 *
 * Programs are run to their end, in turns, so that what the machine does meanwhile meets all alike;
 * medians are what counts. The loader's statistics (LD_DEBUG=statistics) come from further runs of
 * their own, since printing them takes time.
 *
 * glibc prints its cycles without their last digit on all versions that were looked at (2.36 and
 * 2.41: 1,103,758 for what takes 4.8 ms at 2.3 GHz). That is put right, unless the time would then
 * be longer than the whole run.
 */
#pragma once

#include "base/arena.h"

/* Medians of one program. Times in microseconds. */
struct timed {
    const char *program; /* absolute */
    double wall_us, user_us, system_us;
    double minor_faults, major_faults;
    double memory_kib; /* largest resident set */
    bool has_loader;   /* the loader printed statistics */
    double loader_us, relocation_us, load_us;
    uint64_t file_bytes; /* of the program's file */
    int status;          /* wait status of the last run */
};

struct timing {
    struct timed *timed;
    size_t n_timed;
    unsigned rounds;         /* runs of each program */
    const char *const *args; /* without argv[0], ends with NULL; NULL: "--version" */
    const char *const *env;  /* NAME=VALUE, ends with NULL: all they get */
    const char *cwd;
    const char *scratch; /* a private directory */
    unsigned limit_ms;   /* of one run; 0: none */
    int interrupt;       /* a descriptor: give up as soon as it can be read; -1: none */
};

/* -ETIMEDOUT: a run was ended by the limit; -EINTR: interrupted; other negative errno: it could not be run. */
MUST_CHECK int timing_run(const struct timing *timing, struct arena *arena, struct err *err);

/* The three numbers of what the loader printed; for tests. False: they are not there. */
bool timing_parse(const char *text, double *ret_total, double *ret_relocation, double *ret_load);
