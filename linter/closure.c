#include "linter/closure.h"

#include "base/str.h"
#include "loader/world_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void closure_init(struct closure *ret_closure, struct world *world)
{
    *ret_closure = (struct closure){
        .world = world, .generation = 1, .bases = intern_new(), .outside_paths = intern_new()};
}

void closure_release(struct closure *closure)
{
    intern_free(closure->bases);
    intern_free(closure->outside_paths);
    free(closure->by_node);
    world_close(closure->own);
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
    const struct name *name = base ? intern_find(closure->bases, base, strcspn(base, "/")) : NULL;

    return name ? closure->package[name->id] : NULL;
}

struct lint_package *closure_package_at(struct closure *closure, const struct node *node)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct lint_object *o = closure_object_of(closure, node);

    return o ? o->package : closure_package_of(closure, world_path(&arena, node));
}

struct lint_package *closure_add_package(struct closure *closure, const char *store,
                                         const char *base)
{
    const struct name *known = intern_find(closure->bases, base, strlen(base));
    struct lint_package *p;

    if (known)
        return closure->package[known->id];
    p = arena_alloc(&closure->arena, sizeof(*p));
    p->path = arena_printf(&closure->arena, "%s/%s", store, base);
    p->base = p->path + strlen(store) + 1;
    store_name_parse(&closure->arena, p->base, NULL, &p->name);
    p->index = closure->n_packages;
    p->key = arena_printf(&closure->arena, "%s.%s", p->name.pname, p->name.output);
    (void)intern(closure->bases, p->base);
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

/* Of nodes that were looked up, and are none of ours. */
static const struct lint_object nobody;

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

/* An object's node is at hand. */
static void keep_look(struct closure *closure, struct lint_object *o, struct node *node)
{
    static const struct object nothing;
    const struct object *object = node ? world_object(closure->world, node) : NULL;

    o->node = node;
    o->object = object ? object : &nothing;
    o->seen = closure->generation;
    if (node)
        keep_by_node(closure, node, o);
}

void closure_look(struct closure *closure, struct lint_object *object)
{
    struct place at;

    if (object->seen == closure->generation)
        return;
    at = world_walk(closure->world, NULL, object->path);
    keep_look(closure, object, at.error ? NULL : at.node);
}

/* By its path, among those of its package. */
static struct lint_object *find_object(const struct closure *closure, const char *path)
{
    const struct lint_package *p = closure_package_of(closure, path);
    struct lint_object **object = p ? p->object : closure->object;
    size_t low = 0, high = p ? p->n_objects : closure->n_objects;
    const struct name *outside;

    while (low < high) {
        const size_t mid = (low + high) / 2;
        const int r = strcmp(object[mid]->path, path);

        if (r == 0)
            return object[mid];
        if (r < 0)
            low = mid + 1;
        else
            high = mid;
    }
    outside = intern_find(closure->outside_paths, path, strlen(path));
    return outside ? closure->outside[outside->id] : NULL;
}

/* The object of a node, selected or not; NULL: none that is known. */
static struct lint_object *known_object(struct closure *closure, const struct node *node)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct lint_object *o =
        node->number < closure->size_by_node ? closure->by_node[node->number] : NULL;

    if (o || !closure->finished)
        return o == &nobody ? NULL : o;
    o = find_object(closure, world_path(&arena, node));
    if (o)
        keep_look(closure, o, (struct node *)(uintptr_t)node);
    else
        keep_by_node(closure, node, (struct lint_object *)(uintptr_t)&nobody);
    return o;
}

struct lint_object *closure_object_of(struct closure *closure, const struct node *node)
{
    struct lint_object *o = known_object(closure, node);

    return o && !o->outside ? o : NULL;
}

struct lint_object *closure_any_object(struct closure *closure, const struct node *node)
{
    struct lint_object *o = known_object(closure, node);

    if (o)
        return o;
    o = arena_alloc(&closure->arena, sizeof(*o));
    o->path = o->below = world_path(&closure->arena, node);
    o->outside = true;
    closure->outside =
        arena_grow(&closure->arena, closure->outside, intern_count(closure->outside_paths),
                   sizeof(struct lint_object *));
    closure->outside[intern(closure->outside_paths, o->path)->id] = o;
    keep_look(closure, o, (struct node *)(uintptr_t)node);
    return o;
}

const char *closure_key(const struct lint_object *object, struct arena *arena)
{
    return object->package ? arena_printf(arena, "%s:%s", object->package->key, object->below)
                           : object->path;
}

/* ---- forgetting */

bool closure_holds_much(const struct closure *closure, size_t more)
{
    return closure->own && world_held(closure->own) + more > WORLD_INDEX_MUCH;
}

int closure_forget(struct closure *closure, struct err *err)
{
    int r;

    if (!closure->own)
        return 0;
    r = world_index_anew(&closure->own, err);
    if (r < 0)
        return r;
    closure->world = closure->own;
    closure->generation++;
    memset(closure->by_node, 0, closure->size_by_node * sizeof(struct lint_object *));
    return 0;
}

/* ---- filling */

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

struct lint_object *closure_add_object(struct closure *closure, const char *path,
                                       struct lint_package *package)
{
    struct lint_object *o = arena_alloc(&closure->arena, sizeof(*o));

    o->path = o->below = path;
    o->package = package;
    if (o->package && strlen(path) > strlen(o->package->path))
        o->below = path + strlen(o->package->path) + 1;
    else if (o->package)
        o->below = "";
    closure->object = arena_grow(&closure->arena, closure->object, closure->n_objects,
                                 sizeof(struct lint_object *));
    return closure->object[closure->n_objects++] = o;
}

static void add_object(struct closure *closure, struct node *node, const char *path)
{
    struct lint_object *o = closure_add_object(closure, path, package_again(closure, path));

    keep_look(closure, o, node);
    o->interp = o->object->interp;
    o->is_ldso = o->object->ldso;
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
    }
    closure->finished = true;
}

/* ---- for people */

const char *closure_shown(const struct closure *closure, struct arena *arena, const char *text)
{
    struct str out = {.arena = arena};
    const char *at = text, *end, *store;

    str_add(&out, "");
    while (*at) {
        const bool starts = at == text || strchr(": '", at[-1]);
        const char *base = starts ? below_store(closure, at, &store) : NULL;
        struct store_name name;

        if (!base) { /* none begins before the next of these */
            const size_t len = strcspn(at, ": '");

            str_add_n(&out, at, len + (at[len] != '\0'));
            at += len + (at[len] != '\0');
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
