/*
 * --maintainer NAME: of what a command tells, only what that one maintains.
 */
#pragma once

#include "cli/flags.h"
#include "scanner/maintainer.h"

/* --maintainer, into a struct maintainer. */
extern const struct flag whose_rows[];

/*
 * The exit code of a command that would end with `code` and of whose list `n` are left. With none
 * left it is told why, and a name that nobody here has is EXIT_INCOMPLETE: what was asked is unknown.
 */
int whose_code(const struct maintainer *maintainer, size_t n, int code);
