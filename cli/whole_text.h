/*
 * Plans of whole stores, as people and other programs read them.
 */
#pragma once

#include "cli/slices.h"
#include "planner/whole.h"

#include <stdio.h>

struct whole_view {
    FILE *to;
    bool json;          /* one plan a line, and nothing else */
    const char *output; /* a directory for one file a package; NULL: none */
    double probe_us;    /* what a failed call costs; -1: no time is told */
    const struct maintainer *whose;
    struct slices *slices; /* private */
    size_t n_problems;     /* filled: packages that could not be planned */
};

MUST_CHECK int whole_show(struct whole_view *view, struct whole *whole, struct err *err);
