#include "linter/wrappers.h"

#include "base/str.h"
#include "loader/follow.h"

#include <stdlib.h>
#include <string.h>

/* ---- where they are */

struct found {
    struct closure *closure;
    struct lint_package *package;
    struct wrappers *list;
};

/* Wrappers are small: what a hop has is kept, the arena of following is not. */
static void keep(const struct found *found, const char *path, const struct way *way)
{
    struct arena *arena = &found->closure->arena;
    const struct hop *last = &way->hop[way->n - 1];
    const char **env = arena_calloc(arena, last->n_env + 1, sizeof(*env));
    struct wrappers *list = found->list;

    for (size_t i = 0; i < last->n_env; i++)
        env[i] = arena_strdup(arena, last->env[i]);
    list->item = arena_grow(arena, list->item, list->n, sizeof(*list->item));
    list->item[list->n++] = (struct wrapper){.path = path,
                                             .package = found->package,
                                             .program = arena_strdup(arena, last->program),
                                             .is_script = strcmp(last->program, last->exec) != 0,
                                             .env = env,
                                             .n_env = last->n_env};
}

static void look_at(const struct found *found, const struct node *node)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const char *path = world_path(&scratch, node);
    const struct hop from = {.exec = path, .cwd = "/"};
    struct way way;
    struct err err; /* a script that cannot be followed is no wrapper */

    if (node->kind != NODE_FILE || !(node->mode & 0111) ||
        way_follow(found->closure->world, &from, &scratch, &way, &err) < 0 || way.n == 1 ||
        way.hop[way.n - 1].program[0] != '/')
        return;
    keep(found, arena_strdup(&found->closure->arena, path), &way);
}

static void look_into(const struct found *found, const char *name)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct world *world = found->closure->world;
    const struct place at = world_walk(world, NULL, str_join(&scratch, found->package->path, name));
    const char **entry;
    size_t n;

    if (at.error || at.node->kind != NODE_DIR ||
        closure_package_of(found->closure, world_path(&scratch, at.node)) != found->package ||
        world_names(world, at.node, &scratch, &entry, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        const struct node *node = world_child(world, at.node, intern(world->names, entry[i]));

        if (node)
            look_at(found, node);
    }
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct wrapper *)a)->path, ((const struct wrapper *)b)->path);
}

/* ---- whom they start */

static void give(struct closure *c, const struct wrapper *wrapper)
{
    const struct place at = world_walk(c->world, NULL, wrapper->program);
    struct lint_object *object =
        at.error || wrapper->is_script ? NULL : closure_object_of(c, at.node);

    if (object && object->package == wrapper->package && !object->wrapper)
        object->wrapper = wrapper;
}

void wrappers_find(struct closure *closure, struct wrappers *ret_wrappers)
{
    static const char *const dirs[] = {"bin", "sbin", "libexec"};
    struct wrappers list = {0};

    for (size_t i = 0; i < closure->n_packages && closure->live; i++) {
        const struct found found = {closure, closure->package[i], &list};
        const char *const *dir;

        if (closure->package[i]->selected)
            for_each (dir, dirs)
                look_into(&found, *dir);
    }
    if (list.n > 1)
        qsort(list.item, list.n, sizeof(*list.item), by_path);
    for (size_t i = 0; i < list.n; i++)
        give(closure, &list.item[i]);
    *ret_wrappers = list;
}

const char *wrapper_library_path(const struct wrapper *wrapper)
{
    static const char name[] = "LD_LIBRARY_PATH=";

    for (size_t i = 0; wrapper && i < wrapper->n_env; i++)
        if (str_starts(wrapper->env[i], name) && wrapper->env[i][sizeof(name) - 1])
            return wrapper->env[i] + sizeof(name) - 1;
    return NULL;
}
