/* What is wrong. */
#include "server/api.h"

#include <errno.h>
#include <string.h>

static const char PROBLEMS[] =
    "SELECT p.base, s.path || '/' || p.base || iif(x.path = '', '', '/' || x.path), x.kind, "
    "x.text FROM problem x JOIN package p ON p.id = x.package JOIN store s ON s.id = p.store "
    "ORDER BY p.base, x.path";

struct problem {
    const char *package, *path, *kind, *text;
};

struct list {
    struct problem *problem;
    size_t n;
    const char *kind, *package;
};

static bool wanted(void *data, size_t at)
{
    const struct list *l = data;
    const struct problem *p = &l->problem[at];

    return (!l->kind || !strcmp(p->kind, l->kind)) &&
           (!l->package || !strcmp(p->package, l->package));
}

static struct page_key key(void *data, size_t at)
{
    const struct list *l = data;

    return (struct page_key){.text = l->problem[at].path};
}

static const char *name(void *data, size_t at)
{
    const struct list *l = data;

    return l->problem[at].text;
}

static json_t *item(void *data, size_t at)
{
    const struct list *l = data;
    json_t *json = json_object();

    json_put_text(json, "package", l->problem[at].package);
    json_put_text(json, "path", l->problem[at].path);
    json_put_text(json, "kind", l->problem[at].kind);
    json_put_text(json, "text", l->problem[at].text);
    return json;
}

int list_problems(struct query *query, struct reply *reply, struct err *err)
{
    struct arena *a = query->arena;
    struct list list = {.kind = query_text(query, "kind"), .package = query_text(query, "package")};
    struct listing listing = {
        .data = &list, .wanted = wanted, .key = key, .name = name, .item = item};
    struct stmt *s = db_prepare(view_db(query->view), PROBLEMS, err);
    int r = s ? 0 : -err->code;

    while (s && (r = stmt_step(s, err)) > 0) {
        list.problem = arena_grow(a, list.problem, list.n, sizeof(*list.problem));
        list.problem[list.n++] =
            (struct problem){arena_strdup(a, stmt_text(s, 0)), arena_strdup(a, stmt_text(s, 1)),
                             arena_strdup(a, stmt_text(s, 2)), arena_strdup(a, stmt_text(s, 3))};
    }
    if (r < 0)
        return r;
    listing.n = list.n;
    return page_reply(query, &listing, reply, err);
}
