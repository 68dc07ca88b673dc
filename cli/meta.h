/*
 * --meta FILE: where packages come from, as a channel tells, and whom to tell.
 */
#pragma once

#include "cli/flags.h"
#include "scanner/origin.h"

/* --meta, into a const char *. */
extern const struct flag meta_rows[];

/* Read it; NULL: none is given. Before the work: unpacking may begin the command anew (no_net.c). */
MUST_CHECK int meta_read(const char *meta, struct arena *arena, struct origins **ret_origins,
                         struct err *err);

/* Tell the index where its packages come from. NULL: nothing is told. */
MUST_CHECK int meta_note(struct db *db, const char *meta, const struct origins *origins,
                         struct err *err);
