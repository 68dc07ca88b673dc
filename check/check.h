/*
 * Check one program: predict its start, run it, compare.
 *
 *	struct checker *c = NULL;
 *	int r = checker_new(&options, &c, &err);
 *	r = check_program(c, "/bin/magick", &arena, &checked, &err);
 *	checker_free(c);
 *
 * Wrappers are followed: what is run is the wrapper itself, with everything it becomes; every
 * program on the way is predicted with the environment it gets and compared. A checker belongs to
 * one thread and has a private empty directory as home, working directory and place of strace's
 * output.
 */
#pragma once

#include "check/compare.h"
#include "check/strace.h"
#include "loader/follow.h"
#include "loader/loader.h"

struct check_options {
    const struct cpu *cpu;  /* must be this machine's: cpu_find("host") */
    const char *root;       /* NULL: the real one */
    const char *cwd;        /* NULL: an empty directory; with `root`: "/" */
    const char *const *env; /* what the program gets beside HOME, PATH and LC_ALL */
    size_t n_env;
    const char *const *args; /* of every program, without argv[0]; NULL: "--version" */
    size_t n_args;
    const struct dlopen_call *dlopens; /* predicted beside start-up: see struct checked */
    size_t n_dlopens;
    bool declared; /* ... and what is declared (docs/dlopen.md) */
    unsigned limit_ms;
    int interrupt; /* as in struct run */
    bool run_on;   /* let programs run to their end, or the limit, instead of stopping them */
};

enum check_result { CHECK_AGREES, CHECK_DIFFERS, CHECK_NOT_COMPARABLE };

struct checked {
    const char *program; /* as asked for, absolute */
    enum check_result result;
    const char *reason; /* why it differs, or cannot be compared */
    bool unmeasured;    /* not comparable since it could not be measured (time limit, permission),
                           not because there is nothing to compare */
    const char *note;   /* NULL, or what is remarkable beside */

    /* What the rest is about: the first hop that differs, else the last one. */
    const struct hop *hop;
    size_t n_hops;
    bool has_trace;
    struct trace predicted;
    struct start_seen measured;
    struct difference difference;

    /*
     * With dlopens and run_on: libraries that were opened after the start, by what was predicted.
     * What a program dlopens is its own affair, so this is told, and decides nothing.
     */
    const char **foreseen, **unforeseen;
    size_t n_foreseen, n_unforeseen;
    bool has_later;
};

struct checker;

MUST_CHECK int checker_new(const struct check_options *options, struct checker **ret_checker,
                           struct err *err);
void checker_free(struct checker *checker);

/* The checker's private directory. */
const char *checker_scratch(const struct checker *checker);

/*
 * What a path stands for: itself, or when it is a directory the executable files in it (links
 * followed, hidden names left out), sorted.
 */
MUST_CHECK int checker_expand(struct checker *checker, const char *path, struct arena *arena,
                              const char ***ret_program, size_t *ret_n, bool *ret_is_directory,
                              struct err *err);

/*
 * 0: `ret_checked` tells. Negative errno: nothing can be checked here (no strace, tracing is not
 * allowed), and trying the next program makes no sense.
 */
MUST_CHECK int check_program(struct checker *checker, const char *program, struct arena *arena,
                             struct checked *ret_checked, struct err *err);
