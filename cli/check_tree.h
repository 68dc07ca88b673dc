/*
 * stormlint check --tree -- COMMAND: what a command and everything it starts cost.
 */
#pragma once

#include "check/check.h"

struct tree_options {
    const struct check_options *check; /* its limit, directory and interruption count */
    const char *const *env;            /* --env: beside our own environment */
    size_t n_env;
    const char *const *word; /* the command */
    size_t n_words;
    bool json;
    size_t top; /* programs listed; 0: all */
};

/* Run, add up, print. Returns the exit code. */
int check_tree(const struct tree_options *options);
