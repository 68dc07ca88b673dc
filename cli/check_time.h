/*
 * stormlint check --time N: what a start costs, beside the unedited program's.
 */
#pragma once

#include "base/json.h"
#include "base/term.h"
#include "check/check.h"
#include "check/timing.h"

#include <stdio.h>

struct time_options {
    const struct check_options *check;
    const char *program;
    const char *before; /* the unedited program; NULL: none */
    const char *alone;  /* why there is none */
    unsigned rounds;    /* runs of each */
};

/* What was measured: the program as it is, and what it was. */
struct times {
    struct timed timed[2];
    size_t n;
    unsigned rounds;
    const char *alone;  /* n is 1: why it is compared with none */
    const char *failed; /* n is 0: why nothing was measured */
};

/* Time a program, in turns with the unedited one. `alone` is what was told. */
MUST_CHECK int check_time(const struct time_options *options, struct arena *arena,
                          struct times *ret_times, struct err *err);

void check_time_text(FILE *to, const struct times *times);
json_t *check_time_json(const struct times *times);
