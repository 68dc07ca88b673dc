/*
 * What service.c, builder.c, dispatch.c, result.c and tasks.c share, nobody else.
 */
#pragma once

#include "server/route.h"
#include "server/service.h"

#include <pthread.h>
#include <stdio.h>

enum { SLOW_WORKERS = 3, TASKS_MAX = 256, TOKEN_MAX = 512 };

/* What a request came to; texts in an arena that outlives it, the body one reference. */
struct result {
    int status;
    const char *type, *next, *location, *etag;
    struct http_body *body;
    struct http_stream stream;
    unsigned retry_after_seconds;
};

/* One piece of slow work, and all who wait for it. */
struct task {
    struct task *next_task;
    struct http_exchange **waiting;
    size_t n_waiting;
    bool begun;
    struct query query;
    struct arena arena;
};

struct worker_place {
    struct tasks *tasks;
    bool brisk_only;
};

struct tasks {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct task *first, **last; /* queued and under way, in the order they came */
    size_t n;
    bool stop;
    pthread_t thread[SLOW_WORKERS];
    struct worker_place place[SLOW_WORKERS];
    unsigned n_threads;
    struct service *service;
};

struct service {
    struct service_options options;
    struct metrics *metrics;
    struct jobs *jobs;
    struct archive *archive;
    struct http *http;
    int64_t started_at;
    uint64_t policy_hash, nonce;
    struct counted **counted; /* of each route, and of requests without one */
    struct series *sent_bytes;

    pthread_rwlock_t snapshot_lock; /* every request passes here, few write */
    struct snapshot *snapshot;

    pthread_mutex_t lock;     /* of what follows */
    pthread_cond_t wake;      /* the builder */
    struct snapshot *pending; /* the next one, while what is heavy in it is made; NULL: none */
    int64_t pending_since;    /* monotonic seconds */
    char problem[1200];       /* why there is none, or why it is not the newest; "" */
    char logged[1200];        /* what was said of it in the log last */
    char token[TOKEN_MAX];
    FILE *log;
    bool look, quit; /* for the builder: look at the index; end (atomic: others ask, too) */
    bool stop_work;  /* atomic: leave what you do, there is something newer */
    pthread_t builder;
    bool has_builder;

    /* of service_tick() alone */
    struct db *watch;
    struct moment seen;
    bool has_seen;
    uint64_t file_dev, file_ino;
    int64_t unfinished_since; /* monotonic seconds; 0: it is not */
    int64_t data_version;     /* when it was looked at then */

    struct tasks tasks;
};

/* ---- builder.c, as is service_tick() */

/* The thread of a service (its data): makes what is to be made until it is to quit. */
void *builder_main(void *data);

/* ---- tasks.c */

MUST_CHECK int tasks_start(struct tasks *tasks, struct service *service, struct err *err);
/* Answer whatever waits with 503, end the threads. */
void tasks_stop(struct tasks *tasks);
/* Take a request over; false: too many wait already. The exchange sleeps from here on. */
bool tasks_add(struct tasks *tasks, struct http_exchange *x, const struct query *query);

/* ---- dispatch.c */

void dispatch_init(struct service *service); /* its metrics are there */
void dispatch_release(struct service *service);

/* ---- result.c */

/* Let the handler answer; an error becomes a problem document. */
void result_make(struct query *query, struct arena *arena, struct result *ret_result);
/* A problem by itself. `name`: the parameter at fault, or NULL. */
void result_problem(struct arena *arena, int status, const char *code, const char *name,
                    const char *detail, const char *instance, struct result *ret_result);
/* The problem that an error of handlers is, -errno with its sentence. */
void result_error(struct arena *arena, int r, const char *name, const struct err *err,
                  const char *instance, struct result *ret_result);
/* Put a result into an exchange's answer. The body's reference stays the result's. */
void result_fill(struct http_exchange *x, const struct query *query, const struct result *result);
/* Keep a result for whoever asks the same. */
void result_keep(const struct query *query, struct arena *arena, const struct result *result);
