#include "server/job.h"

#include "base/log.h"
#include "base/str.h"
#include "server/archive.h"
#include "server/service.h"
#include "server/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { JOB_FILE_MAX = 16 * 1024 * 1024, ATTEMPTS_MAX = 3, ERROR_MAX = 2000 };

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

static const char *const state_names[N_JOB_STATES] = {
    [JOB_QUEUED] = "queued", [JOB_RUNNING] = "running",     [JOB_DONE] = "done",
    [JOB_FAILED] = "failed", [JOB_CANCELLED] = "cancelled",
};

const char *job_state_name(enum job_state state)
{
    return state_names[state];
}

static void job_free(struct job *job)
{
    if (!job)
        return;
    json_decref(job->order);
    json_decref(job->progress);
    json_decref(job->result);
    free(job->error);
    free(job);
}

/* ---- as JSON */

static json_t *time_json(int64_t at)
{
    const time_t t = (time_t)at;
    struct tm tm;
    char text[40] = "";

    if (at && gmtime_r(&t, &tm))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    return json_text(*text ? text : NULL);
}

/* A copy: what a thread takes away must be its own. */
static json_t *or_null(const json_t *value)
{
    return value ? json_deep_copy(value) : json_null();
}

static json_t *job_json(const struct job *job)
{
    json_t *json = json_object();

    json_put_int(json, "id", job->id);
    json_put_text(json, "state", state_names[job->state]);
    json_put(json, "name", or_null(json_object_get(job->order, "name")));
    json_put(json, "store", or_null(json_object_get(job->order, "store")));
    json_put(json, "paths", or_null(json_object_get(job->order, "paths")));
    json_put(json, "created", time_json(job->created));
    json_put(json, "started", time_json(job->started));
    json_put(json, "ended", time_json(job->ended));
    json_put_int(json, "attempts", job->attempts);
    json_put(json, "progress", or_null(job->progress));
    json_put(json, "result", or_null(job->result));
    json_put_text(json, "audit", *job->audit ? job->audit : NULL);
    json_put(json, "incomplete", json_boolean(job->incomplete));
    json_put_text(json, "error", job->error);
    return json;
}

/* ---- files */

static char *file_of(const struct jobs *jobs, int64_t id, const char *suffix, char *path,
                     size_t size)
{
    (void)snprintf(path, size, "%s/%" PRId64 "%s", jobs->folder, id, suffix);
    return path;
}

/* Replace the job's file: what is there is always whole. */
static int save(const struct jobs *jobs, const struct job *job, struct err *err)
{
    char path[4200], fresh[4200];
    json_t *json = json_object();
    FILE *to;
    int r;

    json_put_text(json, "state", state_names[job->state]);
    json_put(json, "order", or_null(job->order));
    json_put(json, "result", or_null(job->result));
    json_put_text(json, "audit", *job->audit ? job->audit : NULL);
    json_put_text(json, "error", job->error);
    json_put(json, "incomplete", json_boolean(job->incomplete));
    json_put_int(json, "created", job->created);
    json_put_int(json, "started", job->started);
    json_put_int(json, "ended", job->ended);
    json_put_int(json, "attempts", job->attempts);
    to = fopen(file_of(jobs, job->id, ".new", fresh, sizeof(fresh)), "we");
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
    if (r == 0 && rename(fresh, file_of(jobs, job->id, ".json", path, sizeof(path))) < 0)
        r = err_set(err, errno, "the job cannot be kept: %s", strerror(errno));
    if (r < 0)
        (void)unlink(fresh);
    return r;
}

static void save_or_log(const struct jobs *jobs, const struct job *job)
{
    struct err err;

    if (save(jobs, job, &err) < 0)
        log_warn("job %" PRId64 ": %s", job->id, err.text);
}

static int64_t number(const json_t *json, const char *key)
{
    return json_integer_value(json_object_get(json, key));
}

static json_t *object_or_null(const json_t *json, const char *key)
{
    json_t *value = json_object_get(json, key);

    return json_is_object(value) ? json_incref(value) : NULL;
}

static struct job *load(const struct jobs *jobs, int64_t id)
{
    char path[4200];
    struct job *job;
    const char *state, *error, *audit;
    struct err err;
    json_t *json;

