/*
 * Following: from the file that a user names to the program that a loader starts (loader/follow.h),
 * in a command's setting.
 */
#pragma once

#include "cli/options.h"
#include "loader/follow.h"

struct followed {
    struct start start; /* of the program at the end of the way */
    struct way way;
    const char **set; /* NAME=VALUE that was set on the way, besides the options' environment */
    size_t n_set;
};

/*
 * Follow `program` in the setting's world, with the options' environment. What changes the working
 * directory on the way changes the setting's. Negative errno: a script that cannot be started.
 */
MUST_CHECK int follow(const struct options *options, struct setting *setting, const char *program,
                      struct arena *arena, struct followed *ret_followed, struct err *err);
