/*
 * Files that may be wrappers: any bytes must end in a program or in a reason.
 */
#include "loader/wrapper.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", "A="};
    CLEANUP(arena_release) struct arena arena = {0};
    struct wrapper wrapper;
    struct err err = {0};
    int r = wrapper_read((const char *)data, size, env, ARRAY_LEN(env), &arena, &wrapper, &err);

    if (r == 0 && (!*wrapper.program || wrapper.n_before > wrapper.n_args))
        __builtin_trap();
    if (r < 0 && !*err.text)
        __builtin_trap();
    return 0;
}
