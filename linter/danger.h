/*
 * Dangerous libraries: what is known to make a strategy unsafe, as a table.
 *
 *	for (d = NULL; (d = danger_next(DANGER_BY_SONAME, "libGL.so.1", d));)
 *		... d->absolute, d->farm, d->note
 *
 * Shared: the linter asks it about driver libraries, the planner about everything. Values inside a
 * column are alternatives, and any matching column is a match. Names select edges (a needed name
 * and what it leads to), paths and the like select objects, wrappers' environments and package
 * names select packages. Of several matches the strictest verdict counts: see danger_strictest().
 */
#pragma once

#include "base/base.h"

/* From harmless to forbidden: the order of strictness. */
enum danger_verdict {
    DANGER_NA,     /* the strategy has no effect here */
    DANGER_OK,     /* it may touch this */
    DANGER_KEEP,   /* ok, but the directories named stay in the run path, in their order */
    DANGER_MIRROR, /* a farm must have the whole sub-tree, not the name alone */
    DANGER_HINT,   /* only as a hint to search there, never as an exact path */
    DANGER_WARN,   /* only when somebody asks for it */
    DANGER_BARE,   /* this needed name stays bare; the rest of the object may be edited */
    DANGER_REFUSE, /* not this object */
};

struct danger {
    const char *id;
    /* Globs, where '*' also matches slashes; each list ends with NULL, and may be NULL itself. */
    const char *const *soname, *const *path, *const *pname, *const *run_path, *const *symbol;
    const char *const *env;       /* variables that a wrapper sets */
    const char *const *exec;      /* programs it is started through */
    const char *const *interp;    /* interpreters */
    const char *const *section;   /* sections of the file */
    const char *const *attribute; /* set in the package's description */
    const char *const *role;      /* said by an operator: cannot be read off a file */
    const char *fact;             /* anything else that must hold, a sentence; NULL */
    enum danger_verdict absolute, farm, note;
    const char *why;
};

enum danger_key {
    DANGER_BY_SONAME,
    DANGER_BY_PATH,
    DANGER_BY_PNAME,
    DANGER_BY_RUN_PATH,
    DANGER_BY_SYMBOL,
    DANGER_BY_ENV,
    DANGER_BY_INTERP,
};

/* The table; ends with a row without id. */
const struct danger *dangers(void);

/* The next row behind `after` (NULL: from the start) that `value` matches; NULL: no more. */
const struct danger *danger_next(enum danger_key key, const char *value,
                                 const struct danger *after);

/* Does the row `id` match `value`? */
bool danger_is(const char *id, enum danger_key key, const char *value);

static inline enum danger_verdict danger_strictest(enum danger_verdict a, enum danger_verdict b)
{
    return a > b ? a : b;
}

/* "ok", "bare", ... */
const char *danger_verdict_name(enum danger_verdict verdict);
