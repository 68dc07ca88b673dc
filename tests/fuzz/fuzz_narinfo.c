/*
 * Narinfos and listings, whatever a cache sends: what comes out of one are names of a store, and
 * addresses that do not lead out of the cache.
 */
#include "base/str.h"
#include "scanner/listing.h"
#include "scanner/nar_walk.h"
#include "scanner/narinfo.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct narinfo *info)
{
    if (strchr(info->base, '/') || info->base[32] != '-' || str_starts(info->url, "file:") ||
        strstr(info->url, "/../") || str_starts(info->url, "../"))
        abort();
    for (size_t i = 0; i < info->n_references; i++)
        if (strchr(info->reference[i], '/') ||
            (i && strcmp(info->reference[i - 1], info->reference[i]) > 0))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct public_key key = {.name = "test-1"};
    struct nar_walk *w = nar_walk_new("/nix/store");
    struct listing_sum sum;
    struct narinfo info;
    struct err err;
    char *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (narinfo_read(copy, size, "/nix/store", &arena, &info, &err) == 0) {
        check(&info);
        if (narinfo_is_signed(&info, "/nix/store", &key, 1))
            abort(); /* by a key that is all zeroes */
    }
    nar_walk_begin(w, "package", NULL);
    (void)!listing_sum(copy, size, &sum, &err);
    (void)!listing_read(copy, size, &nar_walk_sink, w, &err);
    package_facts_free(nar_walk_end(w));
    nar_walk_free(w);
    free(copy);
    return 0;
}
