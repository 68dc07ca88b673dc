/*
 * What lint.c, starts.c, tell.c and ask.c share, nobody else.
 */
#pragma once

#include "linter/check.h"

/* What was told, by identity: open addressing, at most half full. */
struct told {
    struct finding *finding;         /* NULL: free */
    const struct lint_object *start; /* the last one that told it */
    uint32_t hash;
};

/* The run path asked about last, taken apart: the objects of a package mostly share one. */
struct run_path {
    const char *text; /* NULL: none */
    struct component *component;
    size_t n;
    const struct component **dir; /* see struct check */
    size_t n_dirs;
    struct node **ldso; /* loaders in its directories */
    size_t n_ldso;
    bool ldso_known;
    struct arena arena;
};

/* A loader file: what decides whether it can load an object. */
struct ldso_file {
    const char *path;
    struct machine machine;
};

struct lint {
    struct closure *closure;
    const struct lint_options *options;
    struct arena *arena; /* of the findings */
    struct loader *loader;
    struct findings findings;
    struct told *told;
    uint32_t told_mask;
    size_t n_left;          /* findings that the present check may still tell */
    struct ldso_file *ldso; /* loaders that programs of the closure name */
    size_t n_ldso;
    const char *ldso_path; /* under which the object before was loaded */
    struct run_path run_path;
    struct wrappers wrappers;
    struct offers offers[2]; /* private ones, public ones */
    struct arena texts;      /* of them */
    struct intern *evidence; /* of findings: a directory is that of many */
    size_t n_programs;
};

/* The run path of the check's object, taken apart: ask.c */
void check_run_path(struct check *check);

/* Ask all rules of a scope. */
void lint_ask(struct lint *lint, enum rule_scope scope, struct check like);

/* ---- starts.c */

/* The loader files there are: those that programs name, those in the selection. */
void starts_find_ldso(struct lint *lint);

/* Is it a library that is loaded by itself, for where its needed names lead? Load it, once. */
bool is_loaded_alone(const struct lint_object *object);
void start_library(struct lint *lint, struct lint_object *object);

/* Start it; ask the rules about the start. */
void start_program(struct lint *lint, struct lint_object *object);

/* A library that no program has at its start (a plugin, or a library for others), or a program that
 * misses something. */
void start_alone(struct lint *lint, struct lint_object *object);
