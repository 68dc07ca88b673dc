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

/* An item with what it is sorted by; its name is asked for when that does not decide. */
struct sorted {
    size_t at;
    struct page_key key;
    const char *name; /* NULL: not asked yet */
};

static const char *name_of(const struct listing *l, struct sorted *item)
{
    if (!item->name)
        item->name = l->name(l->data, item->at);
    return item->name;
}

static int compare(const struct listing *l, struct sorted *a, struct sorted *b)
{
    const int order = compare_keys(&a->key, &b->key);

    if (order)
        return l->descending ? -order : order;
    return strcmp(name_of(l, a), name_of(l, b));
}

static int compare_items(const void *a, const void *b, void *data)
{
    return compare(data, (struct sorted *)(uintptr_t)a, (struct sorted *)(uintptr_t)b);
}

/* ---- cursors: the key, a line end, the name; both escaped, so that there is one line end */

static const char *cursor_make(const struct listing *l, struct sorted *item, struct arena *arena)
{
    struct str text = {.arena = arena};

    if (item->key.text)
        str_printf(&text, "%s\n", str_escape(arena, item->key.text));
    else
        str_printf(&text, "%" PRId64 "\n", item->key.number);
    str_add(&text, str_escape(arena, name_of(l, item)));
    return url_pack(arena, text.text);
}

static int cursor_read(const char *cursor, bool by_text, struct arena *arena,
                       struct sorted *ret_item, struct err *err)
{
    char *text = url_unpack(arena, cursor), *end = text ? strchr(text, '\n') : NULL, *rest;

    if (!end)
        return err_set(err, EINVAL, "'after' is no cursor of this list");
    *end = '\0';
    *ret_item = (struct sorted){.name = str_unescape(arena, end + 1)};
    if (by_text) {
        ret_item->key.text = str_unescape(arena, text);
        return 0;
    }
    ret_item->key.number = strtoll(text, &rest, 10);
    if (rest == text || *rest)
        return err_set(err, EINVAL, "'after' is no cursor of this list");
    return 0;
}

/* ---- one page: its items, how many there are on all pages, whether others follow */

struct picked {
    struct sorted *item;
    size_t n, total;
    bool more;
};

static struct sorted nth(const struct listing *l, size_t at)
{
    return (struct sorted){.at = at, .key = l->key(l->data, at)};
}

/* The first item behind the cursor, where they stand in their order. */
static size_t find(const struct listing *l, struct sorted *after)
{
    size_t low = 0, high = l->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        struct sorted item = nth(l, middle);

        if (compare(l, &item, after) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void take(const struct listing *l, struct sorted *after, size_t limit, struct picked *page)
{
    const size_t from = after ? find(l, after) : 0;

    page->total = l->n;
    page->more = l->n - from > limit;
    while (page->n < limit && from + page->n < l->n) {
        page->item[page->n] = nth(l, from + page->n);
        page->n++;
    }
}

/* A heap whose first item is the last in order: put the one at `at` where it belongs below. */
static void sink(const struct listing *l, struct sorted *heap, size_t n, size_t at)
{
    size_t child;

    for (; (child = 2 * at + 1) < n; at = child) {
        struct sorted item;

        if (child + 1 < n && compare(l, &heap[child], &heap[child + 1]) < 0)
            child++;
        if (compare(l, &heap[child], &heap[at]) <= 0)
            return;
        item = heap[at];
        heap[at] = heap[child];
        heap[child] = item;
    }
}

/* One more item behind the cursor: of them the first `limit` stay. */
static void keep(const struct listing *l, struct sorted *item, size_t limit, struct picked *page)
{
    if (page->n < limit) {
        page->item[page->n++] = *item;
        return;
    }
    for (size_t i = page->more ? 0 : limit / 2; i--;)
        sink(l, page->item, limit, i);
    page->more = true;
    if (compare(l, item, &page->item[0]) >= 0)
        return;
    page->item[0] = *item;
    sink(l, page->item, limit, 0);
}

/* Every item is looked at, few are sorted: time grows with the list as the list does. */
static void pick(const struct listing *l, const struct maintainer *whose, struct sorted *after,
                 size_t limit, struct picked *page)
{
    for (size_t i = 0; i < l->n; i++) {
        struct sorted item;

        if (whose->name && !maintainer_wants(whose, l->origin(l->data, i)))
            continue;
        if (l->wanted && !l->wanted(l->data, i))
            continue;
        page->total++;
        item = nth(l, i);
        if (!after || compare(l, &item, after) > 0)
            keep(l, &item, limit, page);
    }
    qsort_r(page->item, page->n, sizeof(*page->item), compare_items, (void *)(uintptr_t)l);
}

struct page_sort page_sort(const struct query *query)
{
    const char *text = query_text(query, "sort");
    const bool descending = *text == '-';

    return (struct page_sort){text + descending, descending};
}

struct maintainer query_maintainer(const struct query *query)
{
    const char *name = query_text(query, "maintainer");

    return (struct maintainer){.name = name && *name ? str_unescape(query->arena, name) : NULL,
                               .arena = query->arena};
}

/* Nothing is left of what the maintainer was asked for. */
static void put_why_none(const struct listing *l, struct maintainer *whose, json_t *page)
{
    json_t *text;

    l->see(l->data, whose);
    text = json_string(maintainer_none(whose)); /* escaped */
    json_put(page, "why_none", text);
}

int page_reply(const struct query *query, const struct listing *l, struct reply *reply,
               struct err *err)
{
    const char *after = query_text(query, "after");
    const size_t limit = query_number(query, "limit");
    struct maintainer whose = query_maintainer(query);
    struct picked page = {0};
    struct sorted cursor;
    json_t *items;
    int r;

    if (after) {
        r = cursor_read(after, l->n && nth(l, 0).key.text, query->arena, &cursor, err);
        if (r < 0)
            return r;
    }
    page.item = arena_calloc(query->arena, (limit < l->n ? limit : l->n) + 1, sizeof(*page.item));
    if (l->in_order && !whose.name)
        take(l, after ? &cursor : NULL, limit, &page);
    else
        pick(l, &whose, after ? &cursor : NULL, limit, &page);
    items = json_array();
    for (size_t i = 0; i < page.n; i++)
        json_push(items, l->item(l->data, page.item[i].at));
    if (page.more)
        reply->next = cursor_make(l, &page.item[page.n - 1], query->arena);
    reply->json = json_object();
    json_put(reply->json, "items", items);
    json_put_int(reply->json, "total", (int64_t)page.total);
    json_put_text(reply->json, "next", reply->next);
    if (whose.name && page.total == 0)
        put_why_none(l, &whose, reply->json);
    return 0;
}
