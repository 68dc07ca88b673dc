/*
 * Slow requests: done by three workers while their connections sleep; equal ones are done once.
 * One of the three is kept for those that never take long.
 */
#include "base/str.h"
#include "server/service_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORKER_NICE = 5 };

static void task_free(struct task *task)
{
    snapshot_unref(task->query.snapshot);
    free(task->waiting);
    arena_release(&task->arena);
    free(task);
}

static const char *copy(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

/* A request that outlives the exchange it came with. */
static void keep_request(struct task *task, const struct query *from)
{
    struct query *r = &task->query;
    struct arena *a = &task->arena;

    *r = *from;
    r->arena = a;
    r->url = copy(a, from->url);
    r->path = copy(a, from->path);
    r->etag = copy(a, from->etag);
    for (size_t i = 0; i < ROUTE_SEGMENTS_MAX; i++)
        r->segment[i] = copy(a, from->segment[i]);
    r->argument = arena_calloc(a, from->n_arguments + 1, sizeof(*r->argument));
    for (size_t i = 0; i < from->n_arguments; i++)
        r->argument[i] =
            (struct argument){copy(a, from->argument[i].name), copy(a, from->argument[i].value)};
    r->body = arena_memdup(a, from->body ? from->body : "", from->n_body);
    r->body_type = copy(a, from->body_type);
    r->accept = copy(a, from->accept);
    if (r->snapshot)
        snapshot_ref(r->snapshot);
}

static void add_waiting(struct task *task, struct http_exchange *x)
{
    task->waiting = realloc(task->waiting, (task->n_waiting + 1) * sizeof(struct http_exchange *));
    if (!task->waiting)
        abort();
    task->waiting[task->n_waiting++] = x;
}

/* Answers with a tag are the same for all who ask the same. */
static struct task *find_equal(const struct tasks *tasks, const struct query *query)
{
    if (!query->etag)
        return NULL;
    for (struct task *t = tasks->first; t; t = t->next_task)
        if (t->query.snapshot == query->snapshot && str_same(t->query.etag, query->etag) &&
            !strcmp(t->query.url, query->url) && !strcmp(t->query.accept, query->accept))
            return t;
    return NULL;
}

bool tasks_add(struct tasks *tasks, struct http_exchange *x, const struct query *query)
{
    struct task *task;
    bool ok = false;

    pthread_mutex_lock(&tasks->lock);
    task = find_equal(tasks, query);
    if (task) {
        http_later(x);
        add_waiting(task, x);
        ok = true;
    } else if (tasks->n < TASKS_MAX && !tasks->stop) {
        task = calloc(1, sizeof(*task));
        if (!task)
            abort();
        keep_request(task, query);
        http_later(x);
        add_waiting(task, x);
        *tasks->last = task;
        tasks->last = &task->next_task;
        tasks->n++;
        pthread_cond_broadcast(&tasks->more); /* not every worker takes it */
        ok = true;
    }
    pthread_mutex_unlock(&tasks->lock);
    return ok;
}

/* With the lock held: nobody joins a task any more. */
static void unlink_task(struct tasks *tasks, struct task *task)
{
    struct task **at = &tasks->first;

    while (*at != task)
        at = &(*at)->next_task;
    *at = task->next_task;
    if (tasks->last == &task->next_task)
        tasks->last = at;
    tasks->n--;
}

static void finish(struct tasks *tasks, struct task *task, struct result *result)
{
    pthread_mutex_lock(&tasks->lock);
    unlink_task(tasks, task);
    pthread_mutex_unlock(&tasks->lock);
    for (size_t i = 0; i < task->n_waiting; i++) {
        if (result->body) /* here there is time for it */
            (void)http_body_compress(result->body, task->waiting[i]);
        result_fill(task->waiting[i], &task->query, result);
        result->stream = (struct http_stream){0}; /* went to the first */
        http_resume(task->waiting[i]);
    }
    http_body_unref(result->body);
    task_free(task);
}

static bool is_brisk(const struct query *query)
{
    return query->route->flags & ROUTE_BRISK ||
           (query->route->flags & ROUTE_WARMED && query->snapshot &&
            __atomic_load_n(&query->snapshot->warm, __ATOMIC_ACQUIRE));
}

/* With the lock held: the first one that nobody has begun and this worker takes. */
static struct task *next_task(const struct tasks *tasks, bool brisk_only)
{
    struct task *task = tasks->first;

    while (task && (task->begun || (brisk_only && !is_brisk(&task->query))))
        task = task->next_task;
    return task;
}

static void *worker_main(void *data)
{
    struct worker_place *place = data;
    struct tasks *tasks = place->tasks;

    if (!place->brisk_only) /* what takes long may take a bit longer */
        (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), WORKER_NICE);
    for (;;) {
        struct result result = {0};
        struct task *task;
        bool stop;

        pthread_mutex_lock(&tasks->lock);
        while (!(task = next_task(tasks, place->brisk_only && !tasks->stop)) && !tasks->stop)
            pthread_cond_wait(&tasks->more, &tasks->lock);
        if (task)
            task->begun = true;
        stop = tasks->stop;
        pthread_mutex_unlock(&tasks->lock);
        if (!task)
            return NULL;
        if (stop) {
            result_problem(&task->arena, 503, "stopping", NULL, "the service is being stopped",
                           task->query.path, &result);
        } else {
            result_make(&task->query, &task->arena, &result);
            result_keep(&task->query, &task->arena, &result);
        }
        finish(tasks, task, &result);
    }
}

int tasks_start(struct tasks *tasks, struct service *service, struct err *err)
{
    int r;

    tasks->service = service;
    tasks->last = &tasks->first;
    pthread_mutex_init(&tasks->lock, NULL);
    pthread_cond_init(&tasks->more, NULL);
    for (; tasks->n_threads < SLOW_WORKERS; tasks->n_threads++) {
        struct worker_place *place = &tasks->place[tasks->n_threads];

        *place = (struct worker_place){.tasks = tasks, .brisk_only = tasks->n_threads == 0};
        r = pthread_create(&tasks->thread[tasks->n_threads], NULL, worker_main, place);
        if (r)
            return err_set(err, r, "cannot start a thread: %s", strerror(r));
    }
    return 0;
}

void tasks_stop(struct tasks *tasks)
{
    pthread_mutex_lock(&tasks->lock);
    tasks->stop = true;
    pthread_cond_broadcast(&tasks->more);
    pthread_mutex_unlock(&tasks->lock);
    for (unsigned i = 0; i < tasks->n_threads; i++)
        pthread_join(tasks->thread[i], NULL);
    tasks->n_threads = 0;
}
