/*
 * stormlint-apply: what a build needs, and nothing else. The same commands as in stormlint, without
 * those that keep an index: no_db.c stands in place of SQLite, and nothing listens.
 */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
    // clang-format off
    &cmd_apply,
    &cmd_lint,
    &cmd_plan,
    &cmd_trace,
    NULL,
    // clang-format on
};

static int print_help(FILE *to)
{
    const struct command *const *c;

    fputs("Usage: stormlint-apply COMMAND [ARGS...]\n\nCommands:\n", to);
    for (c = commands; *c; c++)
        fprintf(to, "  %-9s %s\n", (*c)->name, (*c)->summary);
    return to == stdout ? EXIT_FINE : EXIT_USAGE;
}

int main(int argc, char **argv)
{
    const struct command *const *c;
    const char *name = argc > 1 ? argv[1] : "";

    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
        return print_help(stdout);
    if (!strcmp(name, "--version")) {
        puts("stormlint-apply " VERSION);
        return EXIT_FINE;
    }
    for (c = commands; *c; c++)
        if (!strcmp((*c)->name, name))
            return (*c)->run(argc - 1, argv + 1);
    if (!*name)
        return print_help(stderr);
    fprintf(stderr, "stormlint-apply: '%s' is no command; 'stormlint-apply help' lists them\n",
            name);
    return EXIT_USAGE;
}
