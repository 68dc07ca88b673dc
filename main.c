/*
 * stormlint: what the dynamic loader tries in vain, and what to do about it.
 *
 * Reading order:
 *	base/     errors, arena, strings, JSON, SQLite door
 *	scanner/  what is: ELF facts, store walk, the index
 *	loader/   what the loader would do: a pure function over a world
 *	linter/   what is wrong: rules, findings, formats
 *	planner/  what to do: strategies propose edits, the simulator disposes
 *	audit/    what was: audit files, differences, reports
 *	check/    the real loader under strace, compared call for call
 *	server/   the index over HTTP: one table of routes, a handler each
 *	cli/      one file a command; this file only lists them
 */
#include "cli/command.h"

#include <stddef.h>

static const struct command *const commands[] = {
    // clang-format off
    &cmd_scan,
    &cmd_storm,
    &cmd_trace,
    &cmd_check,
    &cmd_plan,
    &cmd_apply,
    &cmd_compare,
    &cmd_criteria,
    &cmd_policies,
    &cmd_calibrate,
    &cmd_lint,
    &cmd_rules,
    &cmd_audit,
    &cmd_diff,
    &cmd_report,
    &cmd_merge,
    &cmd_gc,
    &cmd_hydra,
    &cmd_pull,
    &cmd_syspath,
    &cmd_serve,
    NULL,
    // clang-format on
};

int main(int argc, char **argv)
{
    return command_main("stormlint", commands, argc, argv);
}
