#include "linter/closure.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

/* Packages by base name. */
struct name_map {
    const void *key;
    void *value;
    UT_hash_handle hh;
};

static void *map_find(const struct name_map *map, const void *key, size_t len)
{
    const struct name_map *entry;

    HASH_FIND(hh, map, key, len, entry);
    return entry ? entry->value : NULL;
}

static void map_add(struct closure *c, struct name_map **map, const void *key, size_t len,
                    void *value)
{
    struct name_map *entry = arena_alloc(&c->arena, sizeof(*entry));

    entry->key = arena_memdup(&c->arena, key, len);
    entry->value = value;
    HASH_ADD_KEYPTR(hh, *map, entry->key, len, entry);
}

void closure_init(struct closure *ret_closure, struct world *world)
{
    *ret_closure = (struct closure){.world = world};
}

void closure_release(struct closure *closure)
{
    /* the table's head is uthash's own memory, its entries the arena's */
    HASH_CLEAR(hh, closure->packages_by_base);
    free(closure->by_node);
    arena_release(&closure->arena);
    *closure = (struct closure){0};
}

/* ---- stores and packages */

void closure_add_store(struct closure *closure, const char *path)
{
    closure->store =
        arena_grow(&closure->arena, closure->store, closure->n_stores, sizeof(*closure->store));
    closure->store[closure->n_stores++] = arena_strdup(&closure->arena, path);
}

static bool is_dots(const char *name)
{
    return !strncmp(name, "./", 2) || !strncmp(name, "../", 3) || !strcmp(name, ".") ||
           !strcmp(name, "..");
}

/* What follows a store's slash; NULL: the path is in no store. */
static const char *below_store(const struct closure *closure, const char *path,
                               const char **ret_store)
{
    for (size_t i = 0; i < closure->n_stores; i++) {
        const size_t len = strlen(closure->store[i]);

        if (!strncmp(path, closure->store[i], len) && path[len] == '/' && path[len + 1] &&
            !is_dots(path + len + 1)) {
            if (ret_store)
                *ret_store = closure->store[i];
            return path + len + 1;
        }
    }
    return NULL;
}

bool closure_in_store(const struct closure *closure, const char *path)
{
    return below_store(closure, path, NULL) != NULL;
}

struct lint_package *closure_package_of(const struct closure *closure, const char *path)
{
    const char *base = below_store(closure, path, NULL);

    return base ? map_find(closure->packages_by_base, base, strcspn(base, "/")) : NULL;
}

struct lint_package *closure_package_at(const struct closure *closure, const struct node *node)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct lint_object *o = closure_object_of(closure, node);

    return o ? o->package : closure_package_of(closure, world_path(&arena, node));
}

struct lint_package *closure_add_package(struct closure *closure, const char *store,
                                         const char *base)
{
    struct lint_package *p = map_find(closure->packages_by_base, base, strlen(base));

    if (p)
        return p;
    p = arena_alloc(&closure->arena, sizeof(*p));
    p->path = arena_printf(&closure->arena, "%s/%s", store, base);
    p->base = p->path + strlen(store) + 1;
    store_name_parse(&closure->arena, p->base, NULL, &p->name);
    p->index = closure->n_packages;
    p->key = arena_printf(&closure->arena, "%s.%s", p->name.pname, p->name.output);
    map_add(closure, &closure->packages_by_base, p->base, strlen(p->base), p);
    closure->package = arena_grow(&closure->arena, closure->package, closure->n_packages,
                                  sizeof(struct lint_package *));
    closure->package[closure->n_packages++] = p;
    return p;
}

/* ---- references */

void closure_add_reference(struct closure *closure, struct lint_package *from,
                           struct lint_package *to)
{
    from->reference = arena_grow(&closure->arena, from->reference, from->n_references,
                                 sizeof(struct lint_package *));
    from->reference[from->n_references++] = to;
}

bool closure_refers(const struct lint_package *from, const struct lint_package *to)
{
    if (!from->registered || from == to)
        return true;
    for (size_t i = 0; i < from->n_references; i++)
        if (from->reference[i] == to)
            return true;
    return false;
}

/* Everything reachable from `from`, marked; false: part of it is not known. */
static bool reach(struct closure *closure, struct lint_package *from, uint32_t mark)
{
    struct lint_package **list = closure->todo;
    uint32_t *marked = closure->reached;
    size_t n = 0;
    bool known = true;

    list[n++] = from;
    marked[from->index] = mark;
    for (size_t i = 0; i < n; i++) {
        known &= list[i]->registered;
        for (size_t k = 0; k < list[i]->n_references; k++) {
            struct lint_package *to = list[i]->reference[k];

            if (marked[to->index] != mark) {
                marked[to->index] = mark;
                list[n++] = to;
            }
        }
    }
    return known;
}

/* A new mark, which nothing bears yet. */
static uint32_t next_mark(struct closure *closure)
{
    if (closure->n_reached < closure->n_packages) {
        closure->n_reached = closure->n_packages;
        closure->reached =
            arena_calloc(&closure->arena, closure->n_packages, sizeof(*closure->reached));
        closure->todo =
            arena_calloc(&closure->arena, closure->n_packages, sizeof(struct lint_package *));
    }
    return ++closure->reaching;
}

