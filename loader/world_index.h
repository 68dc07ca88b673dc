/*
 * A world out of the index: what the last scan saw, without looking at any file.
 *
 *	r = world_index(db, WORLD_STARTS, &world, err);
 *	...
 *	world_close(world);	(before the database)
 *
 * Rows are fetched when they are first asked for, so a look at one program costs little, and a look
 * at all of them needs little memory when it starts anew now and then: programs that were scanned
 * one after the other have most in common. Outside the indexed stores, and in directories that
 * nothing searches, the world answers "not covered", which callers take for absent and say so.
 *
 * Of every object the facts that decide a start are there. The rest (imports, versions, layout,
 * notes but the resolution note) only with WORLD_EVERYTHING.
 *
 * The database is borrowed; the world holds a read transaction on it until it is closed, so that
 * all its answers are of one moment.
 */
#pragma once

#include "base/db.h"
#include "loader/world.h"

enum world_facts { WORLD_STARTS, WORLD_EVERYTHING };

MUST_CHECK int world_index(struct db *db, enum world_facts facts, struct world **ret_world,
                           struct err *err);

/*
 * Bytes that a look at everything may hold of an index, its world and its loader together, before it
 * starts anew: some thousand packages, whose programs have most of what they load in common, and
 * little enough to stay in the processor's cache.
 */
enum { WORLD_INDEX_MUCH = 16 * 1024 * 1024 };

/*
 * Another world of the same moment in place of one that has fetched much, whose memory is freed with
 * it. On failure the old one stays.
 */
MUST_CHECK int world_index_anew(struct world **world, struct err *err);

/* Another world of the same moment beside it, which is to be closed before it. */
MUST_CHECK int world_index_beside(const struct world *world, struct world **ret_world,
                                  struct err *err);

/* Call `each` with the path of every program of the index, in the order of its scan. */
MUST_CHECK int index_programs(struct db *db, void (*each)(void *data, const char *path), void *data,
                              struct err *err);

/* The same with every ELF file, and with the directories of packages. */
MUST_CHECK int index_objects(struct db *db, void (*each)(void *data, const char *path), void *data,
                             struct err *err);
MUST_CHECK int index_store_paths(struct db *db, void (*each)(void *data, const char *path),
                                 void *data, struct err *err);

/* The names that objects need, each once, as they are spelled. */
MUST_CHECK int index_needed(struct db *db, void (*each)(void *data, const char *name), void *data,
                            struct err *err);
