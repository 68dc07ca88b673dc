/*
 * Needed libraries whose symbols nobody wants. Reads symbol tables, so it is asked for by name.
 */
#include "linter/check.h"

#include "scanner/elf_read.h"

#include <stdlib.h>

enum { MAX_BYTES = 256 * 1024 * 1024 };

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool read_names(struct check *check, struct node *node, struct elf_names *ret)
{
    struct elf_source source = {.fd = -1, .names = ret};
    const struct object *object;
    struct err err;
    char *bytes;
    size_t len;

    if (node->size > MAX_BYTES ||
        world_bytes(check->closure->world, node, MAX_BYTES, check->arena, &bytes, &len) < 0)
        return false;
    source.bytes = (const unsigned char *)bytes;
    source.size = len;
    return elf_read(&source, check->arena, &object, &err) == 0;
}

static bool shares(const char **sorted, size_t n, const char *const *name, size_t n_names)
{
    for (size_t i = 0; i < n_names && n; i++)
        if (bsearch(&name[i], sorted, n, sizeof(*sorted), by_text))
            return true;
    return false;
}

static bool wants_versions_of(const struct object *o, const char *name)
{
    for (size_t i = 0; i < o->n_verneed; i++)
        if (!strcmp(o->verneed[i].file, name))
            return true;
    return false;
}

void check_needed_unused(struct check *check)
{
    const struct lint_object *o = check->object;
    struct elf_names mine = {0};

    if (!o->need || !is_dynamic(o->object) || !read_names(check, o->node, &mine))
        return;
    if (mine.n_wanted > 1)
        qsort(mine.wanted, mine.n_wanted, sizeof(*mine.wanted), by_text);
    if (mine.n_offered > 1) /* copied and interposed ones are defined on both sides */
        qsort(mine.offered, mine.n_offered, sizeof(*mine.offered), by_text);
    for (size_t i = 0; i < o->object->n_needs; i++) {
        const char *name = o->object->need[i].name;
        struct node *answer = need_answer(check, o, i);
        struct elf_names theirs = {0};
        struct finding *f;

        if (!answer || wants_versions_of(o->object, name) ||
            (answer->object && answer->object->ldso) || !read_names(check, answer, &theirs) ||
            shares(mine.wanted, mine.n_wanted, theirs.offered, theirs.n_offered) ||
            shares(mine.offered, mine.n_offered, theirs.offered, theirs.n_offered))
            continue;
        f = report_object(check, o, shown(check, name),
                          "it needs %s, and wants none of its symbols", shown(check, name));
        evidence(check, f, "%s", world_path(check->arena, answer));
    }
}
