/*
 * Workers: a process of lowered priority that runs one command line of this program. It dies with
 * the service, gets no descriptor but its own, and says on one of them how far it has come: one
 * JSON object a line.
 */
#pragma once

#include "base/json.h"

enum { WORKER_PROGRESS_FD = 3 };

struct worker;

struct worker_end {
    int code, signal; /* exit code; signal that killed it, or 0 */
};

/* Run `program` with `argv`. */
MUST_CHECK int worker_start(const char *program, const char *const *argv,
                            struct worker **ret_worker, struct err *err);

/* Files of what it has said on its outputs; the worker's. */
int worker_out(const struct worker *worker);
int worker_errors(const struct worker *worker);

/* The last whole line of progress since the last call; NULL: none. New reference. */
json_t *worker_progress(struct worker *worker);

/* Has it ended? Asked again it says the same. */
bool worker_ended(struct worker *worker, struct worker_end *ret_end);

/* End it at once. NULL: nothing. */
void worker_kill(struct worker *worker);
void worker_free(struct worker *worker); /* waits for its end */
