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

/* An item with what it is sorted by, asked for once. */
struct sorted {
    size_t at;
    struct page_key key;
    const char *name;
};

static int compare_items(const void *a, const void *b, void *data)
{
    const struct sorted *x = a, *y = b;

    return compare(data, &x->key, x->name, &y->key, y->name);
}

/* ---- cursors: the key, a line end, the name; both escaped, so that there is one line end */

static const char *cursor_make(const struct sorted *item, struct arena *arena)
{
    struct str text = {.arena = arena};

    if (item->key.text)
        str_printf(&text, "%s\n", str_escape(arena, item->key.text));
    else
        str_printf(&text, "%" PRId64 "\n", item->key.number);
    str_add(&text, str_escape(arena, item->name));
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

/* Items in their order: sorted, or as they stand. */
struct ordered {
    const struct listing *l;
    const struct sorted *item; /* NULL: as they stand */
    size_t n;
};

static struct sorted nth(const struct ordered *o, size_t i)
{
    return o->item ? o->item[i]
                   : (struct sorted){i, o->l->key(o->l->data, i), o->l->name(o->l->data, i)};
}

/* The first item behind the cursor. */
static size_t find(const struct ordered *o, const struct page_key *key, const char *name)
{
    size_t low = 0, high = o->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct sorted item = nth(o, middle);

        if (compare(o->l, &item.key, item.name, key, name) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct sorted *sort(const struct listing *l, struct arena *arena, size_t *ret_n)
{
    struct sorted *item = arena_calloc(arena, l->n + 1, sizeof(*item));
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        if (!l->wanted || l->wanted(l->data, i))
            item[n++] = (struct sorted){i, l->key(l->data, i), l->name(l->data, i)};
    qsort_r(item, n, sizeof(*item), compare_items, (void *)(uintptr_t)l);
    *ret_n = n;
    return item;
}

int page_reply(const struct query *query, const struct listing *l, struct reply *reply,
               struct err *err)
{
    const char *after = query_text(query, "after"), *name = "";
    const size_t limit = query_number(query, "limit");
    struct ordered o = {.l = l, .n = l->n};
    struct page_key key = {0};
    size_t from = 0;
    json_t *items;
    int r;

    if (!l->in_order)
        o.item = sort(l, query->arena, &o.n);
    if (after) {
        r = cursor_read(after, o.n && nth(&o, 0).key.text, query->arena, &key, &name, err);
        if (r < 0)
            return r;
        from = find(&o, &key, name);
    }
    items = json_array();
    for (size_t i = from; i < o.n && i - from < limit; i++)
        json_push(items, l->item(l->data, nth(&o, i).at));
    if (o.n - from > limit) {
        const struct sorted last = nth(&o, from + limit - 1);

        reply->next = cursor_make(&last, query->arena);
    }
    reply->json = json_object();
    json_put(reply->json, "items", items);
    json_put_int(reply->json, "total", (int64_t)o.n);
    json_put_text(reply->json, "next", reply->next);
    return 0;
}
