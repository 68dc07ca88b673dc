/*
 * What programs are known to dlopen beside what their files declare: the policy's list.
 */
#pragma once

#include "loader/loader.h"
#include "planner/policy.h"

/*
 * A program's dlopens by policy->plugins, files of a pattern sorted by bytes. A name without a
 * slash stays as it is; a path that is not absolute starts in the program's `package` (NULL: it has
 * none); *, ? and [] in a path stand for the files that are there.
 */
void plugins_find(const struct policy *policy, struct world *world, const char *package,
                  struct arena *arena, struct dlopen_call **ret_call, size_t *ret_n);
