/* Escaping any bytes gives printable text, which reads back as the same bytes. */
#include "base/str.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *bytes = malloc(size + !size); /* not ended: the length counts */
    const char *text, *shown;

    if (!bytes)
        abort();
    memcpy(bytes, data, size);
    shown = str_escape_n(&arena, bytes, size);
    for (const char *s = shown; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            abort();
    text = arena_strndup(&arena, bytes, strnlen(bytes, size));
    if (strcmp(str_unescape(&arena, str_escape(&arena, text)), text) != 0)
        abort();
    free(bytes);
    return 0;
}
