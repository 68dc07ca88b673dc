/*
 * Following: from the file that a user names to the program that a loader starts.
 *
 * Packages wrap their programs: a script or a small program sets the environment and becomes the
 * real one. Where such a wrapper can be followed, its program is what is looked at, with what the
 * wrapper sets.
 */
#pragma once

#include "cli/options.h"

struct wrapped {
    const char *path;  /* of the wrapper */
    const char *shell; /* the interpreter of a script; NULL: a program by itself */
};

struct followed {
    struct start start; /* of the program at the end */
    struct wrapped *wrapper;
    size_t n_wrappers; /* outermost first; 0: `program` is no wrapper */
};

/*
 * Follow `program` in the setting's world, with the options' environment. A wrapper that changes
 * the working directory changes the setting's. -ENOTSUP: a script that cannot be followed.
 */
MUST_CHECK int follow(const struct options *options, struct setting *setting, const char *program,
                      struct arena *arena, struct followed *ret_followed, struct err *err);
