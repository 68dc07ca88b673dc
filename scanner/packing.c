#include "scanner/packing.h"

#include <string.h>

static const struct {
    const char *name, *ending;
    enum packing packing;
    size_t n_magic;
    const char *magic;
} packings[] = {
    // clang-format off
    {"none",  "",     PACKING_NONE,    0, ""},
    {"xz",    ".xz",  PACKING_XZ,      6, "\xfd" "7zXZ\0"},
    {"zstd",  ".zst", PACKING_ZSTD,    4, "\x28\xb5\x2f\xfd"},
    {"br",    ".br",  PACKING_BROTLI,  0, ""},
    {"gzip",  ".gz",  PACKING_UNKNOWN, 3, "\x1f\x8b\x08"},
    {"bzip2", ".bz2", PACKING_UNKNOWN, 3, "BZh"},
    // clang-format on
};

enum packing packing_by_name(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_LEN(packings); i++)
        if (strcmp(name, packings[i].name) == 0)
            return packings[i].packing;
    return PACKING_UNKNOWN;
}

enum packing packing_by_ending(const char *path)
{
    const size_t len = strlen(path);

    for (size_t i = 1; i < ARRAY_LEN(packings); i++) {
        const size_t n = strlen(packings[i].ending);

        if (len > n && strcmp(path + len - n, packings[i].ending) == 0)
            return packings[i].packing;
    }
    return PACKING_NONE;
}

enum packing packing_by_magic(const void *bytes, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(packings); i++)
        if (packings[i].n_magic && n >= packings[i].n_magic &&
            memcmp(bytes, packings[i].magic, packings[i].n_magic) == 0)
            return packings[i].packing;
    return PACKING_NONE;
}
