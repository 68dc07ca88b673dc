/*
 * stormlint-apply: what a build needs, and nothing else. The same commands as in stormlint, without
 * those that keep an index: no_db.c stands in place of SQLite, and nothing listens.
 */
#include "cli/command.h"

#include <stddef.h>

static const struct command *const commands[] = {
    // clang-format off
    &cmd_apply,
    &cmd_lint,
    &cmd_plan,
    &cmd_trace,
    NULL,
    // clang-format on
};

int main(int argc, char **argv)
{
    return command_main("stormlint-apply", commands, argc, argv);
}
