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
    unsigned rounds;    /* runs of each */
};

/* Time a program, in turns with the unedited one. `ret_timed` has room for two, in that order. */
MUST_CHECK int check_time(const struct time_options *options, struct arena *arena,
                          struct timed *ret_timed, struct err *err);

/* `n` columns, 1 or 2: the program as it is, and what it was. */
void check_time_text(FILE *to, const struct timed *timed, size_t n, unsigned rounds);
json_t *check_time_json(const struct timed *timed, size_t n, unsigned rounds);
