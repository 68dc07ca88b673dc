/* Any text as strace's output, line by line. */
#include "check/parse.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *at = (const char *)data, *end = at + size;

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t len = (size_t)((stop ? stop : end) - at);
        char *text = malloc(len + !len); /* exactly: asan guards the end */
        struct line line;
        struct err err;

        if (!text)
            abort();
        memcpy(text, at, len);
        if (parse_line(text, len, &arena, &line, &err) == 0 && line.kind == LINE_CALL &&
            !line.call.path)
            abort();
        free(text);
        at += len + 1;
    }
    return 0;
}
