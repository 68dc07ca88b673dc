/*
 * The builder keeps the snapshot fresh: the index is looked at once a second; for every new state of it
 * a thread of lowered priority makes a snapshot, shows it, and plans.
 */
#include "base/log.h"
#include "base/str.h"
#include "server/directory.h"
#include "server/index_audit.h"
#include "server/job.h"
#include "server/service_private.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    RETRY_MS = 250,  /* after the index changed while it was read */
    PATIENCE_S = 30, /* an unfinished index that does not change: its scan was killed */
    PENDING_S = 5,   /* a new snapshot is shown after that, complete or not */
    BUILDER_NICE = 10,
};

static int64_t now_s(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* ---- snapshots and plans */

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
    snap->quit = &s->quit;
    show(s, snap);
    if (!s->options.without_plans)
        snapshot_plan(snap, &s->stop_work);
    (void)malloc_trim(0);
    snapshot_unref(snap);
    return false;
}

void *builder_main(void *data)
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
