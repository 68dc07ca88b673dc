/*
 * Spills: what is too much for memory waits in a file without a name until it is asked for again.
 *
 *	r = spill_open(&spill, &err);
 *	r = spill_add(spill, text, len, &at, &err);
 *	r = spill_read(spill, at, text, len, &err);
 *	spill_close(spill);
 *
 * The file lies in $TMPDIR, else where the machine has room for large ones, else in /tmp, and goes
 * with the process. Errors name the directory, so that a full one can be told from the output's.
 * One thread at a time.
 */
#pragma once

#include "base/base.h"

struct spill;

MUST_CHECK int spill_open(struct spill **ret_spill, struct err *err);
void spill_close(struct spill *spill);
void spill_closep(struct spill **spill);

/* Keep `size` bytes; *ret_at is where they are. */
MUST_CHECK int spill_add(struct spill *spill, const void *bytes, size_t size, uint64_t *ret_at,
                         struct err *err);

/* `size` bytes from where spill_add() has kept them. */
MUST_CHECK int spill_read(struct spill *spill, uint64_t at, void *ret_bytes, size_t size,
                          struct err *err);

/* The bare file, for who writes it himself: a descriptor, or -errno; *ret_dir: the directory. */
int spill_file(const char **ret_dir);
