/*
 * stormlint check PROGRAM...: many programs, several at a time, told in the order they were given.
 */
#pragma once

#include "check/check.h"

enum { CHECK_MAX_JOBS = 64 };

struct programs_options {
    const struct check_options *check;
    const char *const *program; /* programs and directories of them; none with `plan` */
    size_t n_programs;
    const char *plan;   /* a plan file, whose programs are checked; NULL: none */
    const char *output; /* "NAME=DIR": where the plan's output is now; NULL: where it was */
    unsigned jobs;      /* at a time, at most CHECK_MAX_JOBS; 0: 1 */
    unsigned rounds;    /* timed runs of each; 0: not timed */
    const char *before; /* the unedited program, with `plan` the unedited package; NULL: not told */
    bool json, quiet;   /* quiet: programs that agree are not told */
};

/* Check and print them all, and return the exit code. Failures are logged. */
int check_programs(const struct programs_options *options);
