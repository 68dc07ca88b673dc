/*
 * Commands: one const row each, one file each (cli/cmd_NAME.c). main.c only lists them.
 */
#pragma once

#include "cli/flags.h"

/* Exit codes, the same for every command (docs/stormlint.1). */
enum exit_code {
    EXIT_FINE = 0,
    EXIT_FINDINGS = 1,   /* findings or differences */
    EXIT_USAGE = 2,      /* the command line is wrong */
    EXIT_INCOMPLETE = 3, /* some input could not be read */
    EXIT_FAILED = 4,     /* the work itself failed */
};

struct command {
    const char *name;
    const char *summary;       /* one line, for `stormlint help` */
    const struct flags *flags; /* what it takes; NULL: its line is not read */

    /*
     * What it does, with what its line was read into; the arena lives as long as this takes. It
     * returns an exit code, or a negative errno: then the error is logged.
     */
    int (*work)(void *into, struct arena *arena, struct err *err);
    size_t size;       /* of what its line is read into */
    const void *start; /* that, before anything is read */
};

/* The function that does it, the struct that its line is read into, and what does not start as 0. */
#define WORK(fn, type, ...)                                                                        \
    .work = (fn), .size = sizeof(type), .start = &(const type)                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/*
 * main() of an executable with these commands, the last one NULL. An answer that could not be
 * written (a full disk) ends in EXIT_FAILED, whatever the command has returned.
 */
int command_main(const char *program, const struct command *const *commands, int argc, char **argv);

/* What a negative errno means: EXIT_USAGE for -EINVAL, else EXIT_INCOMPLETE. */
enum exit_code command_code(int error);

/* Log an error and return the exit code. */
int command_failed(enum exit_code code, const struct err *err);

extern const struct command cmd_scan, cmd_storm, cmd_trace, cmd_check;
extern const struct command cmd_plan, cmd_apply, cmd_compare, cmd_criteria, cmd_policies;
extern const struct command cmd_calibrate, cmd_lint, cmd_rules, cmd_audit, cmd_diff, cmd_report;
extern const struct command cmd_merge, cmd_gc, cmd_hydra, cmd_pull, cmd_syspath, cmd_serve;

/* What `help` says of the commands that reach other machines, wherever they are (no_net.c). */
#define SUMMARY_HYDRA "order an audit from a service: of the build that a Hydra has finished"
#define SUMMARY_PULL  "index what an evaluation of a Hydra has built"
#define SUMMARY_SERVE "the index over HTTP: JSON, metrics, pages"
