/*
 * Following: from the file that somebody starts to the program whose loader runs
 * (docs/wrappers.md).
 *
 *	r = way_follow(world, &(struct hop){.exec = "/bin/app", .cwd = "/"}, &arena, &way, &err);
 *	way.hop[way.n - 1].program is what is left to predict, with .env and .cwd
 *
 * A script is started by the program that its first line names; shell scripts that do nothing but
 * set the environment and exec, programs of makeBinaryWrapper, env, sbang and Guix' scripts become
 * another one. Each of these is a hop: one execve(), one start of a loader. Nothing is run.
 */
#pragma once

#include "loader/world.h"

enum { HOPS_MAX = 16 };

/* One program on the way. */
struct hop {
    const char *exec;    /* as given to execve() */
    const char *program; /* whose loader runs: `exec`, or what runs the script that `exec` is */
    const char *how;     /* how it becomes the next hop: "a script for '/bin/sh'"; last one: NULL */
    const char *const *env; /* NAME=VALUE, as the program gets it */
    size_t n_env;
    const char *cwd;
    const char **arg; /* known arguments; the user's own follow */
    size_t n_args;
};

struct way {
    struct hop hop[HOPS_MAX];
    size_t n;         /* at least 1 */
    const char *stop; /* NULL, or why nothing is said of what the last hop's script does */
    bool unfollowed;  /* ... although it may be a wrapper: the last hop may not be the last one */
};

/*
 * Follow `from`, of which exec, env and cwd (absolute) are set. What leads nowhere is the last hop,
 * for others to say what is wrong with it. -ENOENT, -ELOOP and the like: a script's interpreter
 * cannot be started; -ELOOP: more than HOPS_MAX hops.
 */
MUST_CHECK int way_follow(struct world *world, const struct hop *from, struct arena *arena,
                          struct way *ret_way, struct err *err);
