/*
 * Notes as the resolver meets them inside ld.so, hostile: no byte beyond the descriptor is read,
 * and every request ends. The input is one descriptor behind a byte that says which note it is;
 * it lies in memory that ends where it ends.
 */
#include "resolver/decide.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static enum seen look(void *data, const char *path, bool verify)
{
    unsigned *n = data;
    const size_t len = strlen(path);

    if (len >= RESOLVER_PATH_MAX)
        __builtin_trap();
    *n += 1;
    return (enum seen)((len + *n + verify) & 3);
}

static const char *next(void *data)
{
    unsigned *left = data;

    return (*left)-- > 0 ? "libx.so" : NULL;
}

static void ask_all(struct resolver *r, const char *text, const char *end)
{
    static const struct asker askers[] = {
        {.path = CLOSURE_PROGRAM, .is_program = true, .runpath = true},
        {.path = CLOSURE_PROGRAM, .is_program = true, .rpath = true},
        {.path = "/a/liba.so"},
    };

    /* names and requesters that stand in the note itself, so that rows are found */
    for (unsigned i = 0; text && i < 64; i++, text = text_next(text, end)) {
        const struct asker stranger = {.path = text, .runpath = true};
        const char *name = text_next(text, end);

        for (unsigned k = 0; k < 3; k++)
            (void)resolver_answer(r, &askers[k], text);
        if (name)
            (void)resolver_answer(r, &stranger, name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct resolver r;
    char *bytes;
    unsigned looks = 0, left;

    if (size < 2 || !(bytes = malloc(size - 1)))
        return 0;
    memcpy(bytes, data + 1, size - 1);
    r = (struct resolver){.look = look, .data = &looks, .machine = EM_X86_64};
    r.library_path = data[0] & 4 ? "/l1:/l2;rel" : NULL;
    left = data[0] >> 4;
    if (data[0] & 1 ? closure_open(&r.closure, bytes, size - 1)
                    : resolution_open(&r.own, bytes, size - 1)) {
        if (data[0] & 1)
            (void)closure_is_for(&r.closure, "/a", next, &left);
        ask_all(&r, data[0] & 1 ? r.closure.rows.at : r.own.at, bytes + size - 1);
    }
    free(bytes);
    return 0;
}