    if (json_read_file(file_of(jobs, id, ".json", path, sizeof(path)), JOB_FILE_MAX, &json, &err) <
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
        if (state && !strcmp(state, state_names[i]))
            job->state = (enum job_state)i;
    job->order = object_or_null(json, "order");
    job->result = object_or_null(json, "result");
    error = json_string_value(json_object_get(json, "error"));
    job->error = error ? strdup(error) : NULL;
    audit = json_string_value(json_object_get(json, "audit"));
    (void)snprintf(job->audit, sizeof(job->audit), "%s", audit ? audit : "");
    job->incomplete = json_is_true(json_object_get(json, "incomplete"));
    job->created = number(json, "created");
    job->started = number(json, "started");
    job->ended = number(json, "ended");
    job->attempts = number(json, "attempts");
    json_decref(json);
    return job;
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
    save_or_log(jobs, job);
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
        struct job *job = id > 0 && !strcmp(end, ".json") ? load(jobs, id) : NULL;

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
    json_t *json = json_object(), *paths = json_array();

    for (size_t i = 0; i < order->n_paths; i++)
        json_push(paths, json_text(order->path[i]));
    json_put_text(json, "name", order->name);
    json_put_text(json, "root", order->root);
    json_put_text(json, "store", order->store);
    json_put(json, "paths", paths);
    return json;
}

/* With the lock held: ended jobs beyond what is kept go, the oldest first. */
static void drop_old(struct jobs *jobs)
{
    char path[4200];
    size_t i;

    while (jobs->n > JOBS_KEPT) {
        for (i = 0; i < jobs->n; i++)
            if (jobs->job[i]->state >= JOB_DONE)
                break;
        if (i == jobs->n)
            return;
        (void)unlink(file_of(jobs, jobs->job[i]->id, ".json", path, sizeof(path)));
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
    r = save(jobs, job, err);
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
static void end_job(struct jobs *jobs, struct job *job, enum job_state state, const char *error)
{
    char labels[40];

    job->state = state;
    job->ended = time(NULL);
    free(job->error);
    job->error = error ? strdup(error) : NULL;
    save_or_log(jobs, job);
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
        end_job(jobs, job, JOB_CANCELLED, NULL);
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

/* ---- the worker */

static const char *text_of(const struct job *job, const char *key, struct arena *arena)
{
    const char *text = json_string_value(json_object_get(job->order, key));

    return text ? str_unescape(arena, text) : NULL;
}

static size_t add_paths(const struct job *job, const char **argv, size_t at, struct arena *arena)
{
    const json_t *paths = json_object_get(job->order, "paths");

    for (size_t i = 0; i < json_array_size(paths); i++) {
        const char *path = json_string_value(json_array_get(paths, i));

        if (path) /* escaped, as the command reads it */
            argv[at++] = arena_strdup(arena, path);
    }
    return at;
}

/* `stormlint scan` for this job. */
static const char **scan_command(const struct jobs *jobs, const struct job *job,
                                 struct arena *arena)
{
    const size_t n = json_array_size(json_object_get(job->order, "paths"));
    const char **argv = arena_calloc(arena, n + 16, sizeof(*argv));
    const char *root = text_of(job, "root", arena), *store = text_of(job, "store", arena);
    size_t at = 0;

    argv[at++] = "stormlint";
    argv[at++] = "scan";
    argv[at++] = "--db";
    argv[at++] = jobs->options->index;
    argv[at++] = "--root";
    argv[at++] = root ? root : "/";
    argv[at++] = "--store";
    argv[at++] = store ? store : "/nix/store";
    argv[at++] = "--jobs=1";
    argv[at++] = "--json";
    argv[at++] = arena_printf(arena, "--progress-fd=%d", (int)WORKER_PROGRESS_FD);
    argv[at++] = "--";
    (void)add_paths(job, argv, at, arena);
    return argv;
}

static char *draft_of(const struct jobs *jobs, const struct job *job)
{
    char name[40];

    (void)snprintf(name, sizeof(name), "job-%" PRId64, job->id);
    return archive_draft(jobs->archive, name);
}

/* `stormlint audit` of what was scanned. */
static const char **audit_command(const struct jobs *jobs, const struct job *job,
                                  struct arena *arena)
{
    const size_t n = json_array_size(json_object_get(job->order, "paths"));
    const char **argv = arena_calloc(arena, n + 16, sizeof(*argv));
    const char *name = json_string_value(json_object_get(job->order, "name"));
    char *draft = draft_of(jobs, job);
    size_t at = 0;

    argv[at++] = "stormlint";
    argv[at++] = "audit";
    argv[at++] = "--db";
    argv[at++] = jobs->options->index;
    argv[at++] = "--cpu";
    argv[at++] = jobs->options->cpu;
    argv[at++] = "-o";
    argv[at++] = arena_strdup(arena, draft);
    argv[at++] = arena_printf(arena, "--progress-fd=%d", (int)WORKER_PROGRESS_FD);
    if (jobs->options->policy_file)
        argv[at++] = arena_printf(arena, "--policy=%s", jobs->options->policy_file);
    argv[at++] = "--";
    argv[at++] = name ? name : "unnamed";
    (void)add_paths(job, argv, at, arena);
    free(draft);
    return argv;
}

/* With the lock held. */
static void start_step(struct jobs *jobs, struct job *job, enum step step)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char out[4200], errors[4200];
    struct err err;

    job->step = step;
    if (worker_start(
            jobs->options->program,
            step == STEP_SCAN ? scan_command(jobs, job, &arena) : audit_command(jobs, job, &arena),
            file_of(jobs, job->id, ".out", out, sizeof(out)),
            file_of(jobs, job->id, ".err", errors, sizeof(errors)), &jobs->worker, &err) < 0)
        end_job(jobs, job, JOB_FAILED, err.text);
    else
        jobs->running = job;
}

static void start_next(struct jobs *jobs)
{
    struct job *job = NULL;

    for (size_t i = 0; i < jobs->n && !job; i++)
        if (jobs->job[i]->state == JOB_QUEUED)
            job = jobs->job[i];
    if (!job)
        return;
    job->state = JOB_RUNNING;
    job->started = time(NULL);
    job->attempts++;
    job->cancel = false;
    save_or_log(jobs, job); /* before it starts: a restart must know of it */
    start_step(jobs, job, STEP_SCAN);
}

/* The last bytes of a file, malloc()ed; "": it cannot be read. */
static char *tail_of(const char *path)
{
    char *text = calloc(1, ERROR_MAX + 1);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);

    if (!text)
        abort();
    if (fd >= 0) {
        const ssize_t n = pread(fd, text, ERROR_MAX, size > ERROR_MAX ? size - ERROR_MAX : 0);

        text[n > 0 ? n : 0] = '\0';
        (void)close(fd);
    }
    while (*text && text[strlen(text) - 1] == '\n')
        text[strlen(text) - 1] = '\0';
    return text;
}

/* What a worker said, without where things lie on this machine. */
static char *said_of(const struct jobs *jobs, const struct job *job)
{
    const char *const hidden[] = {jobs->options->index, jobs->options->state};
    const char *const *place;
    char path[4200], *said = tail_of(file_of(jobs, job->id, ".err", path, sizeof(path))), *at;

    (void)unlink(path);
    for_each (place, hidden)
        while (**place && (at = strstr(said, *place))) {
            memmove(at + 3, at + strlen(*place), strlen(at + strlen(*place)) + 1);
            memcpy(at, "...", 3);
        }
    return said;
}

/* The scan's summary. With the lock held. */
static void take_scan(struct jobs *jobs, struct job *job, const char *out)
{
    struct err err;

    json_decref(job->result);
    job->result = NULL;
    if (json_read_file(out, JOB_FILE_MAX, &job->result, &err) < 0) {
        end_job(jobs, job, JOB_FAILED, "the scanner said nothing that can be understood");
        return;
    }
    (void)json_object_del(job->result, "db"); /* where it is, is nobody's business */
    metric_add(jobs->metrics, M_SCANNED_PACKAGES, "", (double)number(job->result, "scanned"));
    start_step(jobs, job, STEP_AUDIT);
}

static void take_audit(struct jobs *jobs, struct job *job, const char *said)
{
    char *draft = draft_of(jobs, job);
    struct err err;
    bool is_new;

    if (archive_add(jobs->archive, draft, job->audit, &is_new, &err) < 0)
        end_job(jobs, job, JOB_FAILED, err.text);
    else
        end_job(jobs, job, JOB_DONE, job->incomplete && *said ? said : NULL);
    free(draft);
}

/* What a worker that has ended leaves. With the lock held. */
static void take_result(struct jobs *jobs, struct job *job, const struct worker_end *end)
{
    const char *who = job->step == STEP_SCAN ? "scanner" : "audit";
    char out[4200], *said = said_of(jobs, job);
    struct err err;

    (void)file_of(jobs, job->id, ".out", out, sizeof(out));
    jobs->running = NULL;
    if (job->cancel) {
        end_job(jobs, job, JOB_CANCELLED, NULL);
    } else if (end->signal) {
        (void)snprintf(err.text, sizeof(err.text), "the %s was killed by signal %d", who,
                       end->signal);
        end_job(jobs, job, JOB_FAILED, err.text);
    } else if (end->code != 0 && end->code != 3) {
        (void)snprintf(err.text, sizeof(err.text), "the %s ended with code %d%s%.1000s", who,
                       end->code, *said ? ": " : "", said);
        end_job(jobs, job, JOB_FAILED, err.text);
    } else {
        job->incomplete = job->incomplete || end->code == 3;
        if (job->step == STEP_SCAN)
            take_scan(jobs, job, out);
        else
            take_audit(jobs, job, said);
    }
    (void)unlink(out);
    free(said);
    if (!jobs->running)
        metric_add(jobs->metrics, M_SCAN_SECONDS, "", (double)(job->ended - job->started));
}

void jobs_tick(struct jobs *jobs)
{
    struct worker_end end;
    json_t *progress;

    pthread_mutex_lock(&jobs->lock);
    if (jobs->running) {
        progress = worker_progress(jobs->worker);
        if (progress) {
            json_decref(jobs->running->progress);
            jobs->running->progress = progress;
        }
        if (jobs->running->cancel)
            worker_kill(jobs->worker);
        if (worker_ended(jobs->worker, &end)) {
            worker_free(jobs->worker);
            jobs->worker = NULL;
            take_result(jobs, jobs->running, &end);
        }
    }
    if (!jobs->running)
        start_next(jobs);
    pthread_mutex_unlock(&jobs->lock);
}

void jobs_stop(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    if (jobs->running) {
        worker_kill(jobs->worker);
        worker_free(jobs->worker);
        jobs->worker = NULL;
        jobs->running->state = JOB_QUEUED;
        if (jobs->running->attempts > 0)
            jobs->running->attempts--; /* it was us who ended it */
        save_or_log(jobs, jobs->running);
        jobs->running = NULL;
    }
    pthread_mutex_unlock(&jobs->lock);
}
