/* From a request to its answer: routes, tokens, parameters, tags, the log. */
#include "base/str.h"
#include "server/archive.h"
#include "server/service_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PATH_MAX_BYTES = 4096,
    QUERY_MAX_BYTES = 8192,
};

/* ---- the head */

static bool answer_now(struct http_exchange *x, int status, const char *code, const char *detail)
{
    struct result result;

    result_problem(&x->arena, status, code, NULL, detail, x->path, &result);
    result_fill(x, NULL, &result);
    http_body_unref(result.body);
    return true;
}

static bool answer_problem(struct http_exchange *x, int r, const char *name, const struct err *err)
{
    struct result result;

    result_error(&x->arena, r, name, err, x->path, &result);
    result_fill(x, NULL, &result);
    http_body_unref(result.body);
    return true;
}

/* May this request write? True: it was answered that it may not. */
static bool refuse(struct service *s, struct http_exchange *x)
{
    const char *sent = http_header(x, "Authorization");
    bool has_token, ok;

    pthread_mutex_lock(&s->lock);
    has_token = *s->token;
    ok = has_token && sent && str_starts(sent, "Bearer ") && secret_equal(s->token, sent + 7);
    pthread_mutex_unlock(&s->lock);
    if (ok && s->jobs)
        return false;
    if (!has_token || !s->jobs)
        return answer_now(x, 403, "read-only",
                          "this service is read-only: it was started without a token file");
    x->answer.authenticate = "Bearer realm=\"stormlint\"";
    return answer_now(x, 401, sent ? "wrong-token" : "no-token",
                      "writing needs the header 'Authorization: Bearer TOKEN'");
}

static bool is_too_long(struct http_exchange *x, const struct route *route)
{
    const char *text = http_header(x, "Content-Length");

    return text && strtoull(text, NULL, 10) > route->body_max;
}

static bool no_route(struct http_exchange *x, const char *allow)
{
    if (!*allow)
        return answer_now(x, 404, "no-such-route", "nothing is there; /openapi.json lists what is");
    x->answer.allow = arena_printf(&x->arena, "%s, OPTIONS", allow);
    if (!strcmp(x->method, "OPTIONS")) {
        x->answer.status = 204;
        return true;
    }
    return answer_now(x, 405, "wrong-method",
                      arena_printf(&x->arena, "this resource knows %s", allow));
}

static unsigned audits_of(const struct service *s)
{
    return s->archive ? archive_revision(s->archive) : 0;
}

/* Somebody has asked the same: there is nothing to be understood or looked up again. */
static bool recall(struct service *s, struct http_exchange *x)
{
    const struct http_answer *sealed;
    const struct route *route;
    struct http_body *body;

    if (strcmp(x->method, "GET") != 0 && strcmp(x->method, "HEAD") != 0)
        return false;
    pthread_rwlock_rdlock(&s->snapshot_lock);
    body = s->snapshot ? snapshot_recall(s->snapshot, x->url, audits_of(s), &route) : NULL;
    pthread_rwlock_unlock(&s->snapshot_lock);
    if (!body)
        return false;
    sealed = http_body_sealed(body);
    x->route = route;
    x->answer.status = 200;
    x->answer.type = sealed->type;
    x->answer.etag = sealed->etag;
    x->answer.cache_control = sealed->cache_control;
    x->answer.body = body;
    return true;
}

static bool begin(void *data, struct http_exchange *x)
{
    struct service *s = data;
    struct query *query;
    const struct route *route;
    const char *segment[ROUTE_SEGMENTS_MAX] = {0}, *allow = "";

    x->answer.allow_origin = s->options.cors;
    if (recall(s, x))
        return false; /* it is answered when a body that nobody wants has been read */
    if (strlen(x->path) > PATH_MAX_BYTES || strlen(x->query) > QUERY_MAX_BYTES)
        return answer_now(x, 414, "too-long", "a path may have 4096 bytes, a query 8192");
    route = route_find(&x->arena, x->method, x->path, segment, &allow);
    if (!route)
        return no_route(x, allow);
    query = arena_alloc(&x->arena, sizeof(*query));
    query->route = x->route = route;
    query->arena = &x->arena;
    query->url = x->url;
    query->path = x->path;
    query->service = s;
    memcpy(query->segment, segment, sizeof(segment));
    x->data = query;
    if (route->flags & ROUTE_WRITE) {
        x->answer.allow_origin = NULL;
        if (refuse(s, x))
            return true;
    }
    if (route->body_max && is_too_long(x, route))
        return answer_now(x, 413, "too-large",
                          arena_printf(&x->arena, "a body may have %zu bytes", route->body_max));
    x->body_limit = route->body_max;
    return false;
}

