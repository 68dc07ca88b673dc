/*
 * The archive reader and what makes facts of it, over anything, in pieces of any size: no input may
 * be read out of bounds, and the pieces may not matter.
 */
#include "scanner/nar_walk.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Facts of `data` given in pieces of `piece` bytes; *ret_code: what became of it. */
static struct package_facts *walk(const uint8_t *data, size_t size, size_t piece, int *ret_code)
{
    struct nar_walk *w = nar_walk_new("/nix/store");
    struct nar *nar = nar_new(&nar_walk_sink, w);
    struct package_facts *f;
    struct err err;
    int r = 0;

    nar_walk_begin(w, "package", NULL);
    nar_start(nar);
    for (size_t at = 0; at < size && r == 0; at += piece) {
        const size_t n = size - at < piece ? size - at : piece;
        unsigned char *copy = malloc(n); /* of the very size, so that ASan sees its end */

        if (!copy)
            abort();
        memcpy(copy, data + at, n);
        r = nar_add(nar, copy, n, &err);
        free(copy);
    }
    *ret_code = r < 0 ? r : nar_end(nar, &err);
    f = nar_walk_end(w);
    nar_free(nar);
    nar_walk_free(w);
    return f;
}

/* Every directory's entries can be read back, and name as many objects as there are. */
static void check(const struct package_facts *f)
{
    for (size_t i = 0; i < f->n_dirs; i++) {
        const struct walked_dir *dir = &f->dir[i];
        struct entry entry;
        size_t at = 0, objects = 0;

        while (entries_next(dir->entries, dir->entries_size, &at, &entry))
            objects += entry.kind == ENTRY_ELF;
        if (at != dir->entries_size || objects != dir->n_objects)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int whole, parts;
    struct package_facts *a = walk(data, size, size ? size : 1, &whole);
    struct package_facts *b = walk(data, size, size < 2000 ? 1 : 13, &parts);

    if (whole != parts)
        abort();
    if (whole == 0) {
        check(a);
        if (a->n_dirs != b->n_dirs || a->files != b->files || a->objects != b->objects)
            abort();
    }
    package_facts_free(a);
    package_facts_free(b);
    return 0;
}
