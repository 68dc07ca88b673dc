#include "loader/internal.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct place loader_walk(struct loader *loader, const char *path)
{
    if (*path != '/' && !loader->cwd_node)
        return (struct place){.error = ENOENT};
    return world_walk(loader->world, loader->cwd_node, path);
}

/* The directory of a composed string; known ones are the same pointer. */
static struct dir *dir_get(struct loader *loader, struct setup *setup, const char *path, size_t len)
{
    const struct name *name = intern_n(loader->world->names, path, len);
    const size_t n_caps = setup->profile.n_caps;
    struct dir **slot = slots_at(&setup->dir_by_name, name->id), *dir;

    if (*slot)
        return *slot;
    dir = arena_alloc(loader->arena, sizeof(*dir));
    *dir = (struct dir){.path = name, .id = setup->n_dirs++, .relative = name->text[0] != '/'};
    dir->at = arena_calloc(loader->arena, n_caps, sizeof(*dir->at));
    dir->walked = arena_calloc(loader->arena, n_caps, sizeof(*dir->walked));
    *slot = dir;
    return dir;
}

/* Where a path with one slash at its end leads without it: a file is told apart by its kind. */
static struct place walk_unslashed(struct loader *loader, struct node *from, const char *path,
                                   size_t len)
{
    char text[PATH_MAX] __attribute__((uninitialized));

    if (len > PATH_MAX)
        return (struct place){.error = ENAMETOOLONG};
    memcpy(text, path, len - 1);
    text[len - 1] = '\0';
    return from ? world_walk(loader->world, from, text) : loader_walk(loader, text);
}

struct place dir_at(struct loader *loader, struct setup *setup, struct dir *dir, size_t cap)
{
    const size_t cap_len = setup->cap_len[cap], plain = setup->profile.n_caps - 1;
    const struct place *base = dir->at + plain;

    if (dir->walked[cap])
        return dir->at[cap];
    dir->walked[cap] = true;
    if (cap_len == 0) {
        dir->at[cap] = dir->path->len > 1
                           ? walk_unslashed(loader, NULL, dir->path->text, dir->path->len)
                           : loader_walk(loader, dir->path->len ? dir->path->text : ".");
        return dir->at[cap];
    }
    if (!dir->walked[plain])
        (void)dir_at(loader, setup, dir, plain);
    if (base->error)
        dir->at[cap] = *base;
    else if (dir->path->len + cap_len > PATH_MAX) /* its last slash is not walked */
        dir->at[cap] = (struct place){.error = ENAMETOOLONG};
    else
        dir->at[cap] = walk_unslashed(loader, base->node, setup->profile.caps[cap], cap_len);
    return dir->at[cap];
}

static bool trusted(const struct setup *setup, const char *path)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const char *normal = str_normal(&scratch, path);

    for (size_t i = 0; i < setup->profile.n_system_dirs; i++)
        if (str_starts(normal, setup->profile.system_dirs[i]))
            return true;
    return false;
}

const char *text_expand(struct loader *loader, struct arena *arena, const char *text,
                        const struct setup *setup, const struct tokens *tokens, bool owner_is_main)
{
    const bool origin = strstr(text, "ORIGIN") && token_present(text);
    const char *expanded;

    if (*text == '\0')
        return text;
    if (loader->secure && origin && !token_origin_is_secure(text))
        return NULL;
    expanded = token_expand(arena, text, tokens);
    if (!expanded || *expanded == '\0')
        return NULL;
    if (loader->secure && owner_is_main && origin) {
        if (!trusted(setup, expanded))
            return NULL;
        if (setup->profile.normalises)
            return str_normal(arena, expanded);
    }
    return expanded;
}

/* The directory that a component means once it is expanded: one slash at its end. */
static struct dir *dir_of(struct loader *loader, struct setup *setup, const char *text, size_t len)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    char *path;

    while (len > 1 && text[len - 1] == '/')
        len--;
    if (len == 0)
        return dir_get(loader, setup, "", 0);
    path = arena_alloc(&scratch, len + 1);
    memcpy(path, text, len);
    if (path[len - 1] != '/')
        path[len++] = '/';
    return dir_get(loader, setup, path, len);
}

