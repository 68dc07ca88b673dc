/* Any bytes as an ld.so.cache: searches end, and what they find lies in the file. */
#include "loader/internal.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"liba.so", "libn.so.1", "libn.so.01", "", "lib\xff", "9"};
    CLEANUP(arena_release) struct arena arena = {0};
    struct ldso ldso = {.libc = LIBC_GLIBC, .version = size % 2 ? "2.36" : "2.31"};
    const struct object object = {
        .class = ELFCLASS64, .data = ELFDATA2LSB, .machine = EM_X86_64, .ldso = &ldso};
    const char *bytes = arena_strndup(&arena, (const char *)data, size); /* ends in a zero */
    struct profile profile;
    struct ldcache *cache;
    struct cpu cpu;
    struct err err;

    if (cpu_find("x86-64-v4", &cpu, &err) < 0)
        abort();
    profile_make(&arena, &object, "/lib64/ld.so", "/lib64/ld.so", &cpu, &profile);
    cache = ldcache_parse(&arena, &profile, bytes, size);
    for (size_t i = 0; cache && i < ARRAY_LEN(names); i++) {
        const char *value = ldcache_find(cache, &profile, names[i]);

        if (value && (value < bytes || value + strlen(value) > bytes + size))
            abort();
    }
    return 0;
}
