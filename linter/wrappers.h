/*
 * Wrappers: which programs of a closure are started with an environment that one of their own
 * package sets. An index holds no scripts, and so no wrappers.
 */
#pragma once

#include "linter/closure.h"

struct wrapper {
    const char *path;
    struct lint_package *package;
    const char *program;    /* whose loader runs in the end */
    bool is_script;         /* ... for a script: the environment is that one's, not the program's */
    const char *const *env; /* NAME=VALUE, as the program gets it; of the caller's: nothing */
    size_t n_env;
};

struct wrappers {
    struct wrapper *item; /* by path */
    size_t n;
};

/*
 * The wrappers in bin, sbin and libexec of the selected packages; each program that the first one
 * of its own package starts has it as its `wrapper` afterwards. Memory is the closure's.
 */
void wrappers_find(struct closure *closure, struct wrappers *ret_wrappers);

/* What it sets LD_LIBRARY_PATH to; NULL: nothing. */
const char *wrapper_library_path(const struct wrapper *wrapper);
