/* Any bytes as a wrapper: a program to become, or a reason. */
#include "loader/shebang.h"
#include "loader/wrapper.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char *const env[] = {"PATH=/bin", "LD_LIBRARY_PATH=/a:/b", "EMPTY="};

static void check_wrapper(int r, const struct wrapper *wrapper, const struct err *err)
{
    if (r < 0 && !*err->text)
        abort();
    if (r < 0)
        return;
    if (!wrapper->program || wrapper->n_before > wrapper->n_args)
        abort();
    for (size_t i = 0; i < wrapper->n_env; i++)
        if (!strchr(wrapper->env[i], '='))
            abort();
}

static void first_lines(const char *text, size_t size, struct arena *arena)
{
    struct shebang first = {0};
    struct err err = {0};
    const char **word;
    size_t n = 0;

    if (shebang_read(text, size, arena, &first, &err) == 0 && !*first.interpreter)
        abort();
    if (shebang_second(text, size, arena, &word, &n, &err) == 0 && n == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *bytes = malloc(size + !size);
    const struct script script = {bytes, size, env, ARRAY_LEN(env), "csh"};
    struct wrapper wrapper = {0};
    struct err err = {0};
    int r;

    if (!bytes)
        abort();
    memcpy(bytes, data, size);
    r = wrapper_shell(&script, &arena, &wrapper, &err);
    check_wrapper(r, &wrapper, &err);
    err = (struct err){0};
    r = wrapper_binary(&script, &arena, &wrapper, &err);
    check_wrapper(r, &wrapper, &err);
    err = (struct err){0};
    r = wrapper_guile(&script, &arena, &wrapper, &err);
    check_wrapper(r, &wrapper, &err);
    err = (struct err){0};
    r = wrapper_csh(&script, &arena, &wrapper, &err);
    check_wrapper(r, &wrapper, &err);
    first_lines(bytes, size, &arena);
    free(bytes);
    return 0;
}
