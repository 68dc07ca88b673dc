/*
 * Pages of a list: filtered, sorted, cut, with a cursor for what follows.
 *
 * A cursor names the last item of a page by its value and its name, so that a list that changes
 * between two pages (another index) still gives every item that stays once.
 */
#pragma once

#include "scanner/maintainer.h"
#include "server/route.h"

/* By what an item is sorted. */
struct page_key {
    const char *text; /* NULL: by number */
    int64_t number;
};

struct listing {
    void *data;
    size_t n;                              /* items, wanted or not */
    bool (*wanted)(void *data, size_t at); /* NULL: all */
    struct page_key (*key)(void *data, size_t at);
    const char *(*name)(void *data, size_t at); /* unique; decides between equal keys */
    json_t *(*item)(void *data, size_t at);
    bool descending; /* by key; names always ascend */
    bool in_order;   /* the items stand so already, and all are wanted: nothing is sorted */

    /* Of lists that can be asked for by maintainer: an item's origin, and all packages for a look. */
    const struct origin *(*origin)(void *data, size_t at);
    void (*see)(void *data, struct maintainer *maintainer);
};

/* The parameters that every paged route has. */
#define PAGE_LIMIT                                                                                 \
    {                                                                                              \
        .name = "limit", .summary = "Items of one page", .kind = PARAM_NUMBER, .min = 1,           \
        .max = 1000, .usual = "100"                                                                \
    }
#define PAGE_AFTER                                                                                 \
    {                                                                                              \
        .name = "after", .summary = "Cursor: what follows the page that gave it as next",          \
        .max = 8000                                                                                \
    }

/* What the parameter `sort` says: "-failed" is by failed, the largest first. */
struct page_sort {
    const char *by;
    bool descending;
};
struct page_sort page_sort(const struct query *query);

/* What the parameter `maintainer` says; without a name where it is not given. */
struct maintainer query_maintainer(const struct query *query);

/* {"items": [...], "total": N, "next": CURSOR or null}, and of nothing by a maintainer "why_none".
 * -EINVAL: not one of our cursors. */
MUST_CHECK int page_reply(const struct query *query, const struct listing *listing,
                          struct reply *reply, struct err *err);
