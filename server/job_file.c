/* Jobs as files: each is replaced whole, so that a service that was killed finds them as they were. */
#include "base/log.h"
#include "base/str.h"
#include "server/job_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void job_free(struct job *job)
{
    if (!job)
        return;
    json_decref(job->order);
    json_decref(job->progress);
    json_decref(job->result);
    free(job->error);
    free(job);
}

json_t *job_value(const json_t *value)
{
    return value ? json_deep_copy(value) : json_null();
}

char *job_path(const struct jobs *jobs, int64_t id, const char *suffix, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/%" PRId64 "%s", jobs->folder, id, suffix);
    return path;
}

int job_save(const struct jobs *jobs, const struct job *job, struct err *err)
{
    char path[JOB_PATH_MAX], fresh[JOB_PATH_MAX];
    json_t *json = json_object();
    FILE *to;
    int r;

    json_put_text(json, "state", job_state_name(job->state));
    json_put(json, "order", job_value(job->order));
    json_put(json, "result", job_value(job->result));
    json_put_text(json, "audit", *job->audit ? job->audit : NULL);
    json_put_text(json, "error", job->error);
    json_put(json, "incomplete", json_boolean(job->incomplete));
    json_put_int(json, "created", job->created);
    json_put_int(json, "started", job->started);
    json_put_int(json, "ended", job->ended);
    json_put_int(json, "attempts", job->attempts);
    to = fopen(job_path(jobs, job->id, ".new", fresh, sizeof(fresh)), "we");
    if (!to) {
        json_decref(json);
        return err_set(err, errno, "the job cannot be kept: %s", strerror(errno));
    }
    r = json_print(json, to, false, err);
    json_decref(json);
    if (r == 0 && (fflush(to) != 0 || fsync(fileno(to)) < 0))
        r = err_set(err, errno, "the job cannot be kept: %s", strerror(errno));
    if (fclose(to) != 0 && r == 0)
        r = err_set(err, errno, "the job cannot be kept: %s", strerror(errno));
    if (r == 0 && rename(fresh, job_path(jobs, job->id, ".json", path, sizeof(path))) < 0)
        r = err_set(err, errno, "the job cannot be kept: %s", strerror(errno));
    if (r < 0)
        (void)unlink(fresh);
    return r;
}

void job_keep(const struct jobs *jobs, const struct job *job)
{
    struct err err;

    if (job_save(jobs, job, &err) < 0)
        log_warn("job %" PRId64 ": %s", job->id, err.text);
}

int64_t job_number(const json_t *json, const char *key)
{
    return json_integer_value(json_object_get(json, key));
}

static json_t *object_job_value(const json_t *json, const char *key)
{
    json_t *value = json_object_get(json, key);

    return json_is_object(value) ? json_incref(value) : NULL;
}

struct job *job_load(const struct jobs *jobs, int64_t id)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    char path[JOB_PATH_MAX];
    struct job *job;
    const char *state, *error, *audit;
    struct err err;
    json_t *json;

    if (json_read_file(job_path(jobs, id, ".json", path, sizeof(path)), JOB_FILE_MAX, &json, &err) <
        0) {
        log_warn("%s, skipping", err.text);
        return NULL;
    }
    job = calloc(1, sizeof(*job));
    if (!job)
        abort();
    job->id = id;
    job->state = JOB_FAILED;
    state = json_string_value(json_object_get(json, "state"));
    for (unsigned i = 0; i < N_JOB_STATES; i++)
        if (state && !strcmp(state, job_state_name((enum job_state)i)))
            job->state = (enum job_state)i;
    job->order = object_job_value(json, "order");
    job->result = object_job_value(json, "result");
    error = json_string_value(json_object_get(json, "error"));
    job->error = error ? strdup(str_unescape(&scratch, error)) : NULL;
    audit = json_string_value(json_object_get(json, "audit"));
    (void)snprintf(job->audit, sizeof(job->audit), "%s", audit ? audit : "");
    job->incomplete = json_is_true(json_object_get(json, "incomplete"));
    job->created = job_number(json, "created");
    job->started = job_number(json, "started");
    job->ended = job_number(json, "ended");
    job->attempts = job_number(json, "attempts");
    json_decref(json);
    return job;
}
