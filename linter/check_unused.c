/*
 * Needed libraries whose symbols nobody wants. Reads symbol tables, so it is asked for by name.
 */
#include "linter/check.h"

#include "scanner/elf_read.h"

#include <stdlib.h>

enum {
    MAX_BYTES = 256 * 1024 * 1024,
    MAX_BYTES_ALL = 1024 * 1024 * 1024, /* of all that one object needs */
    MIN_BYTES = 64 * 1024,              /* that reading a small file takes as long as */
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool read_names(struct check *check, struct arena *arena, struct node *node,
                       struct elf_names *ret)
{
    struct elf_source source = {.fd = -1, .names = ret};
    const struct object *object;
    struct err err;
    char *bytes;
    size_t len;

    if (node->size > MAX_BYTES ||
        world_bytes(check->closure->world, node, MAX_BYTES, arena, &bytes, &len) < 0)
        return false;
    source.bytes = (const unsigned char *)bytes;
    source.size = len;
    return elf_read(&source, arena, &object, &err) == 0;
}

static bool shares(const char **sorted, size_t n, const char *const *name, size_t n_names)
{
    for (size_t i = 0; i < n_names && n; i++)
        if (bsearch(&name[i], sorted, n, sizeof(*sorted), by_text))
            return true;
    return false;
}

/* Files that versions are wanted of, sorted. */
static const char **versioned(struct check *check, const struct object *o)
{
    const char **file = arena_calloc(check->arena, o->n_verneed + 1, sizeof(*file));

    for (size_t i = 0; i < o->n_verneed; i++)
        file[i] = o->verneed[i].file;
    if (o->n_verneed > 1)
        qsort(file, o->n_verneed, sizeof(*file), by_text);
    return file;
}

void check_needed_unused(struct check *check)
{
    const struct lint_object *o = check->object;
    struct elf_names mine = {0};
    uint64_t left = MAX_BYTES_ALL;
    const char **file;

    if (!o->need || !is_dynamic(o->object) || !read_names(check, check->arena, o->node, &mine))
        return;
    if (mine.n_wanted > 1)
        qsort(mine.wanted, mine.n_wanted, sizeof(*mine.wanted), by_text);
    if (mine.n_offered > 1) /* copied and interposed ones are defined on both sides */
        qsort(mine.offered, mine.n_offered, sizeof(*mine.offered), by_text);
    file = versioned(check, o->object);
    for (size_t i = 0; i < o->object->n_needs; i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        const char *name = o->object->need[i].name;
        struct node *answer = need_answer(check, o, i);
        struct elf_names theirs = {0};
        struct finding *f;

        if (!answer ||
            (o->object->n_verneed &&
             bsearch(&name, file, o->object->n_verneed, sizeof(*file), by_text)) ||
            (answer->object && answer->object->ldso))
            continue;
        if (answer->size + MIN_BYTES > left) {
            report_object(check, o, NULL,
                          "not asked to the end: its libraries are more than %d MiB",
                          MAX_BYTES_ALL >> 20);
            return;
        }
        left -= answer->size + MIN_BYTES;
        if (!read_names(check, &arena, answer, &theirs) ||
            shares(mine.wanted, mine.n_wanted, theirs.offered, theirs.n_offered) ||
            shares(mine.offered, mine.n_offered, theirs.offered, theirs.n_offered))
            continue;
        f = report_object(check, o, shown(check, name),
                          "it needs %s, and wants none of its symbols", shown(check, name));
        evidence(check, f, "%s", world_path(check->arena, answer));
    }
}