bool closure_reaches(struct closure *closure, struct lint_package *from,
                     const struct lint_package *to)
{
    if (from == to)
        return true;
    if (closure->reached_from != from) { /* questions come package by package */
        closure->reached_known = reach(closure, from, next_mark(closure));
        closure->reached_from = from;
    }
    return !closure->reached_known || closure->reached[to->index] == closure->reaching;
}

void closure_spread(struct closure *closure)
{
    const uint32_t mark = next_mark(closure);

    for (size_t i = 0; i < closure->n_packages; i++)
        if (closure->package[i]->selected && closure->reached[i] != mark)
            (void)reach(closure, closure->package[i], mark);
    for (size_t i = 0; i < closure->n_packages; i++)
        closure->package[i]->selected = closure->reached[i] == mark;
    closure->reached_from = NULL;
}

/* ---- objects */

struct lint_object *closure_object_of(const struct closure *closure, const struct node *node)
{
    return node->number < closure->size_by_node ? closure->by_node[node->number] : NULL;
}

static void keep_by_node(struct closure *closure, const struct node *node, struct lint_object *o)
{
    if (node->number >= closure->size_by_node) {
        const size_t old = closure->size_by_node, size = (size_t)node->number * 2 + 64;

        closure->by_node = realloc(closure->by_node, size * sizeof(struct lint_object *));
        if (!closure->by_node)
            abort();
        memset(closure->by_node + old, 0, (size - old) * sizeof(struct lint_object *));
        closure->size_by_node = size;
    }
    closure->by_node[node->number] = o;
}

void closure_add_problem(struct closure *closure, const struct lint_problem *problem)
{
    closure->problem = arena_grow(&closure->arena, closure->problem, closure->n_problems,
                                  sizeof(*closure->problem));
    closure->problem[closure->n_problems++] = *problem;
}

/* The package of a path: mostly that of the object before. */
static struct lint_package *package_again(const struct closure *closure, const char *path)
{
    struct lint_package *last =
        closure->n_objects ? closure->object[closure->n_objects - 1]->package : NULL;
    const size_t len = last ? strlen(last->path) : 0;

    return last && !strncmp(path, last->path, len) && path[len] == '/'
               ? last
               : closure_package_of(closure, path);
}

static void add_object(struct closure *closure, struct node *node, const char *path)
{
    struct lint_object *o = arena_alloc(&closure->arena, sizeof(*o));

    o->path = o->below = path;
    o->node = node;
    o->object = node->object;
    o->package = package_again(closure, path);
    if (o->package && strlen(path) > strlen(o->package->path))
        o->below = path + strlen(o->package->path) + 1;
    else if (o->package)
        o->below = "";
    closure->object = arena_grow(&closure->arena, closure->object, closure->n_objects,
                                 sizeof(struct lint_object *));
    closure->object[closure->n_objects++] = o;
    keep_by_node(closure, node, o);
}

void closure_add_file(struct closure *closure, struct node *node)
{
    struct lint_problem problem = {0};
    const struct object *object;

    if (node->kind != NODE_FILE || closure_object_of(closure, node))
        return;
    object = world_object(closure->world, node);
    if (object)
        add_object(closure, node, world_path(&closure->arena, node));
    if (object ? !object->problem : !node->object_error || node->object_error == ENOEXEC)
        return;
    problem.path = world_path(&closure->arena, node);
    problem.package = closure_package_of(closure, problem.path);
    problem.unread = !object;
    problem.text = object ? object->problem : strerror(node->object_error);
    closure_add_problem(closure, &problem);
}

/* ---- the end */

static int by_path(const void *a, const void *b)
{
    const struct lint_object *const *x = a, *const *y = b;

    return strcmp((*x)->path, (*y)->path);
}

void closure_finish(struct closure *closure)
{
    if (closure->n_objects > 1)
        qsort(closure->object, closure->n_objects, sizeof(struct lint_object *), by_path);
    for (size_t i = 0; i < closure->n_objects; i++) {
        struct lint_object *o = closure->object[i];

        if (o->package && !o->package->object) /* those of one package stand together */
            o->package->object = &closure->object[i];
        if (o->package)
            o->package->n_objects++;
        o->key = o->package ? arena_printf(&closure->arena, "%s:%s", o->package->key, o->below)
                            : o->path;
    }
}

/* ---- for people */

const char *closure_shown(const struct closure *closure, struct arena *arena, const char *text)
{
    struct str out = {.arena = arena};
    const char *at = text, *end, *store;

    str_add(&out, "");
    while (*at) {
        const char *base = below_store(closure, at, &store);
        struct store_name name;

        if (!base || (at > text && at[-1] != ':' && at[-1] != ' ' && at[-1] != '\'')) {
            str_add_n(&out, at++, 1);
            continue;
        }
        end = base + strcspn(base, "/: '");
        store_name_parse(arena, arena_strndup(arena, base, (size_t)(end - base)), NULL, &name);
        str_add(&out, name.name);
        if (strcmp(name.output, "out") != 0)
            str_printf(&out, "-%s", name.output);
        at = end;
    }
    return out.text;
}
