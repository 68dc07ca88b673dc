/*
 * What an object says it will dlopen, before anything is run (docs/dlopen.md).
 *
 *	declared_read(&arena, object, &list);
 *	for each of list.item: alternatives in order of preference, the first that resolves is used
 *
 * Two sources: dlopen notes (UAPI.12: JSON in a PT_NOTE, written by the object's authors), and
 * constants that look like sonames in objects that import dlopen or dlmopen (a guess: the name
 * may be one of an error message). Pure: the same object gives the same list, in the same order:
 * notes first, as they stand in the file, then constants, as they stand in the file.
 */
#pragma once

#include "base/arena.h"
#include "scanner/object.h"

/* Where the knowledge of a dlopen comes from. */
enum dlopen_source {
    DLOPEN_ASKED, /* the command line */
    DLOPEN_NOTE,
    DLOPEN_CONSTANT,
};

struct declared {
    enum dlopen_source source;
    const char *priority; /* of a note: "required", "recommended", "suggested"; else NULL */
    const char *feature;  /* of a note; NULL: not given */
    const char **name;    /* alternatives, at least one */
    size_t n_names;
};

struct declared_list {
    struct declared *item;
    size_t n;
    const char **problem; /* sentences: what could not be read in its notes */
    size_t n_problems;
};

/* Bounds: what is beyond is left out, and named as a problem. */
enum {
    DECLARED_NOTE_MAX = 64 * 1024, /* bytes of one note */
    DECLARED_MAX = 1024,           /* rows of one object */
    DECLARED_NAMES_MAX = 64,       /* alternatives of one row */
};

/*
 * Everything `object` declares; strings are allocated in `arena` or the object's. Names that the
 * object itself answers to or that no dlopen could mean (empty, longer than a path), and constants
 * that are pieces of names (relative with a slash, or starting with a mark) are left out.
 */
void declared_read(struct arena *arena, const struct object *object,
                   struct declared_list *ret_list);

/* "asked", "note", "constant". */
const char *dlopen_source_name(enum dlopen_source source);
