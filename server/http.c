#include "server/http.h"

#include "server/field.h"
#include "server/gzip.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    HEAD_MAX = 32 * 1024, /* request line and headers; more is 431 by libmicrohttpd */
    STREAM_BLOCK = 32 * 1024,
    CONNECTIONS_DEFAULT = 12000,
    FILES_KEPT = 64, /* descriptors that connections must leave to others */
    STOP_STEP_MS = 20,
    STOP_ARRIVING_MS = 2000, /* for what has not all arrived: its client may be gone */
};

struct http {
    struct MHD_Daemon *daemon;
    const struct http_ops *ops;
    void *data;
    unsigned arriving, in_flight; /* atomic: exchanges not yet all there; those that are */
};

/* ---- what a request says */

const char *http_header(const struct http_exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

bool http_too_large(const struct http_exchange *x)
{
    return x->too_large;
}

bool http_knows(const struct http_exchange *x, const char *etag)
{
    return field_names_tag(http_header(x, MHD_HTTP_HEADER_IF_NONE_MATCH), etag);
}

/* The answer is there: `*` is the tag of whatever exists. */
static bool is_known(const struct http_exchange *x)
{
    const char *etag = x->answer.etag, *sent;

    if (x->answer.status != 200 || !etag)
        return false;
    sent = http_header(x, MHD_HTTP_HEADER_IF_NONE_MATCH);
    return sent && (!strcmp(sent, "*") || field_names_tag(sent, etag));
}

static bool takes_gzip(const struct http_exchange *x)
{
    return field_takes_gzip(http_header(x, MHD_HTTP_HEADER_ACCEPT_ENCODING));
}

bool http_body_compress(struct http_body *body, const struct http_exchange *x)
{
    return takes_gzip(x) && http_body_pack(body);
}

/* ---- answering */

/* A stream on its way out, compressed or not. */
struct sending {
    struct http_stream stream;
    struct gzip_filter *gzip;
};

static ssize_t sending_read(void *data, uint64_t pos, char *to, size_t max)
{
    struct sending *s = data;
    const long n =
        s->gzip ? gzip_filter_read(s->gzip, to, max) : s->stream.read(s->stream.data, to, max);

    (void)pos;
    return n > 0    ? n
           : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM
                    : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void sending_free(void *data)
{
    struct sending *s = data;

    gzip_filter_free(s->gzip);
    if (s->stream.close)
        s->stream.close(s->stream.data);
    free(s);
}

static struct MHD_Response *stream_response(struct http_answer *answer, bool gzip)
{
    struct sending *s = calloc(1, sizeof(*s));

    if (!s)
        abort();
    s->stream = answer->stream;
    s->gzip = gzip ? gzip_filter_new(s->stream.read, s->stream.data) : NULL;
    answer->stream = (struct http_stream){0};
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, sending_read, s,
                                             sending_free);
}

/* The bytes, compressed or not. The exchange keeps its reference until they are sent. */
static struct MHD_Response *body_response(const struct http_body *body, bool gzip)
{
    return MHD_create_response_from_buffer(gzip ? body->gzip_len : body->len,
                                           gzip ? body->gzip : body->bytes, MHD_RESPMEM_PERSISTENT);
}

static void put(struct MHD_Response *response, const char *name, const char *value)
{
    if (value)
        (void)MHD_add_response_header(response, name, value);
}

static void put_headers(const struct http_answer *a, struct MHD_Response *response, bool gzip)
{
    char text[512];

    if (a->etag) {
        (void)snprintf(text, sizeof(text), "\"%s%s\"", a->etag, gzip ? "-gz" : "");
        put(response, MHD_HTTP_HEADER_ETAG, text);
    }
    if (a->retry_after_seconds) {
        (void)snprintf(text, sizeof(text), "%u", a->retry_after_seconds);
        put(response, MHD_HTTP_HEADER_RETRY_AFTER, text);
    }
    put(response, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
    put(response, MHD_HTTP_HEADER_CONTENT_ENCODING, gzip ? "gzip" : NULL);
    put(response, MHD_HTTP_HEADER_CACHE_CONTROL, a->cache_control);
    put(response, MHD_HTTP_HEADER_LOCATION, a->location);
    put(response, MHD_HTTP_HEADER_LINK, a->link);
    put(response, MHD_HTTP_HEADER_ALLOW, a->allow);
    put(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, a->authenticate);
    put(response, "Content-Security-Policy", a->content_policy);
    put(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, a->allow_origin);
    put(response, MHD_HTTP_HEADER_VARY, a->type ? MHD_HTTP_HEADER_ACCEPT_ENCODING : NULL);
    put(response, "X-Content-Type-Options", "nosniff");
}

static enum MHD_Result queue(struct http_exchange *x, struct MHD_Response *response)
{
    x->answered = true;
    return response ? MHD_queue_response(x->connection, (unsigned)x->answer.status, response)
                    : MHD_NO;
}

static void drop_ready(void *ready)
{
    MHD_destroy_response(ready);
}

/*
 * A sealed body's answers always have the same headers, and making those is most of what they
 * cost: the body keeps them for whoever asks next.
 */
static struct MHD_Response *ready_response(struct http_body *body, bool gzip)
{
    struct MHD_Response *ready = __atomic_load_n(&body->ready[gzip], __ATOMIC_ACQUIRE);
    void *none = NULL;

    if (ready)
        return ready;
    ready = body_response(body, gzip);
    if (!ready)
        return NULL;
    put_headers(body->sealed, ready, gzip);
    __atomic_store_n(&body->drop, drop_ready, __ATOMIC_RELAXED);
    if (!__atomic_compare_exchange_n(&body->ready[gzip], &none, ready, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        MHD_destroy_response(ready);
        ready = none;
    }
    return ready;
}

static enum MHD_Result send_body(struct http_exchange *x)
{
    struct http_body *body = x->answer.body;
    const bool gzip = http_body_compress(body, x);
    struct MHD_Response *response;
    enum MHD_Result result;

    x->sent_bytes = gzip ? body->gzip_len : body->len;
    if (x->answer.status == 200 && body->sealed)
        return queue(x, ready_response(body, gzip));
    response = body_response(body, gzip);
    if (response)
        put_headers(&x->answer, response, gzip);
    result = queue(x, response);
    if (response)
        MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_answer(struct http_exchange *x)
{
    struct http_answer *a = &x->answer;
    struct MHD_Response *response;
    enum MHD_Result result;
    bool gzip = false;

    if (is_known(x)) {
        a->status = MHD_HTTP_NOT_MODIFIED;
        a->type = NULL;
    } else if (a->body) {
        return send_body(x);
    }
    if (a->stream.read && a->status != MHD_HTTP_NOT_MODIFIED) {
        gzip = takes_gzip(x);
        response = stream_response(a, gzip);
    } else {
        response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    }
    if (response)
        put_headers(&x->answer, response, gzip);
    result = queue(x, response);
    if (response)
        MHD_destroy_response(response);
    return result;
}

/* ---- the dance */

static uint64_t now_ns(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static size_t unescape_nothing(void *data, struct MHD_Connection *connection, char *text)
{
    (void)data;
    (void)connection;
    return strlen(text);
}

/*
 * The request line is there. libmicrohttpd would part the query and take pluses for spaces: what was
 * sent is kept, twice in one piece with the exchange, of which the second is cut at the '?'.
 */
static void *on_url(void *data, const char *url, struct MHD_Connection *connection)
{
    const size_t len = strlen(url);
    struct http_exchange *x = malloc(sizeof(*x) + 2 * (len + 1));
    char *copy, *path, *query;

    if (!x)
        abort();
    *x = (struct http_exchange){.http = data, .connection = connection, .start_ns = now_ns()};
    copy = memcpy((char *)(x + 1), url, len + 1);
    path = memcpy(copy + len + 1, url, len + 1);
    query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    x->url = copy;
    x->path = path;
    x->query = query ? query : path + len;
    return x;
}

static bool begin(struct http *http, struct http_exchange *x, const char *method)
{
    x->begun = true;
    memcpy(x->method, method, strnlen(method, sizeof(x->method) - 1));
    __atomic_add_fetch(&http->arriving, 1, __ATOMIC_RELAXED);
    return http->ops->begin(http->data, x);
}

static void take_body(struct http_exchange *x, const char *bytes, size_t len)
{
    char *room = (char *)(uintptr_t)x->body;

    if (x->too_large || len > x->body_limit - x->body_len) {
        x->too_large = true;
        return;
    }
    if (x->body_len + len > x->body_size) {
        x->body_size = (x->body_len + len) * 2;
        room = realloc(room, x->body_size);
        if (!room)
            abort();
        x->body = room;
    }
    memcpy(room + x->body_len, bytes, len);
    x->body_len += len;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_len, void **closure)
{
    struct http *http = data;
    struct http_exchange *x = *closure;

    (void)connection;
    (void)url;
    (void)version;
    if (!x->begun)
        return begin(http, x, method) ? send_answer(x) : MHD_YES;
    if (x->answered) { /* what follows an early answer is thrown away */
        *upload_len = 0;
        return MHD_YES;
    }
    if (*upload_len) {
        take_body(x, upload, *upload_len);
        *upload_len = 0;
        return MHD_YES;
    }
    if (!x->later) {
        x->arrived = true;
        __atomic_add_fetch(&http->in_flight, 1, __ATOMIC_RELAXED);
        __atomic_sub_fetch(&http->arriving, 1, __ATOMIC_RELEASE);
        http->ops->handle(http->data, x);
        if (x->later)
            return MHD_YES;
    }
    return send_answer(x);
}

static void on_end(void *data, struct MHD_Connection *connection, void **closure,
                   enum MHD_RequestTerminationCode why)
{
    struct http *http = data;
    struct http_exchange *x = *closure;

    (void)connection;
    (void)why;
    if (!x)
        return;
    *closure = NULL;
    if (!x->begun) { /* there never was a whole head */
        free(x);
        return;
    }
    http->ops->end(http->data, x);
    http_body_unref(x->answer.body);
    if (x->answer.stream.close)
        x->answer.stream.close(x->answer.stream.data);
    free((char *)(uintptr_t)x->body);
    arena_release(&x->arena);
    __atomic_sub_fetch(x->arrived ? &http->in_flight : &http->arriving, 1, __ATOMIC_RELEASE);
    free(x);
}

void http_later(struct http_exchange *x)
{
    x->later = true;
    MHD_suspend_connection(x->connection);
}

void http_resume(struct http_exchange *x)
{
    MHD_resume_connection(x->connection);
}

/* ---- start and stop */

/* As many connections as asked for, if the process may open them. */
static unsigned connections(unsigned wanted)
{
    struct rlimit files;

    if (!wanted)
        wanted = CONNECTIONS_DEFAULT;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return 256;
    if (files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max < 65536 ? files.rlim_max : 65536;
        (void)setrlimit(RLIMIT_NOFILE, &files);
        (void)getrlimit(RLIMIT_NOFILE, &files);
    }
    if (files.rlim_cur / 2 < FILES_KEPT)
        return FILES_KEPT / 2;
    return wanted < files.rlim_cur - FILES_KEPT ? wanted : (unsigned)files.rlim_cur - FILES_KEPT;
}

int http_start(const struct http_options *o, struct http **ret_http, struct err *err)
{
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    struct http *http = calloc(1, sizeof(*http));

    if (!http)
        abort();
    http->ops = o->ops;
    http->data = o->data;
    http->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, http, MHD_OPTION_LISTEN_SOCKET, o->fd,
        MHD_OPTION_THREAD_POOL_SIZE, o->threads ? o->threads : 2U, MHD_OPTION_CONNECTION_LIMIT,
        connections(o->connections), MHD_OPTION_CONNECTION_TIMEOUT,
        o->timeout_s ? o->timeout_s : 30U, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_MAX,
        MHD_OPTION_NOTIFY_COMPLETED, on_end, http, MHD_OPTION_URI_LOG_CALLBACK, on_url, http,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape_nothing, NULL, MHD_OPTION_END);
    if (!http->daemon) {
        free(http);
        return err_set(err, errno ? errno : EIO, "cannot start the HTTP server: %s",
                       strerror(errno));
    }
    *ret_http = http;
    return 0;
}

void http_stop(struct http *http, unsigned ms)
{
    const struct timespec step = {.tv_nsec = STOP_STEP_MS * 1000000L};
    const MHD_socket fd = MHD_quiesce_daemon(http->daemon);

    for (unsigned waited = 0; waited < ms; waited += STOP_STEP_MS) {
        if (__atomic_load_n(&http->in_flight, __ATOMIC_ACQUIRE) == 0 &&
            (waited >= STOP_ARRIVING_MS || __atomic_load_n(&http->arriving, __ATOMIC_ACQUIRE) == 0))
            break;
        (void)nanosleep(&step, NULL);
    }
    MHD_stop_daemon(http->daemon);
    if (fd >= 0)
        (void)close(fd);
    free(http);
}

unsigned http_connections(const struct http *http)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

    return info ? info->num_connections : 0;
}
