/* Any bytes as a wrapper: a program to become, or a reason. */
#include "loader/wrapper.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const env[] = {"PATH=/bin", "LD_LIBRARY_PATH=/a:/b", "EMPTY="};
    CLEANUP(arena_release) struct arena arena = {0};
    char *bytes = malloc(size + !size);
    struct wrapper wrapper;
    struct err err;

    if (!bytes)
        abort();
    memcpy(bytes, data, size);
    if (wrapper_read(bytes, size, env, ARRAY_LEN(env), &arena, &wrapper, &err) == 0) {
        if (!wrapper.program)
            abort();
        for (size_t i = 0; i < wrapper.n_env; i++)
            if (!strchr(wrapper.env[i], '='))
                abort();
    }
    free(bytes);
    return 0;
}
