/*
 * Routes: the HTTP interface as one table. It dispatches, checks parameters, describes itself
 * (/openapi.json), labels metrics, and is walked by tests.
 *
 * A handler gets a query (which names no HTTP library) and fills a reply: JSON, or text of
 * another type. What goes wrong is an error by its errno, and becomes a problem document
 * (service.c): EINVAL 400, EACCES 403, ENOENT 404, EEXIST 409, EMSGSIZE 413, ENOTSUP 415,
 * EBADMSG 422, EAGAIN and ETIMEDOUT 503, ENOSPC 507; anything else 500.
 */
#pragma once

#include "base/json.h"
#include "server/http.h"
#include "server/url.h"

struct service;
struct snapshot;
struct view;
struct route;

enum { ROUTE_SEGMENTS_MAX = 3 };

enum param_kind { PARAM_TEXT, PARAM_NUMBER, PARAM_BOOL };

/* One thing that may stand in a query. */
struct param {
    const char *name;
    const char *summary;
    enum param_kind kind;
    const char *const *words; /* texts: only these, ends with NULL; NULL: anything */
    const char *usual;        /* the default; NULL: none */
    uint64_t min, max;        /* of numbers; texts: at most so many bytes, 0: 4096 */
    bool required, repeats;
};

struct query {
    struct arena *arena;
    const struct route *route;
    const char *url, *path;                  /* as sent, with the query and without */
    const char *segment[ROUTE_SEGMENTS_MAX]; /* of the pattern's {names}, in order, unescaped */
    struct argument *argument;               /* of the query, checked */
    size_t n_arguments;
    struct service *service;
    struct snapshot *snapshot; /* of routes that need the index */
    unsigned revision, audits; /* how many times its plans, and audits, had changed */
    const char *etag;          /* of the answer, if it is fine; NULL: none */
    struct view *view;         /* of routes that look into it */
    const char *body;          /* n_body bytes */
    size_t n_body;
    const char *body_type; /* Content-Type, or "" */
    const char *accept;    /* Accept, or "" */
};

struct reply {
    int status; /* 200 */
    json_t *json;
    const char *type; /* without json */
    char *text;       /* malloc()ed: n_text bytes, of that type */
    size_t n_text;
    struct http_stream stream; /* or what is made while it is sent */
    const char *next;          /* cursor of the next page; NULL: this is the last */
    const char *location;      /* path of what was made */
    const char *etag;          /* of what does not follow from the index; NULL: none */
    unsigned retry_after_seconds;
};

enum {
    ROUTE_INDEX = 1,    /* needs a snapshot: 503 while there is none */
    ROUTE_VIEW = 2,     /* and looks into the index or its world */
    ROUTE_SLOW = 4,     /* takes longer than a moment: done beside, the client waits */
    ROUTE_WRITE = 8,    /* needs the token */
    ROUTE_FRESH = 16,   /* differs from one call to the next: no tag, not kept */
    ROUTE_AUDIT = 64,   /* about audits: takes the snapshot if there is one */
    ROUTE_STEADY = 256, /* says nothing of the snapshot's plans: the same while they are made */
    ROUTE_WARMED = 512, /* brisk as soon as what is heavy in the snapshot has been made */
    ROUTE_BRISK = 128,  /* slow, but never for long: a worker is kept for these */
    ROUTE_PAGE = 32,    /* a page for people or a file of it: not in the description */
};

struct route {
    const char *method, *pattern;
    const char *id; /* operationId */
    const char *tag, *summary;
    const struct param *params; /* ends with a NULL name; NULL: none */
    const char *schema;         /* of the answer, in server/schemas.json; NULL: not JSON */
    const char *type;           /* of the answer; NULL: application/json */
    const char *other_type;     /* of what it may be instead, by a parameter */
    const char *body_schema;    /* of what is sent */
    unsigned flags;             /* ROUTE_... */
    size_t body_max;            /* bytes */
    int (*handle)(struct query *query, struct reply *reply, struct err *err);
};

/* The table. */
const struct route *routes(size_t *ret_n);

/*
 * The route of a method and a path (still escaped), its segments unescaped; HEAD is GET. NULL:
 * none, and *ret_allow lists the methods that the path has, "" when nothing has this path.
 */
const struct route *route_find(struct arena *arena, const char *method, const char *path,
                               const char *segment[ROUTE_SEGMENTS_MAX], const char **ret_allow);

/* Check a query against the route's parameters. -EINVAL names the parameter in *ret_name. */
MUST_CHECK int route_check(const struct route *route, const struct argument *argument, size_t n,
                           const char **ret_name, struct err *err);

/* Parameters of a query: the default when it was not given; NULL without one. */
const char *query_text(const struct query *query, const char *name);
uint64_t query_number(const struct query *query, const char *name);
bool query_bool(const struct query *query, const char *name);

/* The table as OpenAPI 3.1, with schemas.json in it. New reference. */
json_t *openapi_json(void);
