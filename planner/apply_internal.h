/*
 * The insides of apply. Only planner/apply*.c include this.
 *
 *	apply_resolve.c  from a plan's object to edits of a file as it is now
 *	apply_done.c     or it has been edited already
 *	apply_prove.c    is the start with a new file what was promised?
 *	apply_copy.c     the edited copy beside a file
 *	apply_farm.c     a farm's links
 *	apply_files.c    locks, directories, the change of names, and how to undo each step
 *	apply.c          the order of it all
 */
#pragma once

#include "planner/apply.h"
#include "planner/package.h"

/* One program of a plan on its way. */
struct target {
    const struct plan *plan;
    const struct plan_object *object;
    const struct policy *policy;
    const char *dir; /* the package as programs see it; NULL: the program is in none */
    struct subject *subject;
    struct edits edits;        /* for the file as it is now; empty: nothing to do */
    const struct storm *after; /* promised for each level of the subject */
    struct applied applied;

    const char *disk;             /* the real file that is to be replaced or made */
    const char *temp;             /* its edited copy beside it */
    const struct object *changed; /* what was read back from there */
};

/* What can be undone, in order. */
enum undo_kind {
    UNDO_REMOVE,    /* a file or link that was made */
    UNDO_DIRECTORY, /* a directory that was made */
    UNDO_LINK,      /* a link that led to `other` */
    UNDO_EXCHANGE,  /* `path` and `other` have changed names */
};

struct undo {
    enum undo_kind kind;
    const char *path, *other;
};

struct apply {
    const struct apply_options *options;
    struct arena *arena;
    struct world *world;
    struct target *target;
    size_t n_targets;
    struct undo *undo;
    size_t n_undos;
    int *lock; /* descriptors of the outputs */
    size_t n_locks;
    size_t n_links;
};

/* ---- apply_resolve.c */

/* The policy for an output (NULL: of none that was given), made from `base`. In the arena. */
const struct policy *policy_for(const struct apply_options *options,
                                const struct apply_output *output, const struct policy *base,
                                struct arena *arena);

/* All programs of a plan as targets. */
MUST_CHECK int resolve_plan(struct apply *apply, const struct plan *plan, struct err *err);

/* ---- apply_done.c */

/* Do two lists of edits say the same, store paths without their hashes? */
bool edits_agree(const struct edits *a, const struct edits *b, const struct policy *policy,
                 struct arena *arena);

/* What the plan promises for each level of the subject; NULL: it does not say. In the arena. */
const struct storm *promised(const struct target *target, struct arena *arena);

/* Has the target's file the planned edits already? */
bool edits_are_done(const struct target *target, struct arena *arena);

/* Then: does it start as promised? It becomes APPLIED_DONE. */
MUST_CHECK int check_done(struct target *target, struct arena *arena, struct err *err);

/* ---- apply_prove.c */

/* The prepared copy is what was intended: facts as edited, files as before, calls as promised. */
MUST_CHECK int prove_copy(const struct target *target, struct err *err);

/* The same for a start in the file system as it is now. */
MUST_CHECK int prove_final(const struct target *target, struct world *now, struct err *err);

/* ---- apply_files.c */

/* Where a path of the package is on disk: below the root, or among the copies. */
const char *disk_path(const struct apply *apply, const struct target *target, const char *path);

/* Keep others from the outputs while we work. -EBUSY: one is there already. */
MUST_CHECK int files_lock(struct apply *apply, struct err *err);
void files_unlock(struct apply *apply);

/* The copy takes the file's name. */
MUST_CHECK int files_exchange(struct apply *apply, struct target *target, struct err *err);

/* Undo everything that was done, as far as possible: the first failure is told. */
MUST_CHECK int files_undo(struct apply *apply, struct err *err);

/* Remove what is left of old files. */
void files_finish(struct apply *apply);

/* For those who make files: remember how to undo it. */
void files_note_undo(struct apply *apply, enum undo_kind kind, const char *path, const char *other);

/* The directory of a path, with its final slash. In the arena. */
const char *files_directory(const struct apply *apply, const char *path);

/* The directory and what is missing above it. */
MUST_CHECK int files_make_directories(struct apply *apply, const char *path, struct err *err);
MUST_CHECK int files_sync_directory(const char *path, struct err *err);

/* An error of a path, from errno. */
int files_fail(struct err *err, const char *path);

/* For CLEANUP. */
void files_close(const int *fd);

/* ---- apply_copy.c */

/* Write the edited copy beside the file, on disk, read back. */
MUST_CHECK int copy_prepare(struct apply *apply, struct target *target, struct err *err);

/* ---- apply_farm.c */

/* Make the links of a farm, on disk. */
MUST_CHECK int farm_make(struct apply *apply, const struct target *target, const struct edit *farm,
                         struct err *err);
