/*
 * Making closure notes: what a program and its plugins ask for, and where it was found
 * (docs/closure-note.md).
 *
 *	r = closure_make(subject, &arena, &made, &err);
 *	made.note.bytes NULL: there is nothing that a note could answer
 *
 * Rows are made from starts by the loader model: what a start searched for, in the order of its
 * requests, then what each declared dlopen would search for. What a resolver could not answer for
 * certain at every later start is left out, and counted with its reason: ld.so then searches.
 */
#pragma once

#include "planner/simulate.h"

enum { CLOSURE_LEFT_OUT_KEPT = 12 };

/* A request that gets no row. */
struct left_out {
    const char *requester, *name;
    const char *why;
};

struct closure_made {
    struct note note; /* the descriptor; bytes NULL: no rows */
    size_t n_rows, n_plugin_rows;
    struct left_out left_out[CLOSURE_LEFT_OUT_KEPT]; /* the first ones */
    size_t n_left_out;
};

/* A row for each request that can be answered. Fails only when the world does. */
MUST_CHECK int closure_make(const struct subject *subject, struct closure_made *ret_made,
                            struct err *err);

/*
 * Does an object of the start want versions from a file by this name? Then ld.so must know the file
 * by it, and only a DT_SONAME of that name is certain to stay known whatever else a start loads
 * (docs/closure-note.md, hazards).
 */
bool versions_wanted_from(const struct trace *trace, const char *name);
