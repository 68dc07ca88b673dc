/*
 * What several checks ask.
 */
#include "linter/lint_private.h"

#include "loader/token.h"
#include "scanner/ldso.h"

#include <stdlib.h>

const char *shown(struct check *check, const char *text)
{
    return closure_shown(check->closure, check->arena, text);
}

const char *subject_path(struct check *check, const char *path)
{
    const struct lint_package *p = closure_package_of(check->closure, path);

    return p ? arena_printf(check->arena, "%s%s", p->key, path + strlen(p->path))
             : shown(check, path);
}

/* ---- run paths */

static void add_component(struct check *check, struct arena *arena, const char *origin,
                          const char *text, struct component *ret)
{
    const struct tokens tokens = {.origin = origin, .platform = NULL, .lib = NULL};
    const char *expanded = token_expand(arena, text, &tokens);

    *ret = (struct component){.text = text, .expanded = expanded ? expanded : text};
    ret->package = closure_package_of(check->closure, ret->expanded);
    if (*ret->expanded == '/')
        ret->at = world_walk(check->closure->world, NULL, ret->expanded);
    else
        ret->at = (struct place){.error = 2, .assumed = true};
}

/* Of one directory, in their order. */
static int by_node(const void *a, const void *b)
{
    const struct component *x = *(const struct component *const *)a;
    const struct component *y = *(const struct component *const *)b;

    return x->at.node->number != y->at.node->number ? (x->at.node->number > y->at.node->number) -
                                                          (x->at.node->number < y->at.node->number)
                                                    : (x > y) - (x < y);
}

/* Sorted, not each beside each: a run path can have as many components as a file has bytes. */
static void find_dirs(struct arena *arena, struct run_path *path)
{
    struct component **list = arena_calloc(arena, path->n + 1, sizeof(*list));
    size_t n = 0;

    path->dir = arena_calloc(arena, path->n + 1, sizeof(*path->dir));
    for (size_t i = 0; i < path->n; i++)
        if (!path->component[i].at.error && path->component[i].at.node->kind == NODE_DIR)
            list[n++] = &path->component[i];
    if (n > 1)
        qsort(list, n, sizeof(*list), by_node);
    for (size_t i = 0; i < n; i++)
        list[i]->dir = i && list[i]->at.node == list[i - 1]->at.node ? list[i - 1]->dir : list[i];
    for (size_t i = 0; i < path->n; i++)
        if (path->component[i].dir == &path->component[i])
            path->dir[path->n_dirs++] = &path->component[i];
}

static void take_apart(struct check *check, struct arena *arena, const struct lint_object *object,
                       const char *path, struct run_path *ret)
{
    const char *slash = strrchr(object->path, '/');
    const char *origin = slash == object->path
                             ? "/"
                             : arena_strndup(arena, object->path, (size_t)(slash - object->path));
    struct component *list = NULL;
    size_t n = 0, len;

    ret->text = path;
    for (; path && *path; path += len + 1) {
        len = strcspn(path, ":");
        list = arena_grow(arena, list, n, sizeof(*list));
        add_component(check, arena, origin, arena_strndup(arena, path, len), &list[n++]);
        if (path[len] == '\0')
            break;
        if (path[len + 1] == '\0') { /* a colon at the end: one more, empty */
            list = arena_grow(arena, list, n, sizeof(*list));
            add_component(check, arena, origin, "", &list[n++]);
        }
    }
    ret->component = list;
    ret->n = n;
    find_dirs(arena, ret);
}

/* The run path of an object: the one before again, when nothing in it depends on the object. */
static struct run_path *run_path_of(struct check *check, const struct lint_object *object)
{
    const char *path = object->object->runpath ? object->object->runpath : object->object->rpath;
    struct run_path *last = &check->lint->run_path;

    if (path && path == last->text) /* texts live as long as the world */
        return last;
    if (path && strchr(path, '$')) {
        struct run_path *own = arena_calloc(check->arena, 1, sizeof(*own));

        take_apart(check, check->arena, object, path, own);
        return own;
    }
    arena_release(&last->arena);
    *last = (struct run_path){0};
    take_apart(check, &last->arena, object, path, last);
    return last;
}

void check_run_path(struct check *check)
{
    const struct run_path *path = run_path_of(check, check->object);

    check->component = path->component;
    check->n_components = path->n;
    check->dir = path->dir;
    check->n_dirs = path->n_dirs;
}

size_t directories(struct check *check, const struct lint_object *object,
                   const struct component ***ret_dir)
{
    const struct run_path *path = run_path_of(check, object);

    *ret_dir = path->dir;
    return path->n_dirs;
}

