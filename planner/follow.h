/*
 * Following wrappers: which program a path becomes when it is started, and with which environment.
 */
#pragma once

#include "planner/subject.h"

/* A program to be planned. */
struct program {
    const char *path;
    const char *const *env; /* NAME=VALUE, what its wrapper sets put in */
    size_t n_env;
    const char *wrapper; /* the outermost wrapper; NULL: none */
    int kind;            /* enum subject_kind: 0, a program */
};

/*
 * The program that `start` (a path and the environment it is started with) becomes. A path that is
 * a program itself, or leads nowhere, is returned as it is; a script that cannot be followed is an
 * error that says why.
 */
MUST_CHECK int program_follow(struct world *world, const struct program *start, struct arena *arena,
                              struct program *ret_program, struct err *err);

/*
 * The subject that a file is, or what it becomes as a wrapper. The query asks everything but the
 * program and is completed by what the wrapper sets.
 */
MUST_CHECK int subject_follow(struct subject *ret_subject, struct subject_query *query,
                              const char *path, struct arena *arena, struct err *err);
