/*
 * The dynamic loader as a function: who starts what, where, gives the exact list of calls.
 *
 *	struct loader *l = loader_new(world, &cpu, "/", false);
 *	struct start start = {.program = "/bin/magick", .record = true};
 *	r = loader_run(l, &start, &arena, &trace, &err);
 *	loader_free(l);
 *
 * Nothing is run and nothing is read but through the world. A loader remembers what it has judged,
 * expanded and decomposed, so that many programs of one world cost little each; results do not
 * depend on what was run before. The rules are those of docs/loader.md; each function names its
 * section.
 */
#pragma once

#include "loader/cpu.h"
#include "loader/trace.h"
#include "loader/world.h"

struct loader;

/*
 * A loader over `world` for processes with working directory `cwd` (absolute) on `cpu`; `secure`:
 * as the kernel marks set-id programs. All arguments must outlive it. Never NULL.
 */
struct loader *loader_new(struct world *world, const struct cpu *cpu, const char *cwd, bool secure);
void loader_free(struct loader *loader);
void loader_freep(struct loader **loader);

/* Bytes of what it remembers, but for its tables: those take less. */
size_t loader_held(const struct loader *loader);

/* One dlopen() after start-up: `name` asked by loaded object `caller` (soname or path). */
struct dlopen_call {
    const char *name;
    const char *caller; /* NULL: the program */
};

/* One start of one program. */
struct start {
    const char *program;    /* the path given to execve(), absolute or relative to cwd */
    const char *const *env; /* NAME=VALUE; the loader sees only these. NULL: empty */
    size_t n_env;
    bool record; /* keep calls and requests, not only totals and loaded objects */

    /* Explicit invocation: `program` is the loader, these its arguments (docs/loader.md, 13). */
    const char *const *ld_args;
    size_t n_ld_args;

    const struct dlopen_call *dlopens; /* one phase each */
    size_t n_dlopens;
    bool declared; /* then also what the loaded objects declare (docs/dlopen.md) */
};

/*
 * Predict one start. 0: `ret_trace` tells everything, also how the start ends; its memory is in
 * `arena`, but nodes and objects are the world's, and what the profile points to is the loader's.
 * Negative errno: the program itself cannot be looked at (err says which file and why).
 */
MUST_CHECK int loader_run(struct loader *loader, const struct start *start, struct arena *arena,
                          struct trace *ret_trace, struct err *err);

/* Was a closure note made for an object with these needed names and this run path? */
struct closure_note;
bool note_is_about(const struct closure_note *note, const struct object *object);
