/*
 * A subject: one program as it is, and everything a strategy or a criterion may ask about it.
 *
 *	struct subject s;
 *	int r = subject_init(&s, &(struct subject_query){.world = w, .policy = p, .program = path},
 *			     &arena, &err);
 *
 * The program is started by the loader model on every CPU level of its machine; the trace of the
 * policy's CPU is the one numbers are given for. Memory is the arena's, nodes and objects are the
 * world's.
 */
#pragma once

#include "loader/loader.h"
#include "planner/policy.h"

enum { MAX_LEVELS = 4 };

/* Where farms live below a package, or beside a program that is in none (LIFTED farms, place). */
#define FARM_IN_PACKAGE "nix-support/stormlint/farm"
#define FARM_BESIDE     ".stormlint/farm"

/* One CPU level and the start on it, as built. */
struct level {
    struct cpu cpu;
    struct trace trace;
};

struct ruling;

/* One object of the start-up closure. */
struct member {
    const struct loaded *loaded;
    const char *directory; /* as built: what was put before the name asked, no final slash */
    const char *package;   /* store path of the file; NULL: in no store */
    /* Why it must keep the path it is opened by (it finds files from there); NULL: no reason. */
    const char *keep;
    /* It could locate itself, but this is why that does not matter; NULL: not so. */
    const char *cleared;
};

/*
 * What the subject is. A root (a plugin, an extension module, a driver: nobody needs it, somebody
 * dlopens it) and a library are looked at as if they were programs: the start-up of a program that
 * is the file, with the loader of its run path, is what dlopening it costs a process that has
 * nothing loaded yet. Only the file's facts are staged; its bytes and edits are its own.
 */
enum subject_kind { SUBJECT_PROGRAM, SUBJECT_ROOT, SUBJECT_LIBRARY, N_SUBJECT_KINDS };

struct subject {
    struct world *world; /* of starts: `base`, or `base` with the file staged as a program */
    struct world *base;  /* as it is */
    enum subject_kind kind;
    const char *soname; /* the file's own, staged or not; NULL: none */
    const char *interp; /* likewise */
    const struct policy *policy;
    struct arena *arena;

    const char *program; /* as asked */
    const char *path;    /* without links */
    const char *package; /* its store path; NULL: in none */
    const char *farm;    /* the directory a farm for it would be */
    const struct object *object;
    struct node *node;

    /*
     * The environment, without and with what overrides libraries (LD_LIBRARY_PATH, LD_PRELOAD): a
     * plan must hold for both, so it is made without and checked with them.
     */
    const char *const *env, *const *full_env;
    size_t n_env, n_full_env;
    const char *cwd;
    const char *wrapper; /* that sets the environment; NULL: none */

    struct level level[MAX_LEVELS]; /* lowest first */
    size_t n_levels;
    size_t policy_level;       /* whose numbers decide */
    const struct trace *trace; /* of that level */
    struct member *member;     /* parallel to trace->loaded */

    struct dlopen_call *dlopens; /* by the policy, beside what the loaded objects declare */
    size_t n_dlopens;

    struct ruling *ruling; /* which rules fire, on what: planner/rules.h */
    size_t n_rulings;
};

struct subject_query {
    struct world *world;
    const struct policy *policy;
    const char *program;
    const char *const *env;
    size_t n_env;
    const char *wrapper; /* NULL: none */
    const char *cwd;     /* NULL: "/" */
    const char *cpu;     /* NULL: the policy's, or the machine's default */
    const char *farm;    /* NULL: the usual place */
    enum subject_kind kind;

    /*
     * For package_programs(): libraries and roots, too. `needed` tells them apart: what is in it is
     * needed by somebody. NULL: unknown; then a file with DT_SONAME right in a directory "lib" is a
     * library.
     */
    bool all_objects;
    const struct name_set *needed;
};

/* Names, sorted by bytes. */
struct name_set {
    const char **name;
    size_t n;
};

bool name_set_has(const struct name_set *set, const char *name);

/* "program", "root", "library"; -1: no such kind. */
const char *subject_kind_name(enum subject_kind kind);
int subject_kind_find(const char *name);

/*
 * A world where the subject's file is a program (SUBJECT_ROOT, SUBJECT_LIBRARY), over `world`;
 * NULL, and 0: it is one. To be closed by the caller.
 */
MUST_CHECK int subject_stage(const struct subject *subject, struct world *world,
                             struct world **ret_world, struct err *err);

/*
 * Start the program on every level. Fails when it cannot be looked at; a program that does not
 * start (a library is missing, no loader) is a subject like any other: the gates say so.
 */
MUST_CHECK int subject_init(struct subject *ret_subject, const struct subject_query *query,
                            struct arena *arena, struct err *err);

/* End with what a subject has opened; its texts stay in the arena. */
void subject_release(struct subject *subject);

/* Does its environment override libraries? */
static inline bool subject_is_overridden(const struct subject *subject)
{
    return subject->n_full_env != subject->n_env;
}

/* Is this directory (or file) in one of the policy's stores? */
bool subject_in_store(const struct subject *subject, const char *path);

/* The file a request was answered with: the path of its last call; NULL: it made none. */
const char *request_opened(const struct trace *trace, const struct request *request);

/* Did this request search, or open a path: is it one that a lifted list must name? */
bool request_searched(const struct request *request);

/*
 * The directory part of an opened path for a name: "/d/glibc-hwcaps/x86-64-v3/libx.so" with
 * "libx.so" gives "/d". `trace` knows which hwcaps sub-directories there are.
 */
const char *opened_directory(struct arena *arena, const struct trace *trace, const char *path);

/* Is `name` the loader itself, by soname or by path? */
bool is_loader_name(const struct trace *trace, const char *name);

/* Same file by identity. Two vDSOs (no node) are the same, too. */
bool same_file(const struct loaded *a, const struct loaded *b);

/* Every "/nix/store/HASH-name" of the text with a star for its hash. */
const char *hash_free(const struct policy *policy, struct arena *arena, const char *text);

/* Does the text contain a token ($ORIGIN, $LIB, $PLATFORM, braces or not)? */
bool has_token(const char *text);

/* Split a run path at ':'. Empty components are kept: they mean the working directory. */
size_t run_path_split(struct arena *arena, const char *run_path, const char ***ret_component);
