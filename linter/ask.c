/*
 * What several checks ask.
 */
#include "linter/lint_private.h"

#include "loader/token.h"
#include "scanner/ldso.h"

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

static void add_component(struct check *check, struct arena *arena,
                          const struct lint_object *object, const char *text, struct component *ret)
{
    const char *slash = strrchr(object->path, '/');
    const char *origin = slash == object->path
                             ? "/"
                             : arena_strndup(arena, object->path, (size_t)(slash - object->path));
    const struct tokens tokens = {.origin = origin, .platform = NULL, .lib = NULL};
    const char *expanded = token_expand(arena, text, &tokens);

    *ret = (struct component){.text = text, .expanded = expanded ? expanded : text};
    ret->package = closure_package_of(check->closure, ret->expanded);
    if (*ret->expanded == '/')
        ret->at = world_walk(check->closure->world, NULL, ret->expanded);
    else
        ret->at = (struct place){.error = 2, .assumed = true};
}

static void take_apart(struct check *check, struct arena *arena, const struct lint_object *object,
                       const char *path, struct run_path *ret)
{
    struct component *list = NULL;
    size_t n = 0, len;

    ret->text = path;
    for (; path && *path; path += len + 1) {
        len = strcspn(path, ":");
        list = arena_grow(arena, list, n, sizeof(*list));
        add_component(check, arena, object, arena_strndup(arena, path, len), &list[n++]);
        if (path[len] == '\0')
            break;
        if (path[len + 1] == '\0') { /* a colon at the end: one more, empty */
            list = arena_grow(arena, list, n, sizeof(*list));
            add_component(check, arena, object, "", &list[n++]);
        }
    }
    ret->component = list;
    ret->n = n;
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

size_t components(struct check *check, const struct lint_object *object,
                  struct component **ret_component)
{
    const struct run_path *path = run_path_of(check, object);

    *ret_component = path->component;
    return path->n;
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
    for (size_t i = 0; i < path->n; i++)
        for (const char *const *name = ldso_names(); *name; name++) {
            struct node *node = component_find(check, &path->component[i], *name);

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

bool same_machine(const struct object *a, const struct object *b)
{
    return a->class == b->class && a->data == b->data && a->machine == b->machine;
}

bool same_build(const struct node *a, const struct node *b)
{
    const struct object *x = a->object, *y = b->object;

    if (a == b || (a->dev == b->dev && a->ino == b->ino))
        return true;
    return x && y && x->build_id.bytes && x->build_id.size == y->build_id.size &&
           y->build_id.bytes && !memcmp(x->build_id.bytes, y->build_id.bytes, x->build_id.size);
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

const char *start_words(struct check *check)
{
    const char *path = shown(check, check->object->path);

    return check->alone ? arena_printf(check->arena, "%s by itself", path) : path;
}

struct lint_package *node_package(struct check *check, const struct node *node)
{
    return closure_package_at(check->closure, node);
}
