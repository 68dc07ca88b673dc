/* What operators ask: alive, ready, numbers, and the interface itself. */
#include "server/api.h"
#include "server/job.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int get_healthz(struct query *query, struct reply *reply, struct err *err)
{
    (void)query;
    (void)err;
    reply->json = json_object();
    json_put_text(reply->json, "status", "ok");
    json_put_text(reply->json, "version", VERSION);
    return 0;
}

int get_readyz(struct query *query, struct reply *reply, struct err *err)
{
    const char *problem = service_problem(query->service, query->arena), *why_not;
    struct snapshot *snap = service_snapshot(query->service, query->arena, &why_not);
    json_t *reasons = json_array();

    (void)err;
    if (problem)
        json_push(reasons, json_text(problem));
    reply->json = json_object();
    json_put_text(reply->json, "status", problem || !snap ? "not ready" : "ready");
    json_put(reply->json, "reasons", reasons);
    json_put(reply->json, "generation", snap ? json_integer(snap->moment.generation) : json_null());
    if (problem || !snap) {
        reply->status = 503;
        reply->retry_after_seconds = 5;
    }
    snapshot_unref(snap);
    return 0;
}

/* ---- metrics */

static double timeval_s(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static size_t open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    if (!dir)
        return 0;
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n > 3 ? n - 3 : 0; /* ".", "..", and the one that reads */
}

static void process_metrics(struct metrics *m, const struct service *service)
{
    unsigned long size = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    struct rusage usage;

    if (statm) {
        if (fscanf(statm, "%lu %lu", &size, &resident) == 2)
            metric_set(m, M_RESIDENT_BYTES, "", (double)resident * (double)sysconf(_SC_PAGESIZE));
        (void)fclose(statm);
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        metric_set(m, M_CPU_SECONDS, "", timeval_s(usage.ru_utime) + timeval_s(usage.ru_stime));
    metric_set(m, M_OPEN_FILES, "", (double)open_files());
    metric_set(m, M_START_TIME, "", (double)service_started_at(service));
    metric_set(m, M_BUILD, "version=\"" VERSION "\"", 1);
}

static void snapshot_metrics(struct metrics *m, struct snapshot *snap)
{
    const struct index_totals *t = &snap->totals;
    size_t planned, to_plan;
    unsigned revision;

    snapshot_progress(snap, &planned, &to_plan, &revision);
    metric_set(m, M_INDEX_GENERATION, "", (double)snap->moment.generation);
    metric_set(m, M_INDEX_AGE, "", (double)(time(NULL) - snap->index_at));
    metric_set(m, M_INDEX_PACKAGES, "state=\"scanned\"", (double)t->packages);
    metric_set(m, M_INDEX_PACKAGES, "state=\"incomplete\"", (double)t->incomplete);
    metric_set(m, M_INDEX_PACKAGES, "state=\"gone\"", (double)t->gone);
    metric_set(m, M_INDEX_OBJECTS, "", (double)t->objects);
    metric_set(m, M_INDEX_PROGRAMS, "", (double)t->programs);
    metric_set(m, M_INDEX_PROBLEMS, "kind=\"malformed\"", (double)t->malformed);
    metric_set(m, M_INDEX_PROBLEMS, "kind=\"unread\"", (double)t->unread);
    metric_set(m, M_FAILED_CALLS, "call=\"open\"", (double)snap->sum.failed_opens);
    metric_set(m, M_FAILED_CALLS, "call=\"stat\"", (double)snap->sum.failed_stats);
    metric_set(m, M_PLANS, "", (double)planned);
    metric_set(m, M_PLANS_WANTED, "", (double)to_plan);
}

static void job_metrics(struct metrics *m, struct jobs *jobs)
{
    size_t count[N_JOB_STATES];
    char labels[40];

    jobs_count(jobs, count);
    for (unsigned i = 0; i < N_JOB_STATES; i++) {
        (void)snprintf(labels, sizeof(labels), "state=\"%s\"", job_state_name((enum job_state)i));
        metric_set(m, M_JOBS, labels, (double)count[i]);
    }
}

int get_metrics(struct query *query, struct reply *reply, struct err *err)
{
    struct service *service = query->service;
    struct metrics *m = service_metrics(service);
    struct str text = {.arena = query->arena};
    const char *why_not;
    struct snapshot *snap = service_snapshot(service, query->arena, &why_not);
    struct stat st;

    (void)err;
    process_metrics(m, service);
    if (snap)
        snapshot_metrics(m, snap);
    if (stat(service_options(service)->index, &st) == 0)
        metric_set(m, M_INDEX_BYTES, "", (double)st.st_size);
    if (service_jobs(service))
        job_metrics(m, service_jobs(service));
    if (service_http(service))
        metric_set(m, M_CONNECTIONS, "", http_connections(service_http(service)));
    metric_set(m, M_READY, "", snap && !service_problem(service, query->arena));
    snapshot_unref(snap);
    str_add(&text, "");
    metrics_text(m, &text);
    reply->type = "text/plain; version=0.0.4; charset=utf-8";
    reply->n_text = text.len;
    reply->text = strdup(text.text);
    if (!reply->text)
        abort();
    return 0;
}

int get_openapi(struct query *query, struct reply *reply, struct err *err)
{
    (void)query;
    (void)err;
    reply->json = openapi_json();
    return 0;
}
