#include "tests/unit/unit.h"

#include "base/str.h"
#include "server/page.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS = 300, KEYS = 7 };

/* Items whose keys are often equal, whose names never are; every third may be unwanted. */
struct item {
    int64_t key;
    char name[8];
};

struct list {
    struct item item[ITEMS];
    bool by_text, thirds;
};

static bool wanted(void *data, size_t at)
{
    const struct list *l = data;

    return !l->thirds || at % 3;
}

static struct page_key key(void *data, size_t at)
{
    const struct list *l = data;

    return l->by_text ? (struct page_key){.text = l->item[at].name + 2}
                      : (struct page_key){.number = l->item[at].key};
}

static const char *name(void *data, size_t at)
{
    return ((const struct list *)data)->item[at].name;
}

static json_t *item(void *data, size_t at)
{
    return json_text(((const struct list *)data)->item[at].name);
}

static struct list *list_new(bool by_text, bool thirds)
{
    struct list *l = calloc(1, sizeof(*l));

    for (size_t i = 0; i < ITEMS; i++) {
        const size_t mixed = i * 7919 % ITEMS;

        l->item[i].key = (int64_t)(mixed % KEYS) - 3;
        (void)snprintf(l->item[i].name, sizeof(l->item[i].name), "%03zu\n%zu", mixed, mixed % KEYS);
    }
    l->by_text = by_text;
    l->thirds = thirds;
    return l;
}

/* The next page of a listing, its names added to `ret_names`; NULL: it was the last. */
static const char *next_page(const struct listing *listing, const char *limit, const char *after,
                             struct arena *arena, struct str *ret_names, json_int_t *ret_total)
{
    static const struct param params[] = {PAGE_LIMIT, PAGE_AFTER, {0}};
    const struct route route = {.params = params};
    struct argument argument[] = {{"limit", limit}, {"after", after}};
    const struct query query = {
        .arena = arena, .route = &route, .argument = argument, .n_arguments = after ? 2 : 1};
    struct reply reply = {0};
    struct err err;
    json_t *one;
    size_t i;

    assert_int_equal(page_reply(&query, listing, &reply, &err), 0);
    *ret_total = json_integer_value(json_object_get(reply.json, "total"));
    json_array_foreach (json_object_get(reply.json, "items"), i, one)
        str_printf(ret_names, "%.3s ", json_string_value(one));
    json_decref(reply.json);
    return reply.next;
}

static const char *all_pages(const struct listing *listing, const char *limit, struct arena *arena,
                             json_int_t *ret_total)
{
    struct str names = {.arena = arena};
    const char *after = NULL;

    do
        after = next_page(listing, limit, after, arena, &names, ret_total);
    while (after);
    return names.text;
}

static void pages_are_the_whole_in_pieces(void **state UNUSED)
{
    static const char *const limits[] = {"1", "2", "7", "99", "200", "299", "300"};

    for (unsigned kind = 0; kind < 8; kind++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct list *l = list_new(kind & 1, kind & 2);
        const struct listing listing = {.data = l,
                                        .n = ITEMS,
                                        .wanted = wanted,
                                        .key = key,
                                        .name = name,
                                        .item = item,
                                        .descending = kind & 4};
        json_int_t total, again;
        const char *whole = all_pages(&listing, "1000", &arena, &total);

        assert_int_equal(total, kind & 2 ? ITEMS * 2 / 3 : ITEMS);
        assert_int_equal(strlen(whole), total * 4);
        for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
            assert_string_equal(all_pages(&listing, limits[i], &arena, &again), whole);
            assert_int_equal(again, total);
        }
        free(l);
    }
}

static void equal_keys_are_in_the_order_of_names(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct list *l = list_new(false, false);
    struct str names = {.arena = &arena};
    json_int_t total;
    struct listing listing = {
        .data = l, .n = ITEMS, .key = key, .name = name, .item = item, .descending = true};

    assert_non_null(next_page(&listing, "3", NULL, &arena, &names, &total));
    assert_string_equal(names.text, "006 013 020 ");
    free(l);
}

static void what_stands_in_order_is_not_sorted(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct list *l = list_new(false, false);
    struct listing listing = {.data = l, .n = ITEMS, .key = key, .name = name, .item = item};
    json_int_t total;
    const char *sorted;

    for (size_t i = 0; i < ITEMS; i++) { /* 43 of each key but the last */
        l->item[i].key = (int64_t)(i / 43);
        (void)snprintf(l->item[i].name, sizeof(l->item[i].name), "%03zu", i);
    }
    sorted = all_pages(&listing, "17", &arena, &total);
    listing.in_order = true;
    assert_string_equal(all_pages(&listing, "17", &arena, &total), sorted);
    assert_string_equal(all_pages(&listing, "300", &arena, &total), sorted);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_the_whole_in_pieces),
        cmocka_unit_test(equal_keys_are_in_the_order_of_names),
        cmocka_unit_test(what_stands_in_order_is_not_sorted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