/* ---- the whole */

static const char *hex_text(struct arena *arena, uint64_t number)
{
    enum { DIGITS = 16 };
    char *text = arena_alloc(arena, DIGITS + 1);

    for (int i = DIGITS; i--; number >>= 4)
        text[i] = "0123456789abcdef"[number & 15];
    return text;
}

/* The tag of what follows from the snapshot, and where they come in, from audits. */
static void tag(const struct service *s, struct query *query)
{
    struct snapshot *snap = query->snapshot;
    size_t planned, to_plan;
    uint64_t h;

    query->audits = audits_of(s);
    snapshot_progress(snap, &planned, &to_plan, &query->revision);
    h = hash_text(hash_text(s->policy_hash, snap->tag), query->url);
    if (query->route->flags & ROUTE_AUDIT)
        h = hash_text(h, arena_printf(query->arena, "audits %u", query->audits));
    if (planned < to_plan &&
        !(query->route->flags &
          ROUTE_STEADY)) /* how far it is differs from one run of the service to the next */
        h = hash_text(h, arena_printf(query->arena, "%" PRIx64 " %u", s->nonce, query->revision));
    query->etag = hex_text(query->arena, h);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static void run_now(struct http_exchange *x, struct query *query)
{
    struct result result = {0};

    result_make(query, &x->arena, &result);
    result_keep(query, &x->arena, &result);
    result_fill(x, query, &result);
    http_body_unref(result.body);
}

static void answer(struct service *s, struct http_exchange *x, struct query *query)
{
    const struct result same = {.status = 200};
    const struct route *route = query->route;
    const char *name = NULL, *why_not;
    struct err err = {0};
    int r = url_query(&x->arena, x->query, &query->argument, &query->n_arguments, &err);

    query->accept = or_empty(http_header(x, "Accept"));
    query->body_type = or_empty(http_header(x, "Content-Type"));
    query->body = x->body;
    query->n_body = x->body_len;
    if (route->flags & (ROUTE_INDEX | ROUTE_VIEW | ROUTE_AUDIT)) {
        query->snapshot = service_snapshot(s, &x->arena, &why_not);
        if (!query->snapshot && !(route->flags & ROUTE_AUDIT)) {
            (void)answer_now(x, 503, "not-ready", why_not);
            return;
        }
    }
    if (query->snapshot && !(route->flags & (ROUTE_FRESH | ROUTE_WRITE)))
        tag(s, query);
    if (query->etag && http_knows(x, query->etag)) {
        result_fill(x, query, &same);
        return;
    }
    if (r == 0)
        r = route_check(route, query->argument, query->n_arguments, &name, &err);
    if (r < 0)
        (void)answer_problem(x, r, name, &err);
    else if (!(route->flags & ROUTE_SLOW))
        run_now(x, query);
    else if (!tasks_add(&s->tasks, x, query))
        (void)answer_now(x, 503, "busy", "too many slow requests are waiting already");
}

static void handle(void *data, struct http_exchange *x)
{
    struct service *s = data;
    struct query *query = x->data;

    if (!query) /* recalled */
        return;
    if (http_too_large(x) && query->route->body_max) {
        (void)answer_now(
            x, 413, "too-large",
            arena_printf(&x->arena, "a body may have %zu bytes", query->route->body_max));
        return;
    }
    answer(s, x, query);
    snapshot_unref(query->snapshot);
    query->snapshot = NULL;
}

/* ---- the end */

static void log_access(struct service *s, const struct http_exchange *x, double seconds)
{
    struct timespec now;
    struct tm tm;
    char when[40] = "", *line;
    json_t *json;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &tm))
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
    json = json_object();
    json_put_text(json, "time", when);
    json_put_text(json, "method", x->method);
    json_put_text(json, "path", x->path);
    json_put_text(json, "query", x->query);
    json_put_int(json, "status", x->answer.status);
    json_put_int(json, "bytes", (int64_t)x->sent_bytes);
    json_put(json, "ms", json_real((double)(int64_t)(seconds * 1e6) / 1e3));
    line = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(json);
    pthread_mutex_lock(&s->lock);
    if (s->log && line) {
        (void)fprintf(s->log, "%s\n", line);
        (void)fflush(s->log);
    }
    pthread_mutex_unlock(&s->lock);
    free(line);
}

