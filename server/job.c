#include "server/job.h"

#include "server/job_private.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS_MAX = 3 };

static const char *const state_names[N_JOB_STATES] = {
    [JOB_QUEUED] = "queued", [JOB_RUNNING] = "running",     [JOB_DONE] = "done",
    [JOB_FAILED] = "failed", [JOB_CANCELLED] = "cancelled",
};

const char *job_state_name(enum job_state state)
{
    return state_names[state];
}

/* ---- as JSON */

static json_t *job_json(const struct job *job)
{
    json_t *json = json_object();

    json_put_int(json, "id", job->id);
    json_put_text(json, "state", state_names[job->state]);
    json_put(json, "name", job_value(json_object_get(job->order, "name")));
    json_put(json, "store", job_value(json_object_get(job->order, "store")));
    json_put(json, "paths", job_value(json_object_get(job->order, "paths")));
    json_put(json, "created", json_time(job->created));
    json_put(json, "started", json_time(job->started));
    json_put(json, "ended", json_time(job->ended));
    json_put_int(json, "attempts", job->attempts);
    json_put(json, "progress", job_value(job->progress));
    json_put(json, "result", job_value(job->result));
    json_put_text(json, "audit", *job->audit ? job->audit : NULL);
    json_put(json, "incomplete", json_boolean(job->incomplete));
    json_put_text(json, "error", job->error);
    return json;
}

/* ---- opening */

static int make_folder(const char *path, struct err *err)
{
    if (mkdir(path, 0750) < 0 && errno != EEXIST)
        return err_set(err, errno, "state directory '%s': %s", path, strerror(errno));
    return 0;
}

static int by_job_id(const void *a, const void *b)
{
    const int64_t x = (*(struct job *const *)a)->id, y = (*(struct job *const *)b)->id;

    return (x > y) - (x < y);
}

static void add(struct jobs *jobs, struct job *job)
{
    jobs->job = realloc(jobs->job, (jobs->n + 1) * sizeof(struct job *));
    if (!jobs->job)
        abort();
    jobs->job[jobs->n++] = job;
    if (job->id >= jobs->next_id)
        jobs->next_id = job->id + 1;
}

/* A job that was under way when the service ended is begun again, but not for ever. */
static void resume(struct jobs *jobs, struct job *job)
{
    if (job->state != JOB_RUNNING)
        return;
    if (!job->order || job->attempts >= ATTEMPTS_MAX) {
        job->state = JOB_FAILED;
        job->error = strdup("the service ended while it ran, again and again");
        job->ended = time(NULL);
    } else {
        job->state = JOB_QUEUED;
    }
    job_keep(jobs, job);
}

static int load_all(struct jobs *jobs, struct err *err)
{
    DIR *dir = opendir(jobs->folder);
    const struct dirent *entry;

    if (!dir)
        return err_set(err, errno, "state directory '%s': %s", jobs->folder, strerror(errno));
    while ((entry = readdir(dir))) {
        char *end;
        const long long id = strtoll(entry->d_name, &end, 10);
        struct job *job = id > 0 && !strcmp(end, ".json") ? job_load(jobs, id) : NULL;

        if (job)
            add(jobs, job);
    }
    (void)closedir(dir);
    if (jobs->n)
        qsort(jobs->job, jobs->n, sizeof(struct job *), by_job_id);
    for (size_t i = 0; i < jobs->n; i++)
        resume(jobs, jobs->job[i]);
    return 0;
}

int jobs_open(const struct service_options *options, struct archive *archive,
              struct metrics *metrics, struct jobs **ret_jobs, struct err *err)
{
    struct jobs *jobs = calloc(1, sizeof(*jobs));
    int r;

    if (!jobs || asprintf(&jobs->folder, "%s/jobs", options->state) < 0)
        abort();
    jobs->options = options;
    jobs->archive = archive;
    jobs->metrics = metrics;
    jobs->next_id = 1;
    pthread_mutex_init(&jobs->lock, NULL);
    r = make_folder(jobs->folder, err);
    if (r == 0)
        r = load_all(jobs, err);
    if (r < 0) {
        jobs_close(jobs);
        return r;
    }
    *ret_jobs = jobs;
    return 0;
}

void jobs_close(struct jobs *jobs)
{
    if (!jobs)
        return;
    worker_kill(jobs->worker);
    worker_free(jobs->worker);
    for (size_t i = 0; i < jobs->n; i++)
        job_free(jobs->job[i]);
    free(jobs->job);
    free(jobs->folder);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}

