/*
 * Times that 'stormlint check --time --json' measured, for 'compare', which runs nothing itself.
 */
#pragma once

#include "base/json.h"
#include "loader/world.h"

struct check_times {
    double *wall_us; /* medians, parallel to program */
    const char **program;
    size_t n;
    unsigned runs; /* of the first one */
};

/* Read what check wrote. Texts are the arena's. */
MUST_CHECK int check_times_read(const char *path, struct arena *arena, struct check_times *ret,
                                struct err *err);

/* The time of a file, which check may have called by another path; below zero: it has none. */
double check_times_of(const struct check_times *times, struct world *world, const char *path);
