/*
 * stormlint check --plan PLAN: is what was applied what was planned?
 *
 * The real loader's calls are compared with the prediction as for any program; here the prediction
 * is held against the plan, on every CPU level that it speaks of.
 */
#pragma once

#include "base/arena.h"

struct plan;
struct plan_object;

/* A program that a plan speaks of, and where it is. */
struct planned {
    const char *program;
    const struct plan *plan;
    const struct plan_object *object;
};

struct planned_list {
    struct planned *item; /* programs */
    size_t n, n_others;   /* others: libraries and plugins, which no loader starts */
};

/*
 * The programs of a plan file: where they were when it was made, or with `where` ("NAME=DIR") in
 * that output's directory.
 */
MUST_CHECK int check_plan_read(const char *path, const char *where, struct arena *arena,
                               struct planned_list *ret_list, struct err *err);

/*
 * Does the program start as planned, by the model, on every level? NULL: it does; else a sentence.
 * `ret_note`: what was promised, in half a sentence.
 */
const char *check_plan_holds(const struct planned *planned, struct arena *arena,
                             const char **ret_note);

/*
 * The program as it was before the plan was carried out: in the package `before`, or where it was
 * when the plan was made (NULL), if it is there still. NULL: it is not to be had, and why.
 */
const char *check_plan_unedited(const struct planned *planned, const char *before,
                                struct arena *arena, const char **ret_why);
