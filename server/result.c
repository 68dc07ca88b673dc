/*
 * From a handler's reply to what is answered: bodies, headers, errors as problem documents.
 */
#include "base/json_write.h"
#include "base/log.h"
#include "base/str.h"
#include "server/service_private.h"

#include <errno.h>
#include <string.h>

enum {
    QUICK_MS = 2000, /* for SQL statements of one request */
    SLOW_MS = 60000,
    RETRY_S = 5,
};

static const char PAGE_POLICY[] =
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/* ---- problems */

static const struct kind {
    int error, status;
    const char *code;
} kinds[] = {
    {EINVAL, 400, "bad-parameter"}, {EACCES, 403, "forbidden"},
    {ENOENT, 404, "not-found"},     {EEXIST, 409, "conflict"},
    {EMSGSIZE, 413, "too-large"},   {ENOTSUP, 415, "unsupported-type"},
    {EBADMSG, 422, "invalid"},      {EAGAIN, 503, "not-ready"},
    {ETIMEDOUT, 503, "too-slow"},   {EBUSY, 503, "busy"},
    {ENOSPC, 507, "no-room"},       {0, 500, "internal"}, /* anything else */
};

static const char *title_of(int status)
{
    static const struct title {
        int status;
        const char *text;
    } titles[] =
        {
            {400, "Bad request"},
            {401, "Unauthorized"},
            {403, "Forbidden"},
            {404, "Not found"},
            {405, "Method not allowed"},
            {409, "Conflict"},
            {413, "Content too large"},
            {414, "URI too long"},
            {415, "Unsupported media type"},
            {422, "Unprocessable content"},
            {500, "Internal error"},
            {503, "Service unavailable"},
            {507, "Insufficient storage"},
        },
      *title;

    for_each (title, titles)
        if (title->status == status)
            return title->text;
    return "Error";
}

static struct http_body *json_body(json_t *json)
{
    struct json_writer w = {0};

    json_write_value(&w, NULL, json);
    json_write_finish(&w);
    return http_body(w.text, w.len);
}

void result_problem(struct arena *arena, int status, const char *code, const char *name,
                    const char *detail, const char *instance, struct result *ret_result)
{
    json_t *json = json_object(), *errors, *one;

    (void)arena;
    json_put_text(json, "type", "about:blank");
    json_put_text(json, "title", title_of(status));
    json_put_int(json, "status", status);
    json_put_text(json, "code", code);
    json_put_text(json, "detail", detail);
    json_put_text(json, "instance", instance);
    if (name) {
        errors = json_array();
        one = json_object();
        json_put_text(one, "parameter", name);
        json_put_text(one, "detail", detail);
        json_push(errors, one);
        json_put(json, "errors", errors);
    }
    *ret_result = (struct result){.status = status,
                                  .type = "application/problem+json",
                                  .body = json_body(json),
                                  .retry_after_seconds = status == 503 ? RETRY_S : 0};
}

void result_error(struct arena *arena, int r, const char *name, const struct err *err,
                  const char *instance, struct result *ret_result)
{
    const struct kind *kind = kinds;

    while (kind->error && kind->error != -r)
        kind++;
    if (!kind->error) /* it may name places on this machine: those are for the log */
        log_error("%s: %s", str_escape(arena, instance), str_escape(arena, err->text));
    result_problem(arena, kind->status, kind->code, name,
                   kind->error ? err->text : "it cannot be done; the service's log says why",
                   instance, ret_result);
}

/* ---- answering */

static void reply_result(struct reply *reply, struct result *ret_result)
{
    *ret_result = (struct result){.status = reply->status ? reply->status : 200,
                                  .type = reply->type,
                                  .next = reply->next,
                                  .location = reply->location,
                                  .etag = reply->etag,
                                  .stream = reply->stream,
                                  .retry_after_seconds = reply->retry_after_seconds};
    if (reply->json) {
        if (!ret_result->type)
            ret_result->type = "application/json";
        ret_result->body = json_body(reply->json);
    } else if (reply->text) {
        ret_result->body = http_body(reply->text, reply->n_text);
    }
}

void result_make(struct query *query, struct arena *arena, struct result *ret_result)
{
    const struct route *route = query->route;
    struct reply reply = {0};
    struct err err = {0};
    int r;

    if (route->flags & ROUTE_VIEW) {
        query->view = snapshot_take(query->snapshot);
        if (!query->view) {
            result_problem(arena, 503, "not-ready", NULL, "the index is being read anew",
                           query->path, ret_result);
            return;
        }
        view_begin(query->view, route->flags & ROUTE_SLOW ? SLOW_MS : QUICK_MS);
    }
    r = route->handle(query, &reply, &err);
    if (query->view)
        snapshot_give(query->snapshot, query->view, r == -EIO || r == -ETIMEDOUT);
    query->view = NULL;
    if (r < 0) {
        json_decref(reply.json);
        result_error(arena, r, NULL, &err, query->path, ret_result);
    } else
        reply_result(&reply, ret_result);
}

/* The same URL with another cursor. */
static const char *link_of(struct arena *arena, const struct query *query, const char *next)
{
    struct str link = {.arena = arena};
    const char *sep = "?";

    str_printf(&link, "<%s", query->path);
    for (size_t i = 0; i < query->n_arguments; i++) {
        const struct argument *a = &query->argument[i];

        if (!strcmp(a->name, "after"))
            continue;
        str_printf(&link, "%s%s=%s", sep, url_escape(arena, a->name), url_escape(arena, a->value));
        sep = "&";
    }
    str_printf(&link, "%safter=%s>; rel=\"next\"", sep, next);
    return link.text;
}

static const char *copy(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

/* All of an answer but its body. */
static void fill(struct http_answer *a, struct arena *arena, const struct query *query,
                 const struct result *result)
{
    const bool fine = result->status >= 200 && result->status < 300;
    const bool page = fine && result->type && str_starts(result->type, "text/html");
    const char *etag = query && query->etag ? query->etag : result->etag;

    a->status = result->status;
    a->type = copy(arena, result->type);
    a->etag = fine ? copy(arena, etag) : NULL;
    a->cache_control = a->etag ? "no-cache" : "no-store";
    a->location = copy(arena, result->location);
    a->link = fine && query && result->next ? link_of(arena, query, result->next) : NULL;
    a->content_policy = page ? PAGE_POLICY : NULL;
    a->retry_after_seconds = result->retry_after_seconds;
}

void result_fill(struct http_exchange *x, const struct query *query, const struct result *result)
{
    fill(&x->answer, &x->arena, query, result);
    x->answer.body = result->body ? http_body_ref(result->body) : NULL;
    x->answer.stream = result->stream;
}

void result_keep(const struct query *query, struct arena *arena, const struct result *result)
{
    struct http_answer answer = {.allow_origin = service_options(query->service)->cors};

    if (result->status != 200 || !result->body || !query->snapshot || !query->etag)
        return;
    fill(&answer, arena, query, result);
    http_body_seal(result->body, &answer);
    snapshot_keep(query->snapshot, query->url, query->route, query->revision, query->audits,
                  result->body);
}
