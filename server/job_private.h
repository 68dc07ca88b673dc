/*
 * What job.c, job_file.c and job_run.c share, nobody else.
 */
#pragma once

#include "server/job.h"
#include "server/service.h"
#include "server/worker.h"

#include <pthread.h>

enum { JOB_FILE_MAX = 16 * 1024 * 1024, JOB_PATH_MAX = 4200 };

struct job {
    int64_t id;
    enum job_state state;
    json_t *order;    /* name, root, store, paths: as it stands in the file */
    json_t *progress; /* label, done, total; NULL: nothing is known */
    json_t *result;   /* what the scan printed; NULL: none */
    char audit[20];   /* id of what came of it; "": none */
    enum step { STEP_SCAN, STEP_AUDIT } step;
    char *error;                     /* malloc()ed; NULL: none */
    bool incomplete;                 /* some of it could not be read */
    bool cancel;                     /* asked for while it runs */
    int64_t created, started, ended; /* seconds since 1970; 0: not yet */
    int64_t attempts;
};

struct jobs {
    const struct service_options *options;
    struct archive *archive;
    struct metrics *metrics;
    char *folder;         /* STATE/jobs */
    pthread_mutex_t lock; /* of what follows */
    struct job **job;     /* by id */
    size_t n;
    int64_t next_id;
    struct job *running;
    struct worker *worker; /* of the tick's thread */
};

/* ---- job_file.c */

/* STATE/jobs/ID and a suffix, put into `path`. */
char *job_path(const struct jobs *jobs, int64_t id, const char *suffix, char *path, size_t size);

/* Replace the job's file: what is there is always whole. job_keep() tells the log of a failure. */
MUST_CHECK int job_save(const struct jobs *jobs, const struct job *job, struct err *err);
void job_keep(const struct jobs *jobs, const struct job *job);

/* NULL: it cannot be read, as the log says. */
struct job *job_load(const struct jobs *jobs, int64_t id);
void job_free(struct job *job); /* NULL: nothing */

/* A copy of a value, null for NULL: what a thread takes away must be its own. New reference. */
json_t *job_value(const json_t *value);

/* The number that an object has under a key; 0: none. */
int64_t job_number(const json_t *json, const char *key);

/* ---- job.c */

/* The end of a job, with the lock held. `error`: NULL, or a sentence. */
void job_end(struct jobs *jobs, struct job *job, enum job_state state, const char *error);
