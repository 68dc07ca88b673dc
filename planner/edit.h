/*
 * Edits: what a strategy wants changed, as data.
 *
 *	struct edits edits = {0};
 *	edit_run_path(&edits, arena, "/nix/store/..-app/bin/app", "/nix/store/..-app/farm:/old");
 *	r = edits_apply(&edits, overlay, arena, &err);
 *
 * An edit is one change to one file (or one farm to be made). Nothing here touches a real file: the
 * planner lays edits over a world and asks the loader model what would come of them. All memory is
 * the arena's; strings may be borrowed from the world.
 */
#pragma once

#include "base/arena.h"
#include "loader/world.h"

enum edit_kind {
    EDIT_FARM,     /* make a directory of links */
    EDIT_NEEDED,   /* the needed list becomes exactly this one, in this order */
    EDIT_RUN_PATH, /* DT_RUNPATH becomes this string */
    EDIT_VERNEED,  /* file names among the wanted versions are renamed */
    EDIT_NOTE,     /* the resolution note becomes this */
    EDIT_CLOSURE,  /* the closure note becomes this, and DT_AUDIT names its reader */
    N_EDIT_KINDS,
};

/* One link of a farm. */
struct farm_link {
    const char *name;   /* below the farm: "libz.so.1", "glibc-hwcaps/x86-64-v3/libz.so.1" */
    const char *target; /* absolute: the file's path without links */
};

struct rename {
    const char *from, *to;
};

struct edit {
    enum edit_kind kind;
    const char *path; /* absolute: the file to change, or the farm's directory */

    const char **needed; /* EDIT_NEEDED */
    size_t n_needed;
    const char *run_path;   /* EDIT_RUN_PATH */
    struct rename *renames; /* EDIT_VERNEED */
    size_t n_renames;
    struct note note;  /* EDIT_NOTE, EDIT_CLOSURE: the descriptor; bytes NULL: no note any more */
    const char *audit; /* EDIT_CLOSURE: the reader's path; "": no such tag any more */
    struct farm_link *link; /* EDIT_FARM, sorted by name */
    size_t n_links;
};

struct edits {
    struct edit *item;
    size_t n;
};

/* "farm", "needed", "run-path", "verneed", "note", "closure": the names in plans. -1: no such kind.
 */
const char *edit_kind_name(enum edit_kind kind);
int edit_kind_find(const char *name);

/* Add an edit. What the pointers lead to is borrowed. */
void edit_needed(struct edits *edits, struct arena *arena, const char *path, const char **needed,
                 size_t n_needed);
void edit_run_path(struct edits *edits, struct arena *arena, const char *path,
                   const char *run_path);
void edit_verneed(struct edits *edits, struct arena *arena, const char *path,
                  struct rename *renames, size_t n_renames);
void edit_note(struct edits *edits, struct arena *arena, const char *path, struct note note);
void edit_closure(struct edits *edits, struct arena *arena, const char *path, struct note note,
                  const char *audit);
/* The links are sorted in place. */
void edit_farm(struct edits *edits, struct arena *arena, const char *directory,
               struct farm_link *link, size_t n_links);

/*
 * A copy with everything that it leads to, independent of the world. `texts` given: texts are its
 * names, so that many copies share what they have in common.
 */
struct edits edits_copy(const struct edits *edits, struct arena *arena, struct intern *texts);

/* The first edit of this kind (for this path, unless it is NULL); NULL: none. */
const struct edit *edits_find(const struct edits *edits, enum edit_kind kind, const char *path);

/*
 * Lay the edits over a world. The changed facts are kept in `arena`, which must outlive the
 * overlay. Fails when a file is not there or an edit cannot be expressed (a needed list for an
 * object that has DT_AUXILIARY or DT_FILTER, whose place among the needed would be lost). A
 * resolution note that a new needed list or run path makes stale goes, unless an edit sets it.
 */
MUST_CHECK int edits_apply(const struct edits *edits, struct world *overlay, struct arena *arena,
                           struct err *err);
