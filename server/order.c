#include "server/order.h"

#include "base/json.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

enum { PATH_BYTES_MAX = 4096 };

/* Absolute, and nothing in it that leads up again. */
static bool is_plain_path(const char *path)
{
    return *path == '/' && strlen(path) <= PATH_BYTES_MAX && !strstr(path, "/../") &&
           !str_ends(path, "/..");
}

static int read_paths(const json_t *json, struct arena *arena, struct order *order, struct err *err)
{
    const size_t n = json_array_size(json);

    if (json && !json_is_array(json))
        return err_set(err, EBADMSG, "'paths' must be a list of paths");
    if (n > ORDER_PATHS_MAX)
        return err_set(err, EBADMSG, "'paths' may have %d items", (int)ORDER_PATHS_MAX);
    order->path = arena_calloc(arena, n + 1, sizeof(*order->path));
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(json, i));

        text = text ? str_unescape(arena, text) : "";
        if (!is_plain_path(text))
            return err_set(err, EBADMSG, "'paths' must be a list of absolute paths without '..'");
        order->path[order->n_paths++] = text;
    }
    return 0;
}

static int read_fields(json_t *json, struct arena *arena, struct order *order, struct err *err)
{
    const char *key, *name = json_string_value(json_object_get(json, "name"));
    json_t *value;

    json_object_foreach (json, key, value) {
        if (strcmp(key, "name") != 0 && strcmp(key, "paths") != 0)
            return err_set(err, EBADMSG, "there is no field '%.100s'", key);
    }
    if (!name || !*name || *name == '-' || strlen(name) > ORDER_NAME_MAX)
        return err_set(err, EBADMSG,
                       "'name' must be a text of 1 to %d bytes, without a minus in front",
                       (int)ORDER_NAME_MAX);
    order->name = str_unescape(arena, name);
    return read_paths(json_object_get(json, "paths"), arena, order, err);
}

int order_read(const char *bytes, size_t len, struct arena *arena, struct order *ret_order,
               struct err *err)
{
    struct order order = {0};
    json_error_t why;
    json_t *json = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &why);
    int r;

    if (!json)
        return err_set(err, EBADMSG, "the body is no JSON object: %s", why.text);
    r = json_is_object(json) ? read_fields(json, arena, &order, err)
                             : err_set(err, EBADMSG, "the body is no JSON object");
    json_decref(json);
    if (r == 0)
        *ret_order = order;
    return r;
}

static bool is_in(const char *path, const char *store)
{
    const size_t len = strlen(store);

    return !strncmp(path, store, len) && path[len] == '/' && path[len + 1];
}

int order_place(struct order *order, const struct store_place *store, size_t n, struct err *err)
{
    order->store = "/nix/store";
    order->root = "/";
    for (size_t i = 0; i < n; i++) {
        if (order->n_paths && !is_in(order->path[0], store[i].path))
            continue;
        order->store = store[i].path;
        order->root = store[i].root;
        break;
    }
    for (size_t i = 0; i < order->n_paths; i++)
        if (!is_in(order->path[i], order->store))
            return err_set(err, EBADMSG, "every path must lie in the store '%s'", order->store);
    return 0;
}
