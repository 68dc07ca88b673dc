#include "server/page.h"

#include "base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare_keys(const struct page_key *a, const struct page_key *b)
{
    if (a->text && b->text)
        return strcmp(a->text, b->text);
    return (a->number > b->number) - (a->number < b->number);
}

static int compare(const struct listing *l, const struct page_key *a, const char *name_a,
                   const struct page_key *b, const char *name_b)
{
    const int order = compare_keys(a, b);

    if (order)
        return l->descending ? -order : order;
    return strcmp(name_a, name_b);
}

static int compare_items(const void *a, const void *b, void *data)
{
    const struct listing *l = data;
    const size_t i = *(const size_t *)a, k = *(const size_t *)b;
    const struct page_key x = l->key(l->data, i), y = l->key(l->data, k);

    return compare(l, &x, l->name(l->data, i), &y, l->name(l->data, k));
}

/* ---- cursors: the key, a line end, the name; both escaped, so that there is one line end */

static const char *cursor_make(const struct listing *l, size_t at, struct arena *arena)
{
    const struct page_key key = l->key(l->data, at);
    struct str text = {.arena = arena};

    if (key.text)
        str_printf(&text, "%s\n", str_escape(arena, key.text));
    else
        str_printf(&text, "%" PRId64 "\n", key.number);
    str_add(&text, str_escape(arena, l->name(l->data, at)));
    return url_pack(arena, text.text);
}

static int cursor_read(const char *cursor, bool by_text, struct arena *arena,
                       struct page_key *ret_key, const char **ret_name, struct err *err)
{
    char *text = url_unpack(arena, cursor), *end = text ? strchr(text, '\n') : NULL, *rest;

    if (!end)
        return err_set(err, EINVAL, "'after' is no cursor of this list");
    *end = '\0';
    if (by_text) {
        *ret_key = (struct page_key){.text = str_unescape(arena, text)};
    } else {
        *ret_key = (struct page_key){.number = strtoll(text, &rest, 10)};
        if (rest == text || *rest)
            return err_set(err, EINVAL, "'after' is no cursor of this list");
    }
    *ret_name = str_unescape(arena, end + 1);
    return 0;
}

/* The first item behind the cursor. */
static size_t find(const struct listing *l, const size_t *item, size_t n,
                   const struct page_key *key, const char *name)
{
    size_t low = 0, high = n;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct page_key k = l->key(l->data, item[middle]);

        if (compare(l, &k, l->name(l->data, item[middle]), key, name) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int page_reply(const struct query *query, const struct listing *l, struct reply *reply,
               struct err *err)
{
    const char *after = query_text(query, "after"), *name;
    const size_t limit = query_number(query, "limit");
    size_t *item = arena_calloc(query->arena, l->n + 1, sizeof(*item));
    json_t *json, *items;
    struct page_key key = {0};
    size_t n = 0, from = 0;
    int r;

    for (size_t i = 0; i < l->n; i++)
        if (!l->wanted || l->wanted(l->data, i))
            item[n++] = i;
    qsort_r(item, n, sizeof(*item), compare_items, (void *)(uintptr_t)l);
    if (after && n) {
        const bool by_text = l->key(l->data, item[0]).text != NULL;

        if ((r = cursor_read(after, by_text, query->arena, &key, &name, err)) < 0)
            return r;
        from = find(l, item, n, &key, name);
    }
    items = json_array();
    for (size_t i = from; i < n && i - from < limit; i++)
        json_push(items, l->item(l->data, item[i]));
    if (n - from > limit)
        reply->next = cursor_make(l, item[from + limit - 1], query->arena);
    json = json_object();
    json_put(json, "items", items);
    json_put_int(json, "total", (int64_t)n);
    json_put_text(json, "next", reply->next);
    reply->json = json;
    return 0;
}