/* ---- for requests */

static json_t *order_json(const struct order *order)
{
    json_t *json = json_object();

    json_put_text(json, "name", order->name);
    json_put_text(json, "root", order->root);
    json_put_text(json, "store", order->store);
    json_put(json, "paths", json_texts(order->path, order->n_paths));
    return json;
}

/* With the lock held: ended jobs beyond what is kept go, the oldest first. */
static void drop_old(struct jobs *jobs)
{
    char path[JOB_PATH_MAX];
    size_t i;

    while (jobs->n > JOBS_KEPT) {
        for (i = 0; i < jobs->n; i++)
            if (jobs->job[i]->state >= JOB_DONE)
                break;
        if (i == jobs->n)
            return;
        (void)unlink(job_path(jobs, jobs->job[i]->id, ".json", path, sizeof(path)));
        job_free(jobs->job[i]);
        jobs->n--;
        memmove(jobs->job + i, jobs->job + i + 1, (jobs->n - i) * sizeof(struct job *));
    }
}

int jobs_add(struct jobs *jobs, const struct order *order, int64_t *ret_id, struct err *err)
{
    struct job *job;
    size_t waiting = 0;
    int r;

    pthread_mutex_lock(&jobs->lock);
    for (size_t i = 0; i < jobs->n; i++)
        waiting += jobs->job[i]->state == JOB_QUEUED;
    if (waiting >= JOBS_WAITING_MAX) {
        pthread_mutex_unlock(&jobs->lock);
        return err_set(err, EAGAIN, "%zu jobs are waiting already", waiting);
    }
    job = calloc(1, sizeof(*job));
    if (!job)
        abort();
    job->id = jobs->next_id;
    job->order = order_json(order);
    job->created = time(NULL);
    r = job_save(jobs, job, err);
    if (r == 0) {
        add(jobs, job);
        *ret_id = job->id;
        drop_old(jobs);
    } else {
        job_free(job);
    }
    pthread_mutex_unlock(&jobs->lock);
    return r;
}

/* With the lock held. */
static struct job *find(const struct jobs *jobs, int64_t id)
{
    for (size_t i = 0; i < jobs->n; i++)
        if (jobs->job[i]->id == id)
            return jobs->job[i];
    return NULL;
}

/* With the lock held. */
void job_end(struct jobs *jobs, struct job *job, enum job_state state, const char *error)
{
    char labels[40];

    job->state = state;
    job->ended = time(NULL);
    free(job->error);
    job->error = error ? strdup(error) : NULL;
    job_keep(jobs, job);
    (void)snprintf(labels, sizeof(labels), "state=\"%s\"", state_names[state]);
    metric_add(jobs->metrics, M_JOBS_ENDED, labels, 1);
}

int jobs_cancel(struct jobs *jobs, int64_t id, struct err *err)
{
    struct job *job;
    int r = 0;

    pthread_mutex_lock(&jobs->lock);
    job = find(jobs, id);
    if (!job)
        r = err_set(err, ENOENT, "there is no job %" PRId64, id);
    else if (job->state == JOB_RUNNING)
        job->cancel = true; /* the next tick does it */
    else if (job->state == JOB_QUEUED)
        job_end(jobs, job, JOB_CANCELLED, NULL);
    else
        r = err_set(err, EEXIST, "job %" PRId64 " has ended already", id);
    pthread_mutex_unlock(&jobs->lock);
    return r;
}

json_t *jobs_one(struct jobs *jobs, int64_t id)
{
    const struct job *job;
    json_t *json;

    pthread_mutex_lock(&jobs->lock);
    job = find(jobs, id);
    json = job ? job_json(job) : NULL;
    pthread_mutex_unlock(&jobs->lock);
    return json;
}

json_t *jobs_all(struct jobs *jobs)
{
    json_t *array = json_array();

    pthread_mutex_lock(&jobs->lock);
    for (size_t i = jobs->n; i--;)
        json_push(array, job_json(jobs->job[i]));
    pthread_mutex_unlock(&jobs->lock);
    return array;
}

void jobs_count(struct jobs *jobs, size_t ret_count[N_JOB_STATES])
{
    memset(ret_count, 0, N_JOB_STATES * sizeof(*ret_count));
    pthread_mutex_lock(&jobs->lock);
    for (size_t i = 0; i < jobs->n; i++)
        ret_count[jobs->job[i]->state]++;
    pthread_mutex_unlock(&jobs->lock);
}
