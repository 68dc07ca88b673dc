/*
 * The service: what stands between HTTP and the handlers. It keeps the snapshot of the index fresh,
 * dispatches requests, checks tokens and parameters, turns errors into problem documents, and keeps
 * finished answers.
 *
 *	r = service_new(&options, &service, err);
 *	r = http_start(&(struct http_options){.ops = &service_ops, .data = service, ...});
 *	service_start(service);
 *	for (;;) service_tick(service);		once a second
 *	service_stop(service); http_stop(http, ms); service_free(service);
 *
 * Threads: HTTP's two answer what is quick; three workers do what is not, while the client's
 * connection sleeps; one, of lowered priority, makes snapshots and plans.
 */
#pragma once

#include "base/metric.h"
#include "planner/policy.h"
#include "server/http.h"
#include "server/snapshot.h"

struct service_options {
    const char *index;           /* the index's file */
    const char *cpu;             /* whose numbers are recorded */
    const struct policy *policy; /* of plans */
    const char *policy_file;     /* where it came from; NULL: the default */
    const char *meta;            /* packages.json for scans of jobs; NULL: none */
    const char *token_file;      /* NULL: nothing can be written */
    const char *state;           /* directory of audits and jobs; NULL: nothing can be written */
    const char *web;             /* directory of the pages' files; NULL: those compiled in */
    const char *cors;            /* whom to allow in browsers: "*", an origin; NULL: nobody */
    const char *access_log;      /* file; "-": stdout; NULL: none */
    bool without_plans;          /* none are made ahead */
    const char *program;         /* the executable that jobs run */
};

struct service;
struct jobs;
struct archive;

extern const struct http_ops service_ops;

MUST_CHECK int service_new(const struct service_options *options, struct service **ret_service,
                           struct err *err);
MUST_CHECK int service_start(struct service *service, struct err *err);

/* Look at the index, at jobs; once a second. */
void service_tick(struct service *service);

/* Read the token again, open the log again, look at the index at once. */
MUST_CHECK int service_reload(struct service *service, struct err *err);

/* Answer what waits, end the threads. HTTP must still be running. */
void service_stop(struct service *service);
void service_free(struct service *service);

/* ---- for handlers */

const struct service_options *service_options(const struct service *service);
struct metrics *service_metrics(struct service *service);
struct jobs *service_jobs(struct service *service);       /* NULL: nothing can be written */
struct archive *service_archive(struct service *service); /* NULL: there is none */

/* For /metrics: connections are HTTP's. */
void service_set_http(struct service *service, struct http *http);
struct http *service_http(struct service *service);

/* The snapshot of now (a reference), or NULL and why. */
struct snapshot *service_snapshot(struct service *service, struct arena *arena,
                                  const char **ret_why_not);

/* NULL: the index is there, current and being served; else what is wrong. */
const char *service_problem(struct service *service, struct arena *arena);

int64_t service_started_at(const struct service *service);

enum service_metric {
    M_REQUESTS,
    M_SECONDS,
    M_SENT_BYTES,
    M_CONNECTIONS,
    M_BUILD,
    M_READY,
    M_INDEX_GENERATION,
    M_INDEX_AGE,
    M_INDEX_BYTES,
    M_INDEX_PACKAGES,
    M_INDEX_OBJECTS,
    M_INDEX_PROGRAMS,
    M_INDEX_PROBLEMS,
    M_FAILED_CALLS,
    M_PLANS,
    M_PLANS_WANTED,
    M_SNAPSHOTS,
    M_SNAPSHOT_SECONDS,
    M_JOBS,
    M_JOBS_ENDED,
    M_SCANNED_PACKAGES,
    M_SCAN_SECONDS,
    M_CPU_SECONDS,
    M_RESIDENT_BYTES,
    M_OPEN_FILES,
    M_START_TIME,
    N_SERVICE_METRICS,
};
extern const struct metric service_metrics_table[N_SERVICE_METRICS];
