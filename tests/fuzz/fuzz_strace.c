/*
 * strace's output, hostile: any bytes must end in facts or in an error.
 */
#include "check/process.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct process process = {.arena = &arena};
    const char *at = (const char *)data, *end = at + size;
    struct err err;

    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((line_end ? line_end : end) - at);

        if (process_line(&process, at, len, &err) == 0 && process.n_starts > size)
            __builtin_trap();
        at += len + 1;
    }
    return 0;
}
