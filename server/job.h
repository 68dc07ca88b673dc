/*
 * Jobs: work that a request starts and nobody waits for: a scan, then an audit of what was scanned,
 * one job at a time, each step in a process of its own and of lowered priority.
 *
 * A job is a file below STATE/jobs, replaced whole at every change, so that jobs survive a restart:
 * one that was under way is begun again. What the worker does is this program's own command line
 * (`stormlint scan ...`, `stormlint audit ...`), so a crash in it is the job's end, and not the
 * service's.
 *
 * jobs_tick() and jobs_stop() belong to one thread; everything else may be called by any.
 */
#pragma once

#include "base/json.h"
#include "base/metric.h"
#include "server/order.h"

struct archive;
struct jobs;
struct service_options;

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_CANCELLED, N_JOB_STATES };

enum { JOBS_WAITING_MAX = 64, JOBS_KEPT = 500 };

const char *job_state_name(enum job_state state);

MUST_CHECK int jobs_open(const struct service_options *options, struct archive *archive,
                         struct metrics *metrics, struct jobs **ret_jobs, struct err *err);
void jobs_close(struct jobs *jobs); /* NULL: nothing */

/* Look after the worker, start the next one. */
void jobs_tick(struct jobs *jobs);

/* End the worker; its job will be begun again by the next service. */
void jobs_stop(struct jobs *jobs);

/* A job that carries out an order. -EAGAIN: too many are waiting. */
MUST_CHECK int jobs_add(struct jobs *jobs, const struct order *order, int64_t *ret_id,
                        struct err *err);

/* -ENOENT: there is none; -EEXIST: it has ended already. */
MUST_CHECK int jobs_cancel(struct jobs *jobs, int64_t id, struct err *err);

/* A job as JSON; NULL: there is none. New reference. */
json_t *jobs_one(struct jobs *jobs, int64_t id);
/* All that are kept, newest first. New reference. */
json_t *jobs_all(struct jobs *jobs);

/* How many are in each state. */
void jobs_count(struct jobs *jobs, size_t ret_count[N_JOB_STATES]);
