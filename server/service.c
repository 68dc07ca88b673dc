#include "server/service.h"

#include "base/str.h"
#include "server/archive.h"
#include "server/job.h"
#include "server/service_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TOKEN_MIN = 16 };

const struct metric service_metrics_table[N_SERVICE_METRICS] = {
    // clang-format off
    [M_REQUESTS] = {"stormlint_http_requests_total", "Requests by route, method and code", METRIC_COUNTER},
    [M_SECONDS] = {"stormlint_http_request_duration_seconds", "From the head of a request to the end of its answer", METRIC_HISTOGRAM},
    [M_SENT_BYTES] = {"stormlint_http_sent_bytes_total", "Bytes of bodies sent", METRIC_COUNTER},
    [M_CONNECTIONS] = {"stormlint_http_connections", "Connections open", METRIC_GAUGE},
    [M_BUILD] = {"stormlint_build_info", "Always 1", METRIC_GAUGE},
    [M_READY] = {"stormlint_ready", "1: the index is there and served", METRIC_GAUGE},
    [M_INDEX_GENERATION] = {"stormlint_index_generation", "Number of the index's state that is served", METRIC_GAUGE},
    [M_INDEX_AGE] = {"stormlint_index_age_seconds", "Since the index was changed last, when it was read", METRIC_GAUGE},
    [M_INDEX_BYTES] = {"stormlint_index_bytes", "Size of the index's file", METRIC_GAUGE},
    [M_INDEX_PACKAGES] = {"stormlint_index_packages", "Packages in the index by state", METRIC_GAUGE},
    [M_INDEX_OBJECTS] = {"stormlint_index_objects", "ELF files in the index", METRIC_GAUGE},
    [M_INDEX_PROGRAMS] = {"stormlint_index_programs", "Programs in the index", METRIC_GAUGE},
    [M_INDEX_PROBLEMS] = {"stormlint_index_problems", "Files that are broken or could not be read", METRIC_GAUGE},
    [M_FAILED_CALLS] = {"stormlint_predicted_failed_calls", "Calls that fail when every program is started once", METRIC_GAUGE},
    [M_PLANS] = {"stormlint_plans", "Packages that are planned", METRIC_GAUGE},
    [M_PLANS_WANTED] = {"stormlint_plans_wanted", "Packages that have programs", METRIC_GAUGE},
    [M_SNAPSHOTS] = {"stormlint_snapshots_total", "Times the index was read anew, by outcome", METRIC_COUNTER},
    [M_SNAPSHOT_SECONDS] = {"stormlint_snapshot_seconds", "What reading it took last", METRIC_GAUGE},
    [M_JOBS] = {"stormlint_jobs", "Jobs by state", METRIC_GAUGE},
    [M_JOBS_ENDED] = {"stormlint_jobs_ended_total", "Jobs that ended, by state", METRIC_COUNTER},
    [M_SCANNED_PACKAGES] = {"stormlint_scanned_packages_total", "Packages read by jobs", METRIC_COUNTER},
    [M_SCAN_SECONDS] = {"stormlint_scan_seconds_total", "What jobs took", METRIC_COUNTER},
    [M_CPU_SECONDS] = {"process_cpu_seconds_total", "User and system time", METRIC_COUNTER},
    [M_RESIDENT_BYTES] = {"process_resident_memory_bytes", "Resident memory", METRIC_GAUGE},
    [M_OPEN_FILES] = {"process_open_fds", "Open file descriptors", METRIC_GAUGE},
    [M_START_TIME] = {"process_start_time_seconds", "Start since 1970", METRIC_GAUGE},
    // clang-format on
};

/* ---- the token and the log */

static int read_token(const char *path, char token[TOKEN_MAX], struct err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0) {
        if (fd >= 0)
            (void)close(fd);
        return err_set(err, errno, "token file '%s': %s", path, strerror(errno));
    }
    n = read(fd, token, TOKEN_MAX - 1);
    (void)close(fd);
    if (n < 0)
        return err_set(err, errno, "token file '%s': %s", path, strerror(errno));
    token[n] = '\0';
    token[strcspn(token, "\r\n")] = '\0';
    if (S_ISREG(st.st_mode) && st.st_mode & S_IROTH)
        return err_set(err, EINVAL, "token file '%s' can be read by everybody", path);
    if (strlen(token) < TOKEN_MIN || strchr(token, ' '))
        return err_set(err, EINVAL,
                       "token file '%s': its first line must be a token of at least %d characters",
                       path, (int)TOKEN_MIN);
    return 0;
}

static int open_log(const char *path, FILE **ret_log, struct err *err)
{
    FILE *log;

    if (!path)
        return 0;
    log = !strcmp(path, "-") ? stdout : fopen(path, "ae");
    if (!log)
        return err_set(err, errno, "access log '%s': %s", path, strerror(errno));
    *ret_log = log;
    return 0;
}

