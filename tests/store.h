/*
 * Small stores for tests of the planner: objects as facts, no files.
 *
 *	static const struct store_object app[] = {
 *		{"app/bin/app", .needed = "liba.so.1 libc.so.6", .run_path = "@a/lib:@glibc/lib"},
 *		{"a/lib/liba.so.1", .needed = "libb.so.1", .run_path = "@b/lib"}, ...
 *	};
 *	struct store *store = store_new();
 *	store_add(store, app, ARRAY_LEN(app));
 *
 * "a/lib/x" lies in the package a: /nix/store/<hash of a>-a/lib/x, and "@a" in a list stands for
 * that package; what starts with a slash is taken as it is. Objects in bin/ are programs of the
 * loader glibc/lib/ld.so, which every store has, as it has glibc/lib/libc.so.6.
 */
#pragma once

#include "planner/decide.h"

struct store_object {
    const char *path;
    const char *needed;   /* separated by blanks; NULL: none */
    const char *run_path; /* DT_RUNPATH; NULL: none */
    const char *rpath;    /* DT_RPATH */
    const char *soname;   /* NULL: the file's name, for libraries; "": none */
    const char *link;     /* not an object, but a link to this */
    const char *filter;   /* DT_FILTER behind the needed names */
    const char *verneed;  /* files that versions are wanted from, separated by blanks */
    unsigned imports, layout;
    bool origin_string;
    uint64_t trailing;
    uint64_t tls_size;    /* PT_TLS; of static TLS with LAYOUT_STATIC_TLS */
    const char *audit;    /* DT_AUDIT */
    uint16_t machine;     /* 0: x86-64 */
    const char *dlopens;  /* a constant like a soname, in an object that imports dlopen */
    const char *constant; /* soname-like constant of an importer of dlopen */
};

struct store {
    struct arena arena;
    struct world *base, *world;
    struct policy policy;
    const char *const *env; /* of every subject */
    size_t n_env;
};

struct store *store_new(void);
void store_free(struct store *store);

/* Add objects; one that is there already is replaced. */
void store_add(struct store *store, const struct store_object *object, size_t n);

/* "/nix/store/<hash>-a/lib/x" of "a/lib/x" or "@a/lib/x". */
const char *store_path(struct store *store, const char *path);

/* A subject of a program of the store; fails the test when it cannot be made. */
void store_subject(struct store *store, const char *program, struct subject *ret_subject);

/* The needed list of an edit as one text, separated by blanks. */
const char *store_join(struct store *store, const char *const *text, size_t n);
