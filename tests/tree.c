#include "tests/tree.h"

#include <string.h>

struct entry *tree_find(const struct tree *tree, const char *path)
{
    for (size_t i = 0; i < tree->n_entries; i++)
        if (!strcmp(tree->entry[i].path, path))
            return &tree->entry[i];
    return NULL;
}

static struct entry *append(struct tree *tree, enum entry_kind kind, const char *path)
{
    tree->entry = arena_grow(tree->arena, tree->entry, tree->n_entries, sizeof(*tree->entry));
    tree->entry[tree->n_entries] = (struct entry){.kind = kind, .path = path, .mode = 0755};
    return &tree->entry[tree->n_entries++];
}

struct entry *tree_add(struct tree *tree, enum entry_kind kind, const char *path)
{
    struct entry *there = tree_find(tree, path);

    if (there) {
        *there = (struct entry){.kind = kind, .path = there->path, .mode = 0755};
        return there;
    }
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        const char *parent = arena_strndup(tree->arena, path, (size_t)(slash - path));

        if (!tree_find(tree, parent))
            append(tree, ENTRY_DIR, parent);
    }
    return append(tree, kind, arena_strdup(tree->arena, path));
}

struct entry *tree_add_link(struct tree *tree, const char *path, const char *target)
{
    struct entry *entry = tree_add(tree, ENTRY_LINK, path);

    entry->target = target;
    return entry;
}

struct entry *tree_add_text(struct tree *tree, const char *path, const char *text)
{
    struct entry *entry = tree_add(tree, ENTRY_FILE, path);

    entry->bytes = text;
    entry->size = strlen(text);
    return entry;
}

struct entry *tree_add_elf(struct tree *tree, const char *path, const struct elf_spec *spec)
{
    struct entry *entry = tree_add(tree, ENTRY_FILE, path);

    entry->elf = spec;
    return entry;
}
