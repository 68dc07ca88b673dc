#include "cli/command.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* At exit, whoever exits: half an answer must not pass for a whole one. */
static void check_output(void)
{
    const bool lost = ferror(stdout) != 0;

    errno = 0;
    if (fflush(stdout) == 0 && !lost)
        return;
    log_error("standard output: %s", errno ? strerror(errno) : "not all of it could be written");
    _exit(EXIT_FAILED);
}

static int print_help(const char *program, const struct command *const *c, FILE *to)
{
    fprintf(to, "Usage: %s COMMAND [ARGS...]\n\nCommands:\n", program);
    for (; *c; c++)
        fprintf(to, "  %-9s %s\n", (*c)->name, (*c)->summary);
    fprintf(to, "\n'%s COMMAND --help' tells what a command can do.\n", program);
    return to == stdout ? EXIT_FINE : EXIT_USAGE;
}

static int run(const struct command *command, int argc, char **argv)
{
    CLEANUP(arena_release) struct arena arena = {0};
    void *into = arena_calloc(&arena, 1, command->size);
    struct err err = {0};
    int code;

    memcpy(into, command->start, command->size);
    if (command->flags)
        flags_parse(command->flags, argc, argv, into, &arena);
    code = command->work(into, &arena, &err);
    return code >= 0 ? code : command_failed(command_code(code), &err);
}

int command_main(const char *program, const struct command *const *commands, int argc, char **argv)
{
    const struct command *const *c;
    const char *name = argc > 1 ? argv[1] : NULL;

    if (atexit(check_output) != 0)
        abort();
    if (!name)
        return print_help(program, commands, stderr);
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
        return print_help(program, commands, stdout);
    if (!strcmp(name, "--version")) {
        printf("%s " VERSION "\n", program);
        return EXIT_FINE;
    }
    for (c = commands; *c; c++)
        if (!strcmp((*c)->name, name))
            return run(*c, argc - 1, argv + 1);
    fprintf(stderr, "%s: '%s' is no command; '%s help' lists them\n", program, name, program);
    return EXIT_USAGE;
}

enum exit_code command_code(int error)
{
    return error == -EINVAL ? EXIT_USAGE : EXIT_INCOMPLETE;
}

int command_failed(enum exit_code code, const struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};

    log_error("%s", str_escape(&arena, err->text));
    return (int)code;
}
