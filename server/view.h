/*
 * Views: one moment of the index, looked at by one thread at a time.
 *
 * A view is a connection, the world over it and loaders for the CPUs asked for. Several views of
 * one moment are opened together, before anybody needs them: while a scan is under way no new one
 * could be had. The world is kept between requests, so that what it has fetched is fetched once, as
 * long as it does not hold too much.
 */
#pragma once

#include "base/db.h"
#include "loader/loader.h"

enum { VIEWS = 6 }; /* two of HTTP's threads, three beside them, the planner's */

/* What tells one state of an index from another. */
struct moment {
    uint64_t dev, ino; /* of the file */
    int64_t generation;
    int64_t schema;  /* SQLite's count of schema changes: the file may have been emptied */
    bool unfinished; /* a scan is under way, or was killed */
};

bool moment_same(const struct moment *a, const struct moment *b);

struct view;

/* -EAGAIN: the index changed between two of them; try again. */
MUST_CHECK int views_open(const char *path, struct view *ret_view[VIEWS], struct moment *ret_moment,
                          struct err *err);
void view_close(struct view *view);

struct db *view_db(struct view *view);
struct world *view_world(struct view *view);

/* The loader of a CPU ("x86-64-v3"), in working directory "/". -EINVAL: no such CPU. */
MUST_CHECK int view_loader(struct view *view, const char *cpu, struct loader **ret_loader,
                           struct err *err);

/* Begin and end one use: statements are given up after `ms` (0: never). */
void view_begin(struct view *view, unsigned ms);
void view_end(struct view *view);

/*
 * Let go of what the world has fetched and its loaders remember: view_trim() when that has become
 * much. Nothing may be borrowed from the world any more. On failure the view is not
 * to be used further.
 */
MUST_CHECK int view_trim(struct view *view, struct err *err);
MUST_CHECK int view_empty(struct view *view, struct err *err);

/* One more view of a moment. -EAGAIN: the index is another one by now. */
MUST_CHECK int view_open(const char *path, const struct moment *moment, struct view **ret_view,
                         struct err *err);

/* The state of the index at `path` now, as a connection to it sees it. */
MUST_CHECK int moment_read(struct db *db, const char *path, struct moment *ret_moment,
                           struct err *err);
