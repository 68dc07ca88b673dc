/*
 * Simulation: start a subject again with edits laid over its world, under a scenario.
 *
 *	CLEANUP(run_close) struct run run = {0};
 *	int r = simulate(s, &edits, &(struct scenario){.name = "as is"}, level, &run, &err);
 *	... run.trace ...
 *
 * The same loader model that made the traces as built makes these, so what is compared are two
 * answers of one function. Nodes in a run's trace live until run_close().
 *
 * Several scenarios of the same edits share a rig, and with it what the model remembers:
 *
 *	r = rig_open(s, &edits, false, &rig, &err);
 *	r = rig_lay(&rig, decoys, n, &err);
 *	r = rig_start(&rig, &scenario, level, &run, &err);	(as often as wanted)
 *	rig_close(&rig);					(after the last run's end)
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
    const struct decoy *decoys; /* laid over the world; on a rig they lie already */
    size_t n_decoys;
    bool overridden; /* with the variables of the environment that override libraries */
    bool secure;     /* as the kernel marks set-id programs */
    bool declared;   /* then also what the policy and the loaded objects say they will dlopen */
    bool reader;     /* the program's loader reads resolution notes, whatever it does by itself */
};

/* A subject's world with edits and decoys laid over it. */
struct rig {
    const struct subject *subject;
    struct world *world;
    struct arena arena;                   /* what was laid is made of it */
    struct loader *loader[MAX_LEVELS][2]; /* made when first used; the second one is secure */
};

struct run {
    struct rig rig; /* of its own; empty when it shares one */
    struct arena arena;
    struct trace trace;
};

/*
 * `edits` NULL: as built. `reader`: the program's loader reads resolution notes, whatever it does by
 * itself: of the policy's kind, else of the first. On failure the rig is empty.
 */
MUST_CHECK int rig_open(const struct subject *subject, const struct edits *edits, bool reader,
                        struct rig *ret_rig, struct err *err);
MUST_CHECK int rig_lay(struct rig *rig, const struct decoy *decoy, size_t n, struct err *err);
/* Start the program on `level` (index). On failure the run is empty. */
MUST_CHECK int rig_start(struct rig *rig, const struct scenario *scenario, size_t level,
                         struct run *ret_run, struct err *err);
void rig_close(struct rig *rig);

/*
 * Let a loader of an overlay read resolution notes: its facts there say so. They are the arena's,
 * which has to outlive the overlay's use. What is no loader stays as it is.
 */
MUST_CHECK int reader_lay(struct world *overlay, const char *loader, enum note_reader reader,
                          struct arena *arena, struct err *err);

/*
 * One start on a rig of its own, which is the run's. `edits` NULL: as built. On failure the run
 * is empty.
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
