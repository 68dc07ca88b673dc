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

struct lint {
    struct closure *closure;
    const struct lint_options *options;
    struct arena *arena; /* of the findings */
    struct loader *loader;
    struct findings findings;
    struct told *told;
    uint32_t told_mask;
    const struct lint_object **ldso; /* loaders that programs of the closure name */
    size_t n_ldso;
    const char *ldso_path; /* under which the object before was loaded */
    struct run_path run_path;
    struct wrappers wrappers;
    size_t n_programs;
    bool incomplete;
};

/* The run path of the check's object, taken apart: ask.c */
void check_run_path(struct check *check);

/* Ask all rules of a scope. */
void lint_ask(struct lint *lint, enum rule_scope scope, struct check like);

/* ---- starts.c */

/* The loader files there are: those that programs name, those in the selection. */
void starts_find_ldso(struct lint *lint);

/* Load the object by itself, for where its needed names lead. */
void start_by_itself(struct lint *lint, struct lint_object *object);

/* Start it; ask the rules about the start. */
void start_program(struct lint *lint, struct lint_object *object);

/* A library that no program has at its start (a plugin, or a library for others), or a program that
 * misses something. */
void start_alone(struct lint *lint, struct lint_object *object);
