#include "server/service.h"

#include "base/log.h"
#include "base/str.h"
#include "server/archive.h"
#include "server/directory.h"
#include "server/index_audit.h"
#include "server/job.h"
#include "server/service_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    TOKEN_MIN = 16,
    RETRY_MS = 250,  /* after the index changed while it was read */
    PATIENCE_S = 30, /* an unfinished index that does not change: its scan was killed */
    PENDING_S = 5,   /* a new snapshot is shown after that, complete or not */
    BUILDER_NICE = 10,
};

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

static int64_t now_s(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

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

/* ---- the builder: snapshots and plans */

static void set_problem(struct service *s, const char *text)
{
    pthread_mutex_lock(&s->lock);
    (void)snprintf(s->problem, sizeof(s->problem), "%s", text);
    pthread_mutex_unlock(&s->lock);
}

/* Clients are told what is wrong, the log also where. */
static void set_error(struct service *s, int r, const struct err *err)
{
    bool is_new;

    pthread_mutex_lock(&s->lock);
    is_new = strcmp(s->logged, err->text) != 0;
    (void)snprintf(s->logged, sizeof(s->logged), "%s", err->text);
    pthread_mutex_unlock(&s->lock);
    if (is_new)
        log_error("%s", err->text);
    set_problem(s, r == -ENOENT   ? "there is no index"
                   : r == -EINVAL ? "the index was made by another version of stormlint"
                                  : "the index cannot be read");
}

static void swap(struct service *s, struct snapshot *snap)
{
    struct snapshot *old;

    pthread_rwlock_wrlock(&s->snapshot_lock);
    old = s->snapshot;
    s->snapshot = snap;
    pthread_rwlock_unlock(&s->snapshot_lock);
    pthread_mutex_lock(&s->lock);
    s->problem[0] = s->logged[0] = '\0';
    pthread_mutex_unlock(&s->lock);
    snapshot_unref(old);
}

/* What is heavy and asked for most. What fails is tried again when somebody asks. */
static void warm(struct snapshot *snap)
{
    const struct directories *directories;
    const struct audit *audit;
    struct view *view = snapshot_take(snap);
    int r = -EAGAIN;
    struct err ignored = {0};

    if (view) {
        r = directories_all(snap, view, &directories, &ignored);
        if (r == 0) /* it has seen every program, few of which will be asked for */
            r = view_empty(view, &ignored);
        snapshot_give(snap, view, r == -EIO);
    }
    if (r == 0)
        r = snapshot_audit(snap, &audit, &ignored);
    if (r < 0)
        log_debug("not all of the new snapshot is made: %s", ignored.text);
    __atomic_store_n(&snap->warm, r == 0, __ATOMIC_RELEASE);
    (void)malloc_trim(0); /* what it took is much, and not needed again */
}

static struct snapshot *take_pending(struct service *s, int64_t made_before)
{
    struct snapshot *snap = NULL;

    pthread_mutex_lock(&s->lock);
    if (s->pending && s->pending_since <= made_before) {
        snap = s->pending;
        s->pending = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    return snap;
}

/*
 * Show a new snapshot. While there is an older one to be shown it waits until what is heavy is made,
 * or nobody would get that for a while; not longer than service_tick() lets it.
 */
static void show(struct service *s, struct snapshot *snap)
{
    bool first;

    pthread_rwlock_rdlock(&s->snapshot_lock);
    first = !s->snapshot;
    pthread_rwlock_unlock(&s->snapshot_lock);
    if (first) {
        swap(s, snapshot_ref(snap));
        warm(snap);
        return;
    }
    pthread_mutex_lock(&s->lock);
    s->pending = snapshot_ref(snap);
    s->pending_since = now_s();
    pthread_mutex_unlock(&s->lock);
    warm(snap);
    snap = take_pending(s, INT64_MAX);
    if (snap)
        swap(s, snap);
}

/* True: it could not be read because it was being changed. */
static bool build(struct service *s)
{
    struct timespec from, to;
    struct snapshot *snap;
    struct err err = {0};
    int r;

    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    r = snapshot_make(s->options.index, s->options.cpu, s->options.policy, &s->stop_work, &snap,
                      &err);
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    metric_add(s->metrics, M_SNAPSHOTS, r < 0 ? "outcome=\"failed\"" : "outcome=\"ok\"", 1);
    if (r == -EAGAIN)
        return true;
    if (r < 0) {
        set_error(s, r, &err);
        return false;
    }
    metric_set(s->metrics, M_SNAPSHOT_SECONDS, "",
               (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9);
    show(s, snap);
    if (!s->options.without_plans)
        snapshot_plan(snap, &s->stop_work);
    (void)malloc_trim(0);
    snapshot_unref(snap);
    return false;
}

static void *builder_main(void *data)
{
    const struct timespec pause = {.tv_nsec = RETRY_MS * 1000000L};
    struct service *s = data;
    bool again = false, quit;

    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), BUILDER_NICE);
    for (;;) {
        pthread_mutex_lock(&s->lock);
        while (!s->look && !s->quit && !again)
            pthread_cond_wait(&s->wake, &s->lock);
        quit = s->quit;
        s->look = false;
        __atomic_store_n(&s->stop_work, quit, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&s->lock);
        if (quit)
            return NULL;
        again = build(s);
        if (again)
            (void)nanosleep(&pause, NULL);
    }
}

static void wake_builder(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    s->look = true;
    __atomic_store_n(&s->stop_work, true, __ATOMIC_RELAXED);
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

/* ---- watching the index */

static int open_watch(struct service *s, const struct stat *st, struct err *err)
{
    int r = db_open(s->options.index, DB_READ, &s->watch, err);

    if (r == 0)
        r = db_exec(s->watch, "PRAGMA mmap_size = 0", err);
    if (r < 0) {
        db_close(s->watch);
        s->watch = NULL;
        return r;
    }
    s->file_dev = st->st_dev;
    s->file_ino = st->st_ino;
    return 0;
}

static int data_version(struct db *db, int64_t *ret_version, struct err *err)
{
    static const char VERSION_OF_DATA[] = "PRAGMA data_version";
    struct stmt *stmt = db_prepare(db, VERSION_OF_DATA, err);
    const int r = stmt ? stmt_step(stmt, err) : -err->code;

    if (r < 0)
        return r;
    *ret_version = stmt_int(stmt, 0);
    stmt_reset(stmt);
    return 0;
}

/* Is a state that says it is unfinished to be waited for, or was its scan killed? */
static int settle(struct service *s, const struct moment *now, bool *ret_wait, struct err *err)
{
    int64_t version = 0;
    int r;

    *ret_wait = false;
    if (!now->unfinished) {
        s->unfinished_since = 0;
        return 0;
    }
    r = data_version(s->watch, &version, err);
    if (r < 0)
        return r;
    if (!s->unfinished_since || version != s->data_version) {
        s->unfinished_since = now_s();
        s->data_version = version;
    }
    *ret_wait = now_s() - s->unfinished_since < PATIENCE_S;
    return 0;
}

static bool is_worn_out(struct service *s)
{
    bool worn_out;

    pthread_rwlock_rdlock(&s->snapshot_lock);
    worn_out = s->snapshot && snapshot_is_worn_out(s->snapshot);
    pthread_rwlock_unlock(&s->snapshot_lock);
    return worn_out;
}

static int look(struct service *s, struct err *err)
{
    struct moment now;
    struct stat st;
    bool wait = false;
    int r;

    if (stat(s->options.index, &st) < 0)
        return err_set(err, errno, "index '%s': %s", str_base(s->options.index), strerror(errno));
    if (s->watch && (s->file_dev != st.st_dev || s->file_ino != st.st_ino)) {
        db_close(s->watch);
        s->watch = NULL;
    }
    if (!s->watch && (r = open_watch(s, &st, err)) < 0)
        return r;
    r = moment_read(s->watch, s->options.index, &now, err);
    if (r == 0)
        r = settle(s, &now, &wait, err);
    if (r < 0)
        return r;
    if (wait) {
        if (!s->has_seen)
            set_problem(s, "the index is being scanned");
        return 0;
    }
    if (!s->has_seen || !moment_same(&s->seen, &now) || is_worn_out(s)) {
        s->seen = now;
        s->has_seen = true;
        wake_builder(s);
    }
    return 0;
}

void service_tick(struct service *s)
{
    struct snapshot *snap = take_pending(s, now_s() - PENDING_S);
    struct err err = {0};
    const int r = look(s, &err);

    if (snap)
        swap(s, snap);
    if (r < 0) {
        set_error(s, r, &err);
        db_close(s->watch);
        s->watch = NULL;
        s->has_seen = false;
    }
    if (s->jobs)
        jobs_tick(s->jobs);
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
    s->quit = true;
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
