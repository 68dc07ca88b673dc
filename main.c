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

#include <stdio.h>
#include <string.h>

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

static int print_help(FILE *to)
{
    const struct command *const *c;

    fputs("Usage: stormlint COMMAND [ARGS...]\n\nCommands:\n", to);
    for (c = commands; *c; c++)
        fprintf(to, "  %-9s %s\n", (*c)->name, (*c)->summary);
    fputs("\n'stormlint COMMAND --help' tells what a command can do.\n", to);
    return to == stdout ? EXIT_FINE : EXIT_USAGE;
}

int main(int argc, char **argv)
{
    const struct command *const *c;
    const char *name = argc > 1 ? argv[1] : NULL;

    if (!name)
        return print_help(stderr);
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
        return print_help(stdout);
    if (!strcmp(name, "--version")) {
        puts("stormlint " VERSION);
        return EXIT_FINE;
    }
    for (c = commands; *c; c++)
        if (!strcmp((*c)->name, name))
            return (*c)->run(argc - 1, argv + 1);
    fprintf(stderr, "stormlint: '%s' is no command; 'stormlint help' lists them\n", name);
    return EXIT_USAGE;
}
