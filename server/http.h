/*
 * HTTP: the one door to libmicrohttpd. Connections, limits, bodies, HEAD, conditional requests and
 * compression are dealt with here; what is asked and answered is the service's.
 *
 *	struct http *http;
 *	r = http_start(&(struct http_options){.fd = fd, .ops = &ops, .data = service}, &http, err);
 *	...
 *	http_stop(http, 10000);		(requests in flight finish)
 *
 * libmicrohttpd calls back first with the head of a request alone: `begin` may answer then, before
 * any body is read. When everything is there, `handle` answers, or calls http_later(): then the
 * connection sleeps until some thread has filled the answer and calls http_resume().
 *
 * `begin`, `handle` and `end` are called by one of two threads and must not block for long.
 */
#pragma once

#include "base/arena.h"

#include <pthread.h>

struct http;

/*
 * Bytes of an answer, shared by all requests that get them. Made once, read by any thread, freed
 * with the last reference. They are compressed when somebody first takes them so.
 */
struct http_body {
    size_t len;
    char *bytes; /* malloc()ed */
    unsigned references;

    /* private */
    char *gzip; /* malloc()ed; NULL: not yet, or `tried` in vain */
    size_t gzip_len;
    bool tried;
    pthread_mutex_t lock; /* of these three */

    /* when all answers with it are alike: those, and with their headers once they were sent */
    struct http_answer *sealed;
    void *ready[2];            /* plain, compressed */
    void (*drop)(void *ready); /* one of these; set before them */
};

/* Takes `bytes` (malloc()ed). One reference. */
struct http_body *http_body(char *bytes, size_t len);
/*
 * Does this client take it compressed? Then it is now, which may take a while: to be called where
 * there is time.
 */
struct http_exchange;
bool http_body_compress(struct http_body *body, const struct http_exchange *x);
bool http_body_pack(struct http_body *body); /* whoever the client; false: it gets no smaller */
struct http_body *http_body_ref(struct http_body *body);
void http_body_unref(struct http_body *body); /* NULL: nothing */

/*
 * A body that is made while it is sent: `read` writes at most `max` bytes (more than 0) of what
 * follows and returns how many; 0: the end; -1: something failed, and the connection is cut.
 */
struct http_stream {
    long (*read)(void *data, char *to, size_t max);
    void (*close)(void *data);
    void *data;
};

/* What is answered. Texts live in the exchange's arena, or are constants. */
struct http_answer {
    int status;
    const char *type;          /* Content-Type; NULL: there is no body */
    struct http_body *body;    /* a reference, taken over; NULL: empty, or a stream */
    struct http_stream stream; /* read NULL: none */
    const char *etag;          /* without quotes; NULL: none */
    const char *cache_control;
    const char *location, *link, *allow;
    const char *authenticate;     /* WWW-Authenticate */
    const char *content_policy;   /* Content-Security-Policy */
    const char *allow_origin;     /* Access-Control-Allow-Origin */
    unsigned retry_after_seconds; /* 0: none */
};

/*
 * Before a body is shared: every 200 with it is this answer, so that its headers are made once.
 * Texts are copied; http_body_sealed() is the answer then, without a reference to the body.
 */
void http_body_seal(struct http_body *body, const struct http_answer *answer);
const struct http_answer *http_body_sealed(const struct http_body *body); /* NULL: it is not */

enum { HTTP_METHOD_MAX = 16 };

/* One request and its answer. */
struct http_exchange {
    char method[HTTP_METHOD_MAX]; /* longer ones are cut off */
    const char *url;              /* as sent (escaped) */
    const char *path;             /* of it what stands before the question mark */
    const char *query;            /* behind it; "": none */
    const char *body;             /* what was sent; not ended */
    size_t body_len;
    uint64_t start_ns; /* monotonic */
    struct arena arena;
    struct http_answer answer;
    const void *route; /* the service's, as is this: */
    void *data;
    size_t body_limit; /* set by `begin`: bytes of body that will be read; else 0 */
    size_t sent_bytes; /* of the body that was answered with, for the log */

    /* private */
    void *connection;
    struct http *http;
    size_t body_size;
    bool begun, arrived, answered, later, too_large;
};

struct http_ops {
    /* The head is there. True: the answer is complete, the body will not be read. */
    bool (*begin)(void *data, struct http_exchange *x);
    /* Everything is there. `x->body_len` is at most the limit unless http_too_large(). */
    void (*handle)(void *data, struct http_exchange *x);
    /* The answer was sent, or the client went away. */
    void (*end)(void *data, struct http_exchange *x);
};

struct http_options {
    int fd; /* listens; taken over */
    const struct http_ops *ops;
    void *data;
    unsigned threads;     /* 0: 2 */
    unsigned connections; /* at most so many at once; 0: as many as the process may open */
    unsigned timeout_s;   /* a silent connection is closed after that; 0: 30 */
};

MUST_CHECK int http_start(const struct http_options *options, struct http **ret_http,
                          struct err *err);
/* Accept nothing more, wait up to `ms` for requests in flight, end. */
void http_stop(struct http *http, unsigned ms);

/* A request's header; NULL: not sent. */
const char *http_header(const struct http_exchange *x, const char *name);

/* Was more sent than the limit? The rest was thrown away. */
bool http_too_large(const struct http_exchange *x);

/* Does If-None-Match name this tag? Then the answer is 304, whatever else was asked. */
bool http_knows(const struct http_exchange *x, const char *etag);

/* In `handle`: the answer comes later. */
void http_later(struct http_exchange *x);
/* In any thread: the answer of an exchange that was put off is complete. */
void http_resume(struct http_exchange *x);

/* Connections open now. */
unsigned http_connections(const struct http *http);
