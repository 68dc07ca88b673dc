#include "tests/judge.h"

#include <string.h>

static bool still_differs(const struct judge *judge, const struct sample *s)
{
    struct verdict verdict;
    struct err err;

    return judge_sample(judge, s, &verdict, &err) == 0 && !verdict.same;
}

/* A copy of an array without its element i. */
static void *without(struct arena *arena, const void *array, size_t n, size_t size, size_t i)
{
    char *copy = arena_calloc(arena, n, size);

    memcpy(copy, array, i * size);
    memcpy(copy + i * size, (const char *)array + (i + 1) * size, (n - i - 1) * size);
    return copy;
}

static bool take(const struct judge *judge, struct sample *s, const struct sample *smaller)
{
    if (!still_differs(judge, smaller))
        return false;
    *s = *smaller;
    return true;
}

/* An entry that others need on disk: the parent of something, or a hard link's target. */
static bool is_needed(const struct tree *tree, const struct entry *entry)
{
    const size_t len = strlen(entry->path);

    for (size_t i = 0; i < tree->n_entries; i++) {
        const struct entry *other = &tree->entry[i];

        if (!strncmp(other->path, entry->path, len) && other->path[len] == '/')
            return true;
        if (other->kind == ENTRY_HARD_LINK && !strcmp(other->target, entry->path))
            return true;
    }
    return entry->is_loader || entry->copy_of;
}

static bool drop_entry(const struct judge *judge, struct sample *s, size_t i)
{
    struct sample smaller = *s;

    if (is_needed(&s->tree, &s->tree.entry[i]))
        return false;
    smaller.tree.entry =
        without(s->arena, s->tree.entry, s->tree.n_entries, sizeof(struct entry), i);
    smaller.tree.n_entries--;
    return take(judge, s, &smaller);
}

static bool drop_env(const struct judge *judge, struct sample *s, size_t i)
{
    struct sample smaller = *s;

    smaller.env = without(s->arena, s->env, s->n_env, sizeof(*s->env), i);
    smaller.n_env--;
    return take(judge, s, &smaller);
}

/* An option of the loader goes with its value. The program, which comes last, stays. */
static bool drop_arg(const struct judge *judge, struct sample *s, size_t i)
{
    struct sample smaller = *s;

    if (strncmp(s->args[i], "--", 2) != 0)
        return false;
    smaller.args = without(s->arena, s->args, s->n_args, sizeof(*s->args), i);
    smaller.n_args--;
    if (i + 1 < smaller.n_args && strncmp(smaller.args[i], "--", 2) != 0) {
        smaller.args = without(s->arena, smaller.args, smaller.n_args, sizeof(*s->args), i);
        smaller.n_args--;
    }
    return take(judge, s, &smaller);
}

static bool drop_dyn(const struct judge *judge, struct sample *s, size_t entry, size_t i)
{
    struct sample smaller = *s;
    struct elf_spec *spec = arena_memdup(s->arena, s->tree.entry[entry].elf, sizeof(*spec));

    spec->dynamic = without(s->arena, spec->dynamic, spec->n_dynamic, sizeof(struct elf_dyn), i);
    spec->n_dynamic--;
    smaller.tree.entry =
        arena_memdup(s->arena, s->tree.entry, s->tree.n_entries * sizeof(struct entry));
    smaller.tree.entry[entry].elf = spec;
    return take(judge, s, &smaller);
}

static bool drop_dyns(const struct judge *judge, struct sample *s)
{
    bool progress = false;

    for (size_t i = 0; i < s->tree.n_entries; i++) {
        const struct entry *entry = &s->tree.entry[i];

        if (entry->kind == ENTRY_FILE && entry->elf)
            for (size_t j = entry->elf->n_dynamic; j-- > 0;)
                progress |= drop_dyn(judge, s, i, j);
    }
    return progress;
}

void sample_shrink(const struct judge *judge, struct sample *sample)
{
    bool progress = true;

    while (progress) {
        progress = false;
        for (size_t i = sample->n_env; i-- > 0;)
            progress |= drop_env(judge, sample, i);
        for (size_t i = sample->n_args; i-- > 0;)
            if (i + 1 < sample->n_args)
                progress |= drop_arg(judge, sample, i);
        for (size_t i = sample->tree.n_entries; i-- > 0;)
            progress |= drop_entry(judge, sample, i);
        progress |= drop_dyns(judge, sample);
    }
}
