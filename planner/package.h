/*
 * Packages: the programs of a store path, and one plan for all of them.
 *
 * All programs of an output share its farm. Where two of them want the same name to lead to
 * different files, the later one gets a farm of its own.
 */
#pragma once

#include "planner/follow.h"
#include "planner/plan.h"

/*
 * Every program (an ELF file that names its loader) below a directory, by path, each file once;
 * links are not followed. Wrappers in it tell the environment of what they wrap. `path` may also be
 * a program or a wrapper itself: then it is what that becomes. Fails when it cannot be looked at,
 * or when there is too much in it.
 */
MUST_CHECK int package_programs(const struct subject_query *query, const char *path,
                                struct arena *arena, struct program **ret_program, size_t *ret_n,
                                struct err *err);

/*
 * Decide for each program and put it into one plan. All programs must be of one package (or there
 * is only one). `query` says everything but the program. -ENODATA: none of them is ever started,
 * as far as can be told (libraries whose run paths lead to no loader, or none at all).
 */
MUST_CHECK int package_plan(const struct subject_query *query, const struct program *program,
                            size_t n, struct arena *arena, struct plan *ret_plan, struct err *err);
