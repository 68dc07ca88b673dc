/*
 * Random samples: a small closure of real ELF files and one way to start its program.
 *
 * Everything that docs/loader.md knows rules for can be in it: links, loops, duplicates, files
 * that are no library, tokens, run paths of both kinds, caches, preloads, hwcaps directories,
 * users who may not look. Equal seeds and settings give equal samples.
 */
#pragma once

#include "loader/loader.h"
#include "tests/tree.h"

/* What the loader at hand knows: so that samples go where it looks. */
struct sample_settings {
    const char *loader_file; /* copied (or linked) into every tree */
    const char *interp;      /* where it goes, or a link to it */
    const char *loader_name; /* NULL, or its own name beside the link: "ld-2.31.so" */
    const struct ldso *ldso;
    int version;       /* glibc: 36; musl: 0 */
    const char **libc; /* files of its C library, for programs that call dlopen() */
    size_t n_libc;
    bool any_user; /* other users than root can be tried, and set-id programs */
    /* Bytes that decide before the random numbers do, for fuzzers; NULL: none. */
    const uint8_t *choices;
    size_t n_choices;
};

struct sample {
    struct arena *arena;
    uint64_t seed;
    struct tree tree;
    const char *interp, *program, *cwd; /* program: for execve() */
    const char **args; /* of the loader, when it is invoked itself: program == interp */
    size_t n_args;
    uint32_t uid;
    bool secure; /* a set-id program */
    struct dlopen_call *dlopens;
    size_t n_dlopens;
    const char **env; /* NAME=VALUE */
    size_t n_env;
};

void sample_make(struct arena *arena, uint64_t seed, const struct sample_settings *settings,
                 struct sample *ret_sample);
