/*
 * Any bytes as JSON that a client sends: an order with paths that lie in the store, or a sentence
 * that says what is wrong. Whatever is JSON is written by the writer as by jansson.
 */
#include "base/json_write.h"
#include "server/order.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void try_order(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const struct store_place stores[] = {{"/nix/store", "/"}, {"/gnu/store", "/mnt"}};
    struct order order = {0};
    struct err err = {0};
    int r = order_read((const char *)data, size, &arena, &order, &err);

    if (r == 0)
        r = order_place(&order, stores, ARRAY_LEN(stores), &err);
    if (r < 0 && !err.text[0])
        abort();
    if (r < 0)
        return;
    for (size_t i = 0; i < order.n_paths; i++)
        if (strncmp(order.path[i], order.store, strlen(order.store)) != 0 ||
            strstr(order.path[i], "/../"))
            abort();
}

static void try_writer(const uint8_t *data, size_t size)
{
    json_t *value = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
    struct json_writer w = {0};
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    if (text) {
        json_write_value(&w, NULL, json_incref(value));
        if (w.len != strlen(text) || memcmp(w.text, text, w.len) != 0)
            abort();
    }
    free(w.text);
    free(text);
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_order(data, size);
    try_writer(data, size);
    return 0;
}
