/*
 * Simulation: start a subject again with edits laid over its world, under a scenario.
 *
 *	CLEANUP(run_close) struct run run = {0};
 *	int r = simulate(s, &edits, &(struct scenario){.name = "as is"}, level, &run, &err);
 *	... run.trace ...
 *
 * The same loader model that made the traces as built makes these, so what is compared are two
 * answers of one function. A run owns its overlay: nodes in its trace live until run_close().
 */
#pragma once

#include "planner/edit.h"
#include "planner/subject.h"

/* A file put into the world for a scenario, in place of a library it is made from. */
struct decoy {
    const char *name; /* the library's name as asked, and the file's */
    const char *path;
    const struct object *object;
    uint64_t dev, ino;     /* of the library it stands for */
    const char *directory; /* where that was found */
};

struct scenario {
    const char *name;           /* for people: "LD_LIBRARY_PATH with a copy of every library" */
    const char *library_path;   /* LD_LIBRARY_PATH; NULL: not set */
    const char *preload;        /* LD_PRELOAD; NULL: not set */
    const struct decoy *decoys; /* laid over the world */
    size_t n_decoys;
    bool overridden; /* with the variables of the environment that override libraries */
    bool secure;     /* as the kernel marks set-id programs */
    bool declared;   /* then also what the loaded objects declare they will dlopen */
    bool reader;     /* the program's loader reads resolution notes, whatever it does by itself */
};

struct run {
    struct world *world;
    struct arena arena;
    struct trace trace;
};

/*
 * Start the subject's program on `level` (index). `edits` NULL: as built. On failure the run is
 * empty.
 */
MUST_CHECK int simulate(const struct subject *subject, const struct edits *edits,
                        const struct scenario *scenario, size_t level, struct run *ret_run,
                        struct err *err);
void run_close(struct run *run);

/* Make a trace independent of the loader that made it: its profile is copied into `arena`. */
void trace_keep(struct trace *trace, struct arena *arena);

/*
 * Do two runs load the same files in the same order? Files count by identity. Returns the position
 * of the first difference, or SIZE_MAX.
 */
size_t first_load_difference(const struct trace *a, const struct trace *b);
