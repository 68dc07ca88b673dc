/* Any text as a closure file: store paths with references to store paths, or an error that says why.
 */
#include "base/str.h"
#include "scanner/closure_file.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_name(const char *base)
{
    if (!*base || strchr(base, '/') || !strcmp(base, ".."))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct closure_file file;
    struct err err = {0};

    if (closure_file_parse("input", (const char *)data, size, "/nix/store", &arena, &file, &err) <
        0) {
        if (err.text[0] == '\0')
            abort();
        return 0;
    }
    for (size_t i = 0; i < file.n_paths; i++) {
        const struct closure_path *p = &file.path[i];

        if (p->path[0] != '/' || (file.refers && !str_starts(p->path, "/nix/store/")))
            abort();
        if (file.refers)
            check_name(p->path + strlen("/nix/store/"));
        for (size_t k = 0; k < p->n_references; k++)
            check_name(p->reference[k]);
    }
    return 0;
}
