#include "scanner/origin.h"
#include "base/str.h"

#include <string.h>

json_t *origin_maintainers(const struct origin *origin)
{
    json_t *list = json_array();

    for (size_t i = 0; origin && i < origin->n_maintainers; i++)
        json_push(list, json_text(origin->maintainer[i]));
    return list;
}

/* Is the part of `len` bytes at `text` that name? */
static bool is_name(const char *text, size_t len, const char *name)
{
    return strlen(name) == len && !strncasecmp(text, name, len);
}

static bool is_called(const char *maintainer, const char *name)
{
    const char *text = maintainer + (*maintainer == '@'), *address = strstr(text, " <");

    if (is_name(text, strlen(text), name))
        return true;
    return address && (is_name(text, (size_t)(address - text), name) ||
                       is_name(address + 2, strcspn(address + 2, ">"), name));
}

bool origin_is_of(const struct origin *origin, const char *name)
{
    name += *name == '@';
    for (size_t i = 0; i < origin->n_maintainers && *name; i++)
        if (is_called(origin->maintainer[i], name))
            return true;
    return false;
}

const char *maintainer_name(const char *maintainer, struct arena *arena)
{
    const char *address = strstr(maintainer, " <");

    return address ? arena_strndup(arena, maintainer, (size_t)(address - maintainer)) : maintainer;
}

static const char *sentence(const struct origin *origin, bool with_addresses, struct arena *arena)
{
    struct str out = {.arena = arena};

    str_printf(&out, "%s: ", origin->attribute);
    for (size_t i = 0; i < origin->n_maintainers; i++)
        str_printf(&out, "%s%s", i ? ", " : "maintained by ",
                   with_addresses ? origin->maintainer[i]
                                  : maintainer_name(origin->maintainer[i], arena));
    if (!origin->n_maintainers)
        str_add(&out, "nobody maintains it");
    if (origin->position)
        str_printf(&out, "; %s", origin->position);
    return out.text;
}

const char *origin_text(const struct origin *origin, struct arena *arena)
{
    return str_escape(arena, sentence(origin, true, arena));
}

const char *origin_public(const struct origin *origin, struct arena *arena)
{
    return sentence(origin, false, arena);
}

static void set_maintainers(struct origin *origin, const json_t *list, struct arena *arena)
{
    const json_t *item;
    size_t i;

    origin->maintainer =
        arena_calloc(arena, json_array_size(list) + 1, sizeof(*origin->maintainer));
    json_array_foreach (list, i, item) {
        if (json_is_string(item))
            origin->maintainer[origin->n_maintainers++] =
                arena_strdup(arena, json_string_value(item));
    }
}

const struct origin *origin_of_row(struct stmt *s, int first, struct arena *arena)
{
    const char *attribute = stmt_text(s, first), *maintainers = stmt_text(s, first + 1);
    const char *position = stmt_text(s, first + 2);
    json_auto_t *list = maintainers ? json_loads(maintainers, 0, NULL) : NULL;
    struct origin *origin;

    if (!attribute)
        return NULL;
    origin = arena_alloc(arena, sizeof(*origin));
    origin->attribute = arena_strdup(arena, attribute);
    origin->position = position ? arena_strdup(arena, position) : NULL;
    set_maintainers(origin, list, arena);
    return origin;
}

void origin_put(json_t *object, const struct origin *origin)
{
    json_put_text(object, "attribute", origin ? origin->attribute : NULL);
    json_put(object, "maintainers", origin_maintainers(origin));
    json_put_text(object, "position", origin ? origin->position : NULL);
}

void origin_put_known(json_t *object, const struct origin *origin)
{
    if (origin)
        origin_put(object, origin);
}

const struct origin *origin_get(const json_t *object, struct arena *arena)
{
    const char *attribute = json_string_value(json_object_get(object, "attribute"));
    const char *position = json_string_value(json_object_get(object, "position"));
    struct origin *origin;

    if (!attribute)
        return NULL;
    origin = arena_alloc(arena, sizeof(*origin));
    origin->attribute = arena_strdup(arena, attribute);
    origin->position = position ? arena_strdup(arena, position) : NULL;
    set_maintainers(origin, json_object_get(object, "maintainers"), arena);
    return origin;
}
