/*
 * Farms: directories of links for the loader.
 */
#include "linter/check.h"

#include "linter/farm.h"

#include <stdlib.h>

struct names {
    const char **name;
    size_t n;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct names entries(struct check *check, struct node *dir)
{
    struct names names = {0};

    if (world_names(check->closure->world, dir, check->arena, &names.name, &names.n) < 0)
        return names;
    if (names.n > 1)
        qsort(names.name, names.n, sizeof(*names.name), by_text);
    return names;
}

bool is_farm(struct check *check, struct node *dir)
{
    const char *path = world_path(check->arena, dir);
    const struct lint_package *own = closure_package_of(check->closure, path);
    struct names names;
    size_t links = 0;

    if (!own || dir->kind != NODE_DIR)
        return false;
    if (strstr(path, "/nix-support/stormlint/farm"))
        return true;
    names = entries(check, dir);
    for (size_t i = 0; i < names.n; i++) {
        const struct node *node = world_child(check->closure->world, dir,
                                              intern(check->closure->world->names, names.name[i]));

        if (node && node->kind == NODE_DIR && !strcmp(names.name[i], "glibc-hwcaps"))
            continue;
        if (!node || node->kind != NODE_LINK || node->target[0] != '/' ||
            closure_package_of(check->closure, node->target) == own)
            return false;
        links++;
    }
    return links > 0;
}

static int by_number(const void *a, const void *b)
{
    const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

    return (x->number > y->number) - (x->number < y->number);
}

/* The farms of a package: directories that run paths of its objects name. */
static size_t farms(struct check *check, struct node ***ret_farm)
{
    struct node **dir = NULL;
    size_t n = 0, n_farms = 0;

    for (size_t o = 0; o < check->package->n_objects; o++) {
        struct lint_object *object = check->package->object[o];
        const struct component **list;
        size_t n_dirs;

        closure_look(check->closure, object);
        n_dirs = directories(check, object, &list);
        for (size_t k = 0; k < n_dirs; k++) {
            if (list[k]->package != check->package)
                continue;
            dir = arena_grow(check->arena, dir, n, sizeof(struct node *));
            dir[n++] = list[k]->at.node;
        }
    }
    if (n > 1)
        qsort(dir, n, sizeof(struct node *), by_number);
    for (size_t i = 0; i < n; i++)
        if ((i == 0 || dir[i] != dir[i - 1]) && is_farm(check, dir[i]))
            dir[n_farms++] = dir[i];
    *ret_farm = dir;
    return n_farms;
}

/* Called with each directory of a farm: the farm itself ("") and its builds for CPUs. */
struct part {
    struct node *dir;
    const char *prefix; /* "", "glibc-hwcaps/x86-64-v3/" */
};

static void each_part(struct check *check,
                      void (*act)(struct check *check, const struct part *part))
{
    struct node **farm;
    const size_t n = farms(check, &farm);

    for (size_t i = 0; i < n; i++) {
        struct world *world = check->closure->world;
        const struct place caps = world_walk(world, farm[i], "glibc-hwcaps");
        struct names levels = {0};

        act(check, &(struct part){farm[i], ""});
        if (!caps.error && caps.node->kind == NODE_DIR)
            levels = entries(check, caps.node);
        for (size_t k = 0; k < levels.n; k++) {
            const struct place level = world_walk(world, caps.node, levels.name[k]);

            if (!level.error && level.node->kind == NODE_DIR)
                act(check, &(struct part){level.node, arena_printf(check->arena, "glibc-hwcaps/%s/",
                                                                   levels.name[k])});
        }
    }
}

static void one_link(struct check *check, const struct part *part, const char *name)
{
    struct world *world = check->closure->world;
    const struct name *interned = intern(world->names, name);
    const struct node *link = world_child(world, part->dir, interned);
    const struct place at = world_at(world, part->dir, interned);
    const char *path =
        arena_printf(&check->closure->arena, "%s/%s", world_path(check->arena, part->dir), name);
    const char *words = arena_printf(check->arena, "the farm's link '%s%s'", part->prefix, name);
    struct lint_package *to;

    if (!link || link->kind != NODE_LINK || at.assumed)
        return;
    if (at.error) {
        report_file(check, check->package, path, NULL, "%s leads nowhere: '%s'",
                    shown(check, words), shown(check, link->target));
        return;
    }
    to = node_package(check, at.node);
    if (!check->package->registered || (to && closure_reaches(check->closure, check->package, to)))
        return;
    report_file(check, check->package, path, NULL, "%s leads out of the closure",
                shown(check, words));
}

static void links_of(struct check *check, const struct part *part)
{
    const struct names names = entries(check, part->dir);

    for (size_t k = 0; k < names.n; k++)
        one_link(check, part, names.name[k]);
}

void check_farm_link_dangling(struct check *check)
{
    each_part(check, links_of);
}

/* An entry of a farm by the soname of what it leads to. */
struct held {
    const char *soname, *name;
    struct node *node;
};

static int by_held(const void *a, const void *b)
{
    const struct held *x = a, *y = b;
    const int r = strcmp(x->soname, y->soname);

    return r ? r : strcmp(x->name, y->name);
}

static void collisions_of(struct check *check, const struct part *part)
{
    const struct component in = {.at = {.node = part->dir}};
    const struct names names = entries(check, part->dir);
    struct held *held = arena_calloc(check->arena, names.n + 1, sizeof(*held));
    size_t n = 0;

    for (size_t k = 0; k < names.n; k++) {
        struct node *node = component_find(check, &in, names.name[k]);
        const struct object *o = node ? world_object(check->closure->world, node) : NULL;

        if (o && o->soname)
            held[n++] = (struct held){o->soname, names.name[k], node};
    }
    if (n > 1)
        qsort(held, n, sizeof(*held), by_held);
    for (size_t k = 1; k < n; k++)
        if (!strcmp(held[k].soname, held[k - 1].soname) &&
            !same_build(held[k].node, held[k - 1].node))
            report_package(check, check->package, shown(check, held[k].soname),
                           "'%s%s' and '%s%s' of the farm are both %s", part->prefix,
                           shown(check, held[k - 1].name), part->prefix, shown(check, held[k].name),
                           shown(check, held[k].soname));
}

void check_farm_soname_collision(struct check *check)
{
    each_part(check, collisions_of);
}
