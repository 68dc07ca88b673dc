/*
 * What programs are known to dlopen beside what their files declare: the policy's list.
 */
#pragma once

#include "planner/subject.h"

/*
 * The subject's dlopens by policy->plugins, files of a pattern sorted by bytes. A name without a
 * slash stays as it is; a path that is not absolute starts in the program's package; *, ? and []
 * in a path stand for the files that are there. Libraries and roots have none. Memory is the
 * subject's arena's.
 */
void plugins_find(const struct subject *subject, struct dlopen_call **ret_call, size_t *ret_n);