/* The same, remembered by how it is spelled: the run paths of a store name the same directories. */
static struct dir *dir_spelled(struct loader *loader, struct setup *setup, const char *text,
                               size_t len)
{
    const struct name *name = intern_n(loader->world->names, text, len);
    struct dir **slot = slots_at(&setup->dir_by_name, name->id);

    if (!*slot)
        *slot = dir_of(loader, setup, text, len);
    return *slot;
}

/* A component with tokens; NULL: nothing is left of it. */
static struct dir *dir_expanded(struct loader *loader, struct setup *setup, const char *text,
                                size_t len, const struct tokens *tokens, bool owner_is_main)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const char *part = arena_strndup(&scratch, text, len);
    const char *path = text_expand(loader, &scratch, part, setup, tokens, owner_is_main);

    return path ? dir_of(loader, setup, path, strlen(path)) : NULL;
}

static size_t count_parts(const char *text, const char *separators)
{
    size_t n = 1;

    while (*(text += strcspn(text, separators)) != '\0') {
        text++;
        n++;
    }
    return n;
}

struct dirlist dirlist_make(struct loader *loader, struct setup *setup, const char *text,
                            const char *separators, const struct tokens *tokens, bool owner_is_main)
{
    const uint64_t id = ++loader->n_lists;
    struct dirlist list = {0};

    if (!text || *text == '\0')
        return list;
    list.exists = true;
    list.token = token_present(text);
    list.dir = arena_calloc(loader->arena, count_parts(text, separators), sizeof(struct dir *));
    for (;;) {
        const size_t len = strcspn(text, separators);
        struct dir *dir = list.token ? dir_expanded(loader, setup, text, len, tokens, owner_is_main)
                                     : dir_spelled(loader, setup, text, len);

        if (dir && dir->listed != id) {
            dir->listed = id;
            list.dir[list.n++] = dir;
        }
        if (text[len] == '\0')
            return list;
        text += len + 1;
    }
}

