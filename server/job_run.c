/* Carrying jobs out: one at a time, each step in a worker. */
#include "base/str.h"
#include "server/archive.h"
#include "server/job_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ERROR_MAX = 2000 }; /* bytes kept of what a worker said */

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
    if (jobs->options->meta) /* noted in the index, of which the audit is made */
        argv[at++] = arena_printf(arena, "--meta=%s", jobs->options->meta);
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
    struct err err;

    job->step = step;
    if (worker_start(jobs->options->program,
                     step == STEP_SCAN ? scan_command(jobs, job, &arena)
                                       : audit_command(jobs, job, &arena),
                     &jobs->worker, &err) < 0)
        job_end(jobs, job, JOB_FAILED, err.text);
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
    job_keep(jobs, job); /* before it starts: a restart must know of it */
    start_step(jobs, job, STEP_SCAN);
}

/* The last bytes of a file, malloc()ed; "": it cannot be read. */
static char *tail_of(int fd)
{
    char *text = calloc(1, ERROR_MAX + 1);
    const off_t size = lseek(fd, 0, SEEK_END);
    ssize_t n;

    if (!text)
        abort();
    n = pread(fd, text, ERROR_MAX, size > ERROR_MAX ? size - ERROR_MAX : 0);
    text[n > 0 ? n : 0] = '\0';
    while (*text && text[strlen(text) - 1] == '\n')
        text[strlen(text) - 1] = '\0';
    return text;
}

/* `text` with "..." for each `place`. */
static const char *without(const char *text, const char *place, struct arena *arena)
{
    struct str out = {.arena = arena};
    const char *at;

    str_add(&out, "");
    while (*place && (at = strstr(text, place))) {
        str_add_n(&out, text, (size_t)(at - text));
        str_add(&out, "...");
        text = at + strlen(place);
    }
    str_add(&out, text);
    return out.text;
}

/* What a worker said (as terminals are told: escaped), without where things lie on this machine. */
static const char *said_of(const struct jobs *jobs, const struct worker *worker,
                           struct arena *arena)
{
    char *tail = tail_of(worker_errors(worker));
    const char *said = without(tail, str_escape(arena, jobs->options->index), arena);

    free(tail);
    return str_unescape(arena, without(said, str_escape(arena, jobs->options->state), arena));
}

/* The scan's summary. With the lock held. */
static void take_scan(struct jobs *jobs, struct job *job, const struct worker *worker)
{
    char out[40];
    struct err err;

    (void)snprintf(out, sizeof(out), "/proc/self/fd/%d", worker_out(worker));

    json_decref(job->result);
    job->result = NULL;
    if (json_read_file(out, JOB_FILE_MAX, &job->result, &err) < 0) {
        job_end(jobs, job, JOB_FAILED, "the scanner said nothing that can be understood");
        return;
    }
    (void)json_object_del(job->result, "db"); /* where it is, is nobody's business */
    metric_add(jobs->metrics, M_SCANNED_PACKAGES, "", (double)job_number(job->result, "scanned"));
    start_step(jobs, job, STEP_AUDIT);
}

static void take_audit(struct jobs *jobs, struct job *job, const char *said)
{
    char *draft = draft_of(jobs, job);
    struct err err;
    bool is_new;

    if (archive_add(jobs->archive, draft, job->audit, &is_new, &err) < 0)
        job_end(jobs, job, JOB_FAILED, err.text);
    else
        job_end(jobs, job, JOB_DONE, job->incomplete && *said ? said : NULL);
    free(draft);
}

/* What a worker that has ended leaves. With the lock held. */
static void take_result(struct jobs *jobs, struct job *job, const struct worker *worker,
                        const struct worker_end *end)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const char *who = job->step == STEP_SCAN ? "scanner" : "audit";
    const char *said = said_of(jobs, worker, &scratch);
    struct err err;

    jobs->running = NULL;
    if (job->cancel) {
        job_end(jobs, job, JOB_CANCELLED, NULL);
    } else if (end->signal) {
        (void)snprintf(err.text, sizeof(err.text), "the %s was killed by signal %d", who,
                       end->signal);
        job_end(jobs, job, JOB_FAILED, err.text);
    } else if (end->code != 0 && end->code != 3) {
        (void)snprintf(err.text, sizeof(err.text), "the %s ended with code %d%s%.1000s", who,
                       end->code, *said ? ": " : "", said);
        job_end(jobs, job, JOB_FAILED, err.text);
    } else {
        job->incomplete = job->incomplete || end->code == 3;
        if (job->step == STEP_SCAN)
            take_scan(jobs, job, worker);
        else
            take_audit(jobs, job, said);
    }
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
            struct worker *worker = jobs->worker;

            jobs->worker = NULL;
            take_result(jobs, jobs->running, worker, &end);
            worker_free(worker);
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
        job_keep(jobs, jobs->running);
        jobs->running = NULL;
    }
    pthread_mutex_unlock(&jobs->lock);
}
