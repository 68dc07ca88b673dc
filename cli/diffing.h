/*
 * The limits of a comparison on the command line: for diff and report.
 */
#pragma once

#include "audit/diff.h"
#include "cli/command.h"

/* Into a struct diff_limits, which starts as DIFF_LIMITS. */
extern const struct flag diffing_rows[];
