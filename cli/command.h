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
    const char *summary;               /* one line, for `stormlint help` */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns an exit code */
};

/*
 * main() of an executable with these commands, the last one NULL. An answer that could not be
 * written (a full disk) ends in EXIT_FAILED, whatever the command has returned.
 */
int command_main(const char *program, const struct command *const *commands, int argc, char **argv);

/*
 * A command from its line on: read it into `into`, and do the `work`. That returns an exit code, or
 * a negative errno: then the error is logged. The arena lives as long as this takes.
 */
int command_run(const struct flags *flags, int argc, char **argv, void *into,
                int (*work)(void *into, struct arena *arena, struct err *err));

/* What a negative errno means: EXIT_USAGE for -EINVAL, else EXIT_INCOMPLETE. */
enum exit_code command_code(int error);

/* Log an error and return the exit code. */
int command_failed(enum exit_code code, const struct err *err);

extern const struct command cmd_apply, cmd_check, cmd_scan, cmd_storm, cmd_trace;
extern const struct command cmd_plan, cmd_serve, cmd_syspath;
extern const struct command cmd_lint, cmd_rules, cmd_audit, cmd_diff, cmd_report, cmd_gc;
extern const struct command cmd_hydra;
extern const struct command cmd_merge;
extern const struct command cmd_pull;
extern const struct command cmd_compare, cmd_criteria, cmd_policies, cmd_calibrate;

/* What `help` says of the commands that reach other machines, wherever they are (no_net.c). */
#define SUMMARY_HYDRA "order an audit from a service: of the build that a Hydra has finished"
#define SUMMARY_PULL  "index what an evaluation of a Hydra has built"
#define SUMMARY_SERVE "the index over HTTP: JSON, metrics, pages"