const char *origin_of(struct loader *loader, struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (*path != '/')
        return origin_of(loader, arena, str_join(arena, loader->cwd, path));
    return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

static void image_names(struct loader *loader, struct setup *setup, struct image *image)
{
    const struct object *object = image->object;
    const struct tokens tokens = {image->origin, setup->profile.platform, setup->profile.lib};

    if (object->soname)
        image->soname = intern(loader->world->names, object->soname);
    image->need = arena_calloc(loader->arena, object->n_needs, sizeof(const struct name *));
    for (size_t i = 0; i < object->n_needs; i++) {
        const char *name = token_expand(loader->arena, object->need[i].name, &tokens);

        image->need[i] = name ? intern(loader->world->names, name) : NULL;
    }
}

struct image *image_get(struct loader *loader, struct setup *setup, const struct name *path,
                        struct node *node)
{
    struct image **slot = slots_at(&setup->image_by_name, path->id), *image = *slot;

    if (image && image->node == node)
        return image;
    image = arena_alloc(loader->arena, sizeof(*image));
    image->path = path;
    image->node = node;
    image->object = world_object(loader->world, node);
    image->judgement =
        judge_header(&setup->profile, loader->world->kernel, node, image->object, &image->why);
    image->origin = origin_of(loader, loader->arena, path->text);
    if (image->judgement == JUDGED_GOOD) {
        image->unusable = judge_library(image->object);
        image_names(loader, setup, image);
    }
    *slot = image;
    return image;
}

void image_paths(struct loader *loader, struct setup *setup, struct image *image)
{
    const struct tokens tokens = {image->origin, setup->profile.platform, setup->profile.lib};

    image->paths_known = true;
    image->runpath = dirlist_make(loader, setup, image->object->runpath, ":", &tokens, false);
    if (!image->object->runpath)
        image->rpath = dirlist_make(loader, setup, image->object->rpath, ":", &tokens, false);
}

/* ---- what opening (directory, cap, name) gives */

static uint64_t probe_key(const struct setup *setup, const struct dir *dir, size_t cap,
                          const struct name *name)
{
    /* never 0, which marks a free slot */
    return (dir->id * setup->profile.n_caps + cap + 1) << 32 | name->id;
}

static struct probe *probe_find(struct probe *slot, uint32_t mask, uint64_t key)
{
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & mask;

    while (slot[at].key && slot[at].key != key)
        at = (at + 1) & mask;
    return &slot[at];
}

struct probe *probe_slot(struct setup *setup, const struct dir *dir, size_t cap,
                         const struct name *name)
{
    return probe_find(setup->probes, setup->probe_mask, probe_key(setup, dir, cap, name));
}

struct probe probe_keep(struct setup *setup, const struct dir *dir, size_t cap,
                        const struct name *name, struct probe probe)
{
    const uint32_t old = setup->probe_mask;

    if (setup->n_probes * 2 > old) {
        struct probe *larger = calloc((size_t)old * 2 + 2, sizeof(*larger));

        if (!larger)
            abort();
        for (uint32_t i = 0; i <= old; i++)
            if (setup->probes[i].key)
                *probe_find(larger, old * 2 + 1, setup->probes[i].key) = setup->probes[i];
        free(setup->probes);
        setup->probes = larger;
        setup->probe_mask = old * 2 + 1;
    }
    probe.key = probe_key(setup, dir, cap, name);
    *probe_slot(setup, dir, cap, name) = probe;
    setup->n_probes++;
    return probe;
}

/* The system directories, each once. */
static struct dirlist dirlist_system(struct loader *loader, struct setup *setup)
{
    const uint64_t id = ++loader->n_lists;
    const struct profile *p = &setup->profile;
    struct dirlist list = {.exists = true};

    list.dir = arena_calloc(loader->arena, p->n_system_dirs, sizeof(struct dir *));
    for (size_t i = 0; i < p->n_system_dirs; i++) {
        struct dir *dir = dir_get(loader, setup, p->system_dirs[i], strlen(p->system_dirs[i]));

        if (dir->listed == id)
            continue;
        dir->listed = id;
        list.dir[list.n++] = dir;
    }
    return list;
}

static const char *setup_load(struct loader *loader, struct setup *setup,
                              const struct variant *variant)
{
    struct world *world = loader->world;
    const struct place at = loader_walk(loader, setup->interp->text);
    const struct object *object;
    char *real;

    setup->outside = at.assumed;
    if (at.error)
        return arena_printf(loader->arena, "loader '%s': %s", setup->interp->text,
                            at.assumed ? "outside what was looked at, and taken as absent"
                                       : strerror(at.error));
    object = at.node->kind == NODE_FILE ? world_object(world, at.node) : NULL;
    if (!object)
        return arena_printf(loader->arena, "loader '%s': not an ELF file", setup->interp->text);
    real = world_path(loader->arena, at.node);
    setup->node = at.node;
    profile_make(loader->arena, object, setup->interp->text, real, &setup->cpu, &setup->profile);
    profile_levels(loader->arena, &setup->profile, variant->prepend, variant->mask);
    setup->cap_len = arena_calloc(loader->arena, setup->profile.n_caps, sizeof(size_t));
    for (size_t i = 0; i < setup->profile.n_caps; i++)
        setup->cap_len[i] = strlen(setup->profile.caps[i]);
    setup->system = dirlist_system(loader, setup);
    return NULL;
}

struct setup *setup_get(struct loader *loader, const struct variant *variant)
{
    struct intern *names = loader->world->names;
    const struct name *interp = intern(names, variant->interp);
    const struct name *tunables = intern(names, variant->tunables);
    const struct name *prepend = intern(names, variant->prepend);
    const struct name *mask = variant->mask ? intern(names, variant->mask) : NULL;
    struct setup *setup;

    for (setup = loader->setups; setup; setup = setup->next)
        if (setup->interp == interp && setup->tunables == tunables && setup->prepend == prepend &&
            setup->mask == mask)
            return setup;
    setup = arena_alloc(loader->arena, sizeof(*setup));
    setup->interp = interp;
    setup->tunables = tunables;
    setup->prepend = prepend;
    setup->mask = mask;
    setup->cpu = *loader->cpu;
    setup->tunables_known = cpu_hide(&setup->cpu, variant->tunables);
    setup->next = loader->setups;
    loader->setups = setup;
    setup->dir_by_name.size = setup->image_by_name.size = sizeof(void *);
    setup->probe_mask = 1023;
    setup->probes = calloc(setup->probe_mask + 1, sizeof(*setup->probes));
    if (!setup->probes)
        abort();
    setup->problem = setup_load(loader, setup, variant);
    return setup;
}