int service_reload(struct service *s, struct err *err)
{
    char token[TOKEN_MAX] = "";
    FILE *log = NULL, *old;
    int r = 0;

    if (s->options.token_file)
        r = read_token(s->options.token_file, token, err);
    if (r == 0)
        r = open_log(s->options.access_log, &log, err);
    if (r < 0)
        return r; /* what was there stays */
    pthread_mutex_lock(&s->lock);
    memcpy(s->token, token, sizeof(token));
    old = s->log;
    s->log = log;
    pthread_mutex_unlock(&s->lock);
    explicit_bzero(token, sizeof(token));
    if (old && old != stdout)
        (void)fclose(old);
    db_close(s->watch);
    s->watch = NULL;
    s->has_seen = false;
    return 0;
}

/* ---- life */

/* Audits can be looked at without a token, too. */
static int open_state(struct service *s, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const char *state = s->options.state;
    const bool writable = s->options.token_file != NULL;
    int r = 0;

    if (writable && mkdir(state, 0750) < 0 && errno != EEXIST)
        return err_set(err, errno, "state directory '%s': %s", state, strerror(errno));
    r = archive_open(str_join(&scratch, state, "audits"), writable, &s->archive, err);
    if (r == 0 && writable)
        r = jobs_open(&s->options, s->archive, s->metrics, &s->jobs, err);
    return r;
}

int service_new(const struct service_options *options, struct service **ret_service,
                struct err *err)
{
    struct service *s = calloc(1, sizeof(*s));
    json_t *policy;
    char *text;
    int r;

    if (!s)
        abort();
    s->options = *options;
    s->started_at = time(NULL);
    if (getrandom(&s->nonce, sizeof(s->nonce), 0) < 0)
        s->nonce = (uint64_t)s->started_at;
    pthread_mutex_init(&s->lock, NULL);
    pthread_rwlock_init(&s->snapshot_lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    (void)snprintf(s->problem, sizeof(s->problem), "the index is being read");
    s->metrics = metrics_new(service_metrics_table, N_SERVICE_METRICS);
    dispatch_init(s);
    policy = policy_json(options->policy);
    text = json_dumps(policy, JSON_COMPACT);
    s->policy_hash = hash_text(0, text ? text : "");
    free(text);
    json_decref(policy);
    r = service_reload(s, err);
    if (r == 0 && options->state)
        r = open_state(s, err);
    if (r < 0) {
        service_free(s);
        return r;
    }
    *ret_service = s;
    return 0;
}

int service_start(struct service *s, struct err *err)
{
    int r = tasks_start(&s->tasks, s, err);

    if (r < 0)
        return r;
    r = pthread_create(&s->builder, NULL, builder_main, s);
    if (r)
        return err_set(err, r, "cannot start a thread: %s", strerror(r));
    s->has_builder = true;
    return 0;
}

void service_stop(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    __atomic_store_n(&s->quit, true, __ATOMIC_RELAXED);
    __atomic_store_n(&s->stop_work, true, __ATOMIC_RELAXED);
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    if (s->has_builder)
        pthread_join(s->builder, NULL);
    s->has_builder = false;
    tasks_stop(&s->tasks);
    if (s->jobs)
        jobs_stop(s->jobs);
}

void service_free(struct service *s)
{
    if (!s)
        return;
    jobs_close(s->jobs);
    archive_close(s->archive);
    snapshot_unref(s->pending);
    snapshot_unref(s->snapshot);
    db_close(s->watch);
    dispatch_release(s);
    metrics_free(s->metrics);
    if (s->log && s->log != stdout)
        (void)fclose(s->log);
    pthread_mutex_destroy(&s->lock);
    pthread_rwlock_destroy(&s->snapshot_lock);
    pthread_cond_destroy(&s->wake);
    explicit_bzero(s->token, sizeof(s->token));
    free(s);
}

/* ---- for handlers */

const struct service_options *service_options(const struct service *s)
{
    return &s->options;
}

struct metrics *service_metrics(struct service *s)
{
    return s->metrics;
}

struct jobs *service_jobs(struct service *s)
{
    return s->jobs;
}

struct archive *service_archive(struct service *s)
{
    return s->archive;
}

void service_set_http(struct service *s, struct http *http)
{
    s->http = http;
}

struct http *service_http(struct service *s)
{
    return s->http;
}

struct snapshot *service_snapshot(struct service *s, struct arena *arena, const char **ret_why_not)
{
    struct snapshot *snap;

    pthread_rwlock_rdlock(&s->snapshot_lock);
    snap = s->snapshot ? snapshot_ref(s->snapshot) : NULL;
    pthread_rwlock_unlock(&s->snapshot_lock);
    *ret_why_not = snap ? NULL : service_problem(s, arena);
    if (!snap && !*ret_why_not) /* it came in between */
        *ret_why_not = "the index is being read";
    return snap;
}

const char *service_problem(struct service *s, struct arena *arena)
{
    const char *problem;

    pthread_mutex_lock(&s->lock);
    problem = *s->problem ? arena_strdup(arena, s->problem) : NULL;
    pthread_mutex_unlock(&s->lock);
    return problem;
}

int64_t service_started_at(const struct service *s)
{
    return s->started_at;
}
