/*
 * The limits of a comparison on the command line: for diff and report.
 */
#pragma once

#include "audit/diff.h"
#include "cli/options.h"

/* A child parser; its input is a struct diff_limits that starts as DIFF_LIMITS. */
extern const struct argp diffing_argp;

/* For a parser whose only child is that one; it sets child_inputs[0] to its limits. */
extern const struct argp_child diffing_children[];

/*
 * A command about audits, from its command line on: the arguments are parsed and handed to `work`,
 * with an arena that lives as long. Returns its exit code; an error it left is logged.
 */
int diffing_run(const struct argp *argp, int argc, char **argv, void *arguments,
                int (*work)(const void *arguments, struct arena *arena, struct err *err));
