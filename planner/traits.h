/*
 * Traits: what a method is like whatever it is applied to. Data that criteria and the comparison
 * table show; nothing here decides.
 */
#pragma once

#include "planner/strategy.h"

struct traits {
    const char *cross;       /* what deciding and carrying out needs at build time */
    const char *needs;       /* at run time; NULL: nothing that is not there everywhere */
    const char *maintenance; /* what must be carried along, and by whom */
    bool easy;               /* ... by nobody but the package's own build */
    bool glibc_fork, patchelf_change, small; /* the article's columns: UPSTREAM's comparison */
};

const struct traits *traits_of(enum method method);
