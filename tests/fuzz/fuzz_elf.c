/*
 * The ELF reader over anything: no input may be read out of bounds, hang, or be refused without
 * reason, and every string that comes out is ended.
 */
#include "scanner/elf_read.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static size_t length(const char *text)
{
    return text ? strlen(text) : 0;
}

/* Touch all that was read, so that the sanitizers see it. */
static size_t total_of(const struct object *o)
{
    size_t total = length(o->interp) + length(o->soname) + length(o->rpath) + length(o->runpath) +
                   length(o->audit) + length(o->depaudit) + length(o->problem);

    for (size_t i = 0; i < o->n_needs; i++)
        total += length(o->need[i].name);
    for (size_t i = 0; i < o->n_verneed; i++)
        total += length(o->verneed[i].file) + length(o->verneed[i].name);
    for (size_t i = 0; i < o->n_verdef; i++)
        total += length(o->verdef[i].name);
    for (size_t i = 0; i < o->n_dlopen_strings; i++)
        total += length(o->dlopen_string[i]);
    for (uint32_t i = 0; i < o->resolution.size; i++)
        total += o->resolution.bytes[i];
    for (size_t i = 0; i < o->n_dlopen_notes; i++)
        for (uint32_t k = 0; k < o->dlopen_note[i].size; k++)
            total += o->dlopen_note[i].bytes[k];
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    unsigned char *copy = malloc(size ? size : 1); /* of the very size, so that ASan sees its end */
    const struct elf_source source = {.fd = -1, .bytes = copy, .size = size, .mode = 0100755};
    const bool magic = size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0;
    const struct object *object = NULL;
    struct err err;
    int r;

    if (!copy)
        abort();
    memcpy(copy, data, size);
    r = elf_read(&source, &arena, &object, &err);
    if ((r == 0) != magic || (r == 0) != (object != NULL))
        abort();
    if (object && total_of(object) > (size_t)1 << 40)
        abort();
    free(copy);
    return 0;
}
