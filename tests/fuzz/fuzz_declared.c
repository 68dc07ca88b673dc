/* Any bytes as dlopen notes: rows within their bounds, or problems. */
#include "loader/declared.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    unsigned char *bytes = malloc(size + !size);
    struct note note = {bytes, (uint32_t)size};
    const struct object object = {.dlopen_note = &note, .n_dlopen_notes = 1};
    struct declared_list list;

    if (!bytes)
        abort();
    memcpy(bytes, data, size);
    declared_read(&arena, &object, &list);
    if (list.n > DECLARED_MAX)
        abort();
    for (size_t i = 0; i < list.n; i++) {
        const struct declared *d = &list.item[i];

        if (d->n_names == 0 || d->n_names > DECLARED_NAMES_MAX || !d->priority)
            abort();
        for (size_t k = 0; k < d->n_names; k++)
            if (!*d->name[k])
                abort();
    }
    free(bytes);
    return 0;
}
