/*
 * What several checks ask.
 */
#include "linter/check.h"

#include "loader/token.h"

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

static void add_component(struct check *check, const struct lint_object *object, const char *text,
                          struct component *ret)
{
    const char *slash = strrchr(object->path, '/');
    const char *origin = slash == object->path ? "/"
                                               : arena_strndup(check->arena, object->path,
                                                               (size_t)(slash - object->path));
    const struct tokens tokens = {.origin = origin, .platform = NULL, .lib = NULL};
    const char *expanded = token_expand(check->arena, text, &tokens);

    *ret = (struct component){.text = text, .expanded = expanded ? expanded : text};
    if (*ret->expanded == '/')
        ret->at = world_walk(check->closure->world, NULL, ret->expanded);
    else
        ret->at = (struct place){.error = 2, .assumed = true};
}

size_t components(struct check *check, const struct lint_object *object,
                  struct component **ret_component)
{
    const char *path = object->object->runpath ? object->object->runpath : object->object->rpath;
    struct component *list = NULL;
    size_t n = 0, len;

    for (; path && *path; path += len + 1) {
        len = strcspn(path, ":");
        list = arena_grow(check->arena, list, n, sizeof(*list));
        add_component(check, object, arena_strndup(check->arena, path, len), &list[n++]);
        if (path[len] == '\0')
            break;
        if (path[len + 1] == '\0') { /* a colon at the end: one more, empty */
            list = arena_grow(check->arena, list, n, sizeof(*list));
            add_component(check, object, "", &list[n++]);
        }
    }
    *ret_component = list;
    return n;
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
    return closure_package_of(check->closure, world_path(check->arena, node));
}
