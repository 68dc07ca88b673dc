#include "loader/internal.h"

#include <string.h>

/*
 * The descriptor is { needed NUL path-list NUL }* NUL. It comes from a scanned file: it must end in
 * two zero bytes, so every string in it ends inside.
 */
const char *note_find(const struct object *object, const char *name)
{
    const char *at = (const char *)object->resolution.bytes;
    const uint32_t size = object->resolution.size;
    const char *end;

    if (!at || size <= 2)
        return NULL;
    end = at + size;
    if (end[-1] != '\0' || end[-2] != '\0')
        return NULL;
    while (at < end && *at) {
        const char *list = at + strlen(at) + 1;

        if (list >= end)
            return NULL;
        if (strcmp(at, name) == 0)
            return *list ? list : NULL;
        at = list + strlen(list) + 1;
    }
    return NULL;
}

struct needs {
    const struct object *object;
    size_t at;
};

static const char *next_needed(void *data)
{
    struct needs *needs = data;

    while (needs->at < needs->object->n_needs) {
        const struct need *need = &needs->object->need[needs->at++];

        if (need->kind == NEED_NEEDED)
            return need->name;
    }
    return NULL;
}

bool note_is_about(const struct closure_note *note, const struct object *object)
{
    struct needs needs = {.object = object};

    return !object->rpath && closure_is_for(note, object->runpath, next_needed, &needs);
}
