/*
 * The limits of a comparison on the command line: for diff and report.
 */
#pragma once

#include "audit/diff.h"
#include "cli/options.h"

/* A child parser; its input is a struct diff_limits that starts as DIFF_LIMITS. */
extern const struct argp diffing_argp;
