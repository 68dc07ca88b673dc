/*
 * Work queue: N threads that read, one (the caller's) that writes.
 *
 *	struct work work = {.read = read_package, .write = write_package, ...};
 *	r = work_run(&work, n_packages, 2, &err);
 *
 * Jobs are numbers 0 .. n-1, taken in order, each by one reader. Results go through a bounded queue
 * to the writer, in the order in which they are done. When the writer fails, everything stops.
 */
#pragma once

#include "base/base.h"

struct work {
    void *data; /* given to all functions; readers share it, so it must not change */

    /* What one reader keeps between jobs. Called in the reader's thread; may be NULL both. */
    void *(*reader_open)(void *data);
    void (*reader_close)(void *data, void *reader);

    /* Do job number `job`; the result must not be NULL. Called in a reader's thread. */
    void *(*read)(void *data, void *reader, size_t job);

    /* Take a result over. Called in the thread of work_run(). 0 or negative errno. */
    int (*write)(void *data, void *result, struct err *err);

    /* No result is waiting: a moment for housekeeping. May be NULL. 0 or negative errno. */
    int (*idle)(void *data, struct err *err);

    /* Free a result that will not be written. */
    void (*drop)(void *result);
};

/* Run all jobs. With `n_readers` 0 everything happens in the caller's thread, job by job. */
MUST_CHECK int work_run(const struct work *work, size_t n_jobs, unsigned n_readers,
                        struct err *err);
