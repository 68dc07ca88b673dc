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
