/*
 * A request line, as the service takes it apart: method, path, query, cursors, an order's body.
 *
 * The first line is "METHOD PATH?QUERY", what follows it is the body.
 */
#include "base/json.h"
#include "server/order.h"
#include "server/route.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void try_query(struct arena *arena, const struct route *route, const char *text)
{
    struct argument *argument;
    const char *name;
    struct err err;
    size_t n;

    if (url_query(arena, text, &argument, &n, &err) < 0)
        return;
    if (n > URL_ARGUMENTS_MAX)
        abort();
    for (size_t i = 0; i < n; i++) {
        const char *packed = url_pack(arena, argument[i].value);
        const char *escaped = url_escape(arena, argument[i].value);

        if (strcmp(url_unpack(arena, packed), argument[i].value) != 0 ||
            strcmp(url_unescape(arena, escaped, strlen(escaped), true), argument[i].value) != 0)
            abort();
        (void)url_unpack(arena, argument[i].value);
    }
    if (route && route_check(route, argument, n, &name, &err) < 0 && !name)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *line = arena_strndup(&arena, (const char *)data, size), *path, *query, *end;
    const char *segment[ROUTE_SEGMENTS_MAX] = {0}, *allow = NULL;
    const uint8_t *body = memchr(data, '\n', size);
    const struct route *route;
    struct order order;
    struct err err;

    end = strchr(line, '\n');
    if (end)
        *end = '\0';
    path = strchr(line, ' ');
    if (!path)
        return 0;
    *path++ = '\0';
    query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    route = route_find(&arena, line, path, segment, &allow);
    if (!route && !allow)
        abort();
    try_query(&arena, route, query ? query : "");
    if (body &&
        order_read((const char *)body + 1, size - (size_t)(body + 1 - data), &arena, &order,
                   &err) == 0 &&
        order_place(&order, &(struct store_place){"/nix/store", "/"}, 1, &err) == 0)
        for (size_t i = 0; i < order.n_paths; i++)
            if (strncmp(order.path[i], "/nix/store/", 11) != 0 || strstr(order.path[i], "/../"))
                abort();
    return 0;
}
