/*
 * The ELF reader over anything: no input may read out of bounds, hang or be refused without reason.
 */
#include "scanner/elf_read.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct object *object = NULL;
    unsigned char *copy = malloc(size ? size : 1); /* of the very size, so that ASan sees its end */
    struct elf_source source = {.fd = -1, .bytes = copy, .size = size, .mode = 0100755};
    struct err err;
    int r;

    if (!copy)
        return 0;
    memcpy(copy, data, size);
    r = elf_read(&source, &arena, &object, &err);
    if ((r == 0) != (size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0) || (r == 0) != !!object)
        abort();
    free(copy);
    return 0;
}