/* What is counted of requests of one route that end alike; made when the first one does. */
struct counted {
    struct counted *next;
    unsigned method;
    int status;
    struct series *requests, *seconds;
};

enum { METHODS = 7 };

static unsigned method_number(const char *method)
{
    static const char *const known[METHODS - 1] = {"GET",    "HEAD", "POST",
                                                   "DELETE", "PUT",  "OPTIONS"};
    unsigned i = 0;

    while (i < METHODS - 1 && strcmp(known[i], method) != 0)
        i++;
    return i;
}

static struct counted *counted_new(struct service *s, const struct route *route, unsigned method,
                                   int status)
{
    static const char *const names[METHODS] = {"GET", "HEAD",    "POST", "DELETE",
                                               "PUT", "OPTIONS", "other"};
    const char *pattern = route ? route->pattern : "none";
    CLEANUP(arena_release) struct arena scratch = {0};
    struct counted *c = calloc(1, sizeof(*c));

    if (!c)
        abort();
    c->method = method;
    c->status = status;
    c->requests = metric_series(s->metrics, M_REQUESTS,
                                arena_printf(&scratch, "route=\"%s\",method=\"%s\",code=\"%d\"",
                                             pattern, names[method], status));
    c->seconds =
        metric_series(s->metrics, M_SECONDS, arena_printf(&scratch, "route=\"%s\"", pattern));
    return c;
}

/* Lists by route, to whose heads is added and from which nothing is taken: read without a lock. */
static struct counted *counted_of(struct service *s, const struct route *route, unsigned method,
                                  int status)
{
    size_t n;
    const struct route *table = routes(&n);
    struct counted **list = &s->counted[route ? (size_t)(route - table) : n];
    struct counted *c = __atomic_load_n(list, __ATOMIC_ACQUIRE), *first = c;

    while (c && (c->method != method || c->status != status))
        c = c->next;
    if (c)
        return c;
    c = counted_new(s, route, method, status);
    do /* two may add the same: both count into the same series */
        c->next = first;
    while (
        !__atomic_compare_exchange_n(list, &first, c, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    return c;
}

void dispatch_init(struct service *s)
{
    size_t n;

    (void)routes(&n);
    s->counted = calloc(n + 1, sizeof(struct counted *));
    if (!s->counted)
        abort();
    s->sent_bytes = metric_series(s->metrics, M_SENT_BYTES, "");
}

void dispatch_release(struct service *s)
{
    struct counted *next;
    size_t n;

    (void)routes(&n);
    for (size_t i = 0; s->counted && i <= n; i++)
        for (struct counted *c = s->counted[i]; c; c = next) {
            next = c->next;
            free(c);
        }
    free(s->counted);
}

static void end(void *data, struct http_exchange *x)
{
    struct service *s = data;
    struct counted *c = counted_of(s, x->route, method_number(x->method), x->answer.status);
    struct timespec t = {0};
    double seconds;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    seconds = (double)t.tv_sec + (double)t.tv_nsec / 1e9 - (double)x->start_ns / 1e9;
    series_add(c->requests, 1);
    series_observe(c->seconds, seconds);
    series_add(s->sent_bytes, (double)x->sent_bytes);
    if (s->options.access_log)
        log_access(s, x, seconds);
}

const struct http_ops service_ops = {.begin = begin, .handle = handle, .end = end};
