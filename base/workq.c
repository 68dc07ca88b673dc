#include "base/workq.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
    QUEUE_MAX = 64,   /* results waiting */
    READERS_MAX = 64, /* threads */
    WAKE_AT = 16,     /* results for which the writer is woken ... */
    WAKE_MS = 20,     /* ... or that time after it looked last */
};

/* A ring of results. `lock` guards everything below it. */
struct queue {
    const struct work *work;
    size_t n_jobs;

    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    void *ring[QUEUE_MAX];
    size_t head, n;
    size_t next_job;
    unsigned n_readers; /* still at work */
    bool stop;          /* the writer failed */
};

/* Jobs are claimed one by one: they differ widely in size. */
static bool claim(struct queue *q, size_t *ret_job)
{
    bool ok;

    pthread_mutex_lock(&q->lock);
    ok = !q->stop && q->next_job < q->n_jobs;
    if (ok)
        *ret_job = q->next_job++;
    pthread_mutex_unlock(&q->lock);
    return ok;
}

static void push(struct queue *q, void *result)
{
    pthread_mutex_lock(&q->lock);
    while (q->n == QUEUE_MAX && !q->stop)
        pthread_cond_wait(&q->not_full, &q->lock);
    if (q->stop) {
        pthread_mutex_unlock(&q->lock);
        q->work->drop(result);
        return;
    }
    q->ring[(q->head + q->n++) % QUEUE_MAX] = result;
    if (q->n == WAKE_AT)
        pthread_cond_signal(&q->not_empty);
    pthread_mutex_unlock(&q->lock);
}

static void *reader_main(void *data)
{
    struct queue *q = data;
    const struct work *w = q->work;
    void *reader = w->reader_open ? w->reader_open(w->data) : NULL;
    size_t job;

    while (claim(q, &job))
        push(q, w->read(w->data, reader, job));
    if (w->reader_close)
        w->reader_close(w->data, reader);
    pthread_mutex_lock(&q->lock);
    q->n_readers--;
    pthread_cond_signal(&q->not_empty);
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* Wait until there is work for a while, or some and the time is up, or no more to come. */
static void await_results(struct queue *q)
{
    while (q->n < WAKE_AT && q->n_readers) {
        struct timespec until;

        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WAKE_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        if (pthread_cond_timedwait(&q->not_empty, &q->lock, &until) == ETIMEDOUT && q->n)
            return;
    }
}

/* The next result; NULL: none is there, or, when waited for, none will be. */
static void *pop(struct queue *q, bool wait, bool *ret_end)
{
    void *result = NULL;

    pthread_mutex_lock(&q->lock);
    if (wait)
        await_results(q);
    *ret_end = q->n == 0 && q->n_readers == 0;
    if (q->n) {
        result = q->ring[q->head];
        q->head = (q->head + 1) % QUEUE_MAX;
        if (q->n-- == QUEUE_MAX)
            pthread_cond_broadcast(&q->not_full);
    }
    pthread_mutex_unlock(&q->lock);
    return result;
}

static int write_all(struct queue *q, struct err *err)
{
    const struct work *w = q->work;
    bool end = false;
    int r = 0;

    while (r == 0) {
        void *result = pop(q, false, &end);

        if (!result && !end && w->idle)
            r = w->idle(w->data, err);
        if (!result && r == 0)
            result = pop(q, true, &end);
        if (result)
            r = w->write(w->data, result, err);
        else if (end)
            break;
    }
    return r;
}

static void stop(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->stop = true;
    pthread_cond_broadcast(&q->not_full);
    pthread_mutex_unlock(&q->lock);
}

static int run_here(const struct work *w, size_t n_jobs, struct err *err)
{
    void *reader = w->reader_open ? w->reader_open(w->data) : NULL;
    int r = 0;

    for (size_t job = 0; job < n_jobs && r == 0; job++)
        r = w->write(w->data, w->read(w->data, reader, job), err);
    if (w->reader_close)
        w->reader_close(w->data, reader);
    return r;
}

int work_run(const struct work *work, size_t n_jobs, unsigned n_readers, struct err *err)
{
    struct queue q = {.work = work,
                      .n_jobs = n_jobs,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .not_empty = PTHREAD_COND_INITIALIZER,
                      .not_full = PTHREAD_COND_INITIALIZER};
    pthread_t thread[READERS_MAX];
    unsigned started = 0;
    int r = 0;

    if (n_readers > READERS_MAX)
        n_readers = READERS_MAX;
    if (n_readers == 0 || n_jobs == 0)
        return run_here(work, n_jobs, err);
    q.n_readers = n_readers;
    for (; started < n_readers && r == 0; started += r == 0)
        r = pthread_create(&thread[started], NULL, reader_main, &q);
    if (r) {
        pthread_mutex_lock(&q.lock);
        q.n_readers -= n_readers - started;
        pthread_mutex_unlock(&q.lock);
        r = started ? 0 : err_set(err, r, "cannot start a thread: %s", strerror(r));
    }
    if (r == 0)
        r = write_all(&q, err);
    stop(&q);
    for (unsigned i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    for (; q.n; q.n--, q.head = (q.head + 1) % QUEUE_MAX)
        work->drop(q.ring[q.head]);
    return r;
}