bool is_too_much(struct check *check, size_t n)
{
    if (check->n_dirs == 0 || n <= LOOKUPS_MAX / check->n_dirs)
        return false;
    report_object(check, check->object, NULL,
                  "not asked: %zu names in %zu run path directories are more than is looked up", n,
                  check->n_dirs);
    return true;
}

bool is_driver_link(const char *path)
{
    return str_starts(path, "/run/opengl-driver/") || str_starts(path, "/run/opengl-driver-32/");
}

struct node *component_find(struct check *check, const struct component *component,
                            const char *name)
{
    struct place at = component->at;

    if (at.error || at.node->kind != NODE_DIR || strchr(name, '/') || !*name)
        return NULL;
    at = world_at(check->closure->world, at.node, intern(check->closure->world->names, name));
    return !at.error && at.node->kind == NODE_FILE ? at.node : NULL;
}

static void find_ldso(struct check *check, struct run_path *path, struct arena *arena)
{
    size_t n = 0, max;

    while (ldso_names()[n])
        n++;
    max = path->n_dirs < LOOKUPS_MAX / n ? path->n_dirs : LOOKUPS_MAX / n;
    for (size_t i = 0; i < max; i++) /* no C library is behind thousands of others */
        for (const char *const *name = ldso_names(); *name; name++) {
            struct node *node = component_find(check, path->dir[i], *name);

            if (!node || !world_object(check->closure->world, node))
                continue;
            path->ldso = arena_grow(arena, path->ldso, path->n_ldso, sizeof(struct node *));
            path->ldso[path->n_ldso++] = node;
        }
    path->ldso_known = true;
}

const struct node *run_path_ldso(struct check *check, const struct lint_object *object)
{
    struct run_path *path = run_path_of(check, object);
    const bool last = path == &check->lint->run_path;

    if (!path->ldso_known)
        find_ldso(check, path, last ? &path->arena : check->arena);
    for (size_t i = 0; i < path->n_ldso; i++)
        if (same_machine(path->ldso[i]->object, object->object))
            return path->ldso[i];
    return NULL;
}

/* ---- objects */

struct node *need_answer(struct check *check, const struct lint_object *object, size_t need)
{
    struct lint_object *answer = object->need[need].answer;

    if (!answer)
        return NULL;
    closure_look(check->closure, answer);
    return answer->node;
}

struct machine machine_of(const struct object *object)
{
    return (struct machine){object->machine, object->class, object->data};
}

bool machines_equal(struct machine a, struct machine b)
{
    return a.machine == b.machine && a.class == b.class && a.data == b.data;
}

bool same_machine(const struct object *a, const struct object *b)
{
    return machines_equal(machine_of(a), machine_of(b));
}

bool same_id(struct note a, struct note b)
{
    return a.bytes && b.bytes && a.size == b.size && !memcmp(a.bytes, b.bytes, a.size);
}

bool same_build(const struct node *a, const struct node *b)
{
    if (a == b || (a->dev == b->dev && a->ino == b->ino))
        return true;
    return a->object && b->object && same_id(a->object->build_id, b->object->build_id);
}

bool is_dynamic(const struct object *object)
{
    return object->has_dynamic && !(object->layout & LAYOUT_DEBUG_ONLY);
}

bool is_library(const struct object *object)
{
    /* one that can also be run, as libc.so.6, names an interpreter and has a soname */
    return object->type == ET_DYN && (!object->interp || object->soname) && !object->ldso &&
           object->has_dynamic && !(object->flags_1 & DF_1_PIE) &&
           !(object->layout & LAYOUT_DEBUG_ONLY);
}

bool is_started(const struct object *object)
{
    return object->interp && !object->ldso && is_dynamic(object) && !is_library(object);
}

bool is_public(const struct lint_object *object)
{
    const char *below = object->below;

    if (!object->package)
        return false;
    if (str_starts(below, "lib/"))
        return !strchr(below + 4, '/');
    return str_starts(below, "lib64/") && !strchr(below + 6, '/');
}

bool is_versioned(const char *soname)
{
    const char *so = strstr(soname, ".so.");

    return so && so[4] >= '0' && so[4] <= '9';
}

/* ---- starts */

int loaded_index(const struct trace *trace, const struct node *node)
{
    for (size_t i = 0; i < trace->n_loaded; i++)
        if (trace->loaded[i].node == node)
            return (int)i;
    return -1;
}

struct lint_object *loaded_object(struct check *check, const struct loaded *loaded)
{
    return loaded->node ? closure_object_of(check->closure, loaded->node) : NULL;
}

struct lint_package *node_package(struct check *check, const struct node *node)
{
    return closure_package_at(check->closure, node);
}
