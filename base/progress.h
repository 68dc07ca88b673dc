/*
 * Progress: how far a long piece of work has come.
 *
 * Whoever works takes a `struct progress *` (NULL: nobody is interested) and says now and then how
 * far it is; who listens decides what becomes of it. Calling is cheap enough for every item.
 *
 *	progress_update(progress, "reading", done, total);
 *
 * Who listens can also have the work end: where progress_check() is asked, it fails then.
 *
 * A command shows it on a terminal's stderr, as one line that appears when the work takes longer
 * than a second and is wiped at its end:
 *
 *	struct progress_line line = progress_line(stderr);
 *	work(..., &line.progress);
 *	progress_line_end(&line);
 *
 * One thread at a time.
 */
#pragma once

#include "base/term.h"

#include <errno.h>

struct progress {
    /* NULL: nobody looks. `label` says what is done, in one or two words, and must outlive the
     * call; `total` 0: not known. A new label starts a new piece of work. */
    void (*update)(struct progress *progress, const char *label, uint64_t done, uint64_t total);
    const bool *stop; /* NULL, or set by another thread (atomic): the work is to end soon */
};

static inline void progress_update(struct progress *progress, const char *label, uint64_t done,
                                   uint64_t total)
{
    if (progress && progress->update)
        progress->update(progress, label, done, total);
}

static inline bool progress_stopped(const struct progress *progress)
{
    return progress && progress->stop && __atomic_load_n(progress->stop, __ATOMIC_RELAXED);
}

/* -ECANCELED: the work is to end. Cheap enough for every item, too. */
MUST_CHECK static inline int progress_check(const struct progress *progress, struct err *err)
{
    return progress_stopped(progress) ? err_set(err, ECANCELED, "stopped") : 0;
}

struct progress_line {
    struct progress progress; /* first: the call-back finds its line by it */
    FILE *to;
    struct term term;
    const char *label;
    uint64_t start_ms, next_ms; /* of this label; when the line is to be drawn again */
    bool shown;
};

/* A line on `to`; does nothing when that is not a terminal. */
struct progress_line progress_line(FILE *to);

/* Wipe the line. To be called before anything else is written, and at the end of the work. */
void progress_line_end(struct progress_line *line);

/*
 * For programs: on a file descriptor, a few times a second, {"label":...,"done":N,"total":N} and a
 * line end, written at once. Nobody reads it: nothing happens.
 */
struct progress_lines {
    struct progress progress; /* first, as above */
    int fd;
    uint64_t next_ms;
    const char *label;
};
struct progress_lines progress_lines(int fd);

/* What a line says: "label  done/total  12%  345/s". */
void progress_text(char *text, size_t size, const char *label, uint64_t done, uint64_t total,
                   uint64_t elapsed_ms);
