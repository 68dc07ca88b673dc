#include "base/str.h"
#include "loader/world_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/*
 * An overlay shares the nodes of the world below. What it adds or replaces is remembered in its
 * own table, which world.c asks first; what it removes is remembered as ENOENT. So an overlay
 * costs as much as its edits.
 */

/* Device numbers of overlays, one a depth: new files equal no old one. */
enum { OVERLAY_DEV = 0x6f766c79 };

struct overlay {
    uint64_t dev, inodes;
    struct node **added; /* for list */
    size_t n_added;

    const struct overlay_source *source; /* NULL: it is filled by its owner alone */
    const struct node **store;           /* the source's directories */
    size_t n_stores;
};

struct listing {
    struct world *world;
    struct node *dir;
    void (*each)(void *data, const char *name);
    void *data;
};

/* An entry of the world below: passed on unless the overlay says otherwise. */
static void list_below(void *data, const char *name)
{
    const struct listing *l = data;
    const struct overlay *o = l->world->data;
    const struct node *node = world_child(l->world, l->dir, intern(l->world->names, name));

    for (size_t i = 0; i < o->n_added; i++)
        if (o->added[i] == node)
            return; /* replaced: listed with what was added */
    if (node)
        l->each(l->data, name);
}

static int overlay_list(struct world *world, struct node *dir,
                        void (*each)(void *data, const char *name), void *data)
{
    const struct overlay *o = world->data;
    struct listing l = {.world = world, .dir = dir, .each = each, .data = data};
    int r = 0;

    if (!dir->laid_over || world->under->under)
        r = world_list(world->under, dir, list_below, &l);
    for (size_t i = 0; r == 0 && i < o->n_added; i++)
        if (o->added[i]->parent == dir)
            each(data, o->added[i]->name->text);
    return r;
}

/* The first look at an entry of a store: what is to be laid over it is. */
static bool overlay_learn(struct world *world, struct node *dir, const struct name *name)
{
    const struct overlay *o = world->data;
    struct node *node;
    bool watched = false;

    for (size_t i = 0; i < o->n_stores && !watched; i++)
        watched = o->store[i] == dir;
    if (!watched || !(node = world_child(world->under, dir, name)))
        return false;
    world_remember(world, dir, name, node, 0);
    o->source->lay(o->source->data, world, world_path(world->arena, node));
    return true;
}

static const struct world_ops overlay_ops = {.list = overlay_list};
static const struct world_ops source_ops = {.list = overlay_list, .learn = overlay_learn};

static struct world *overlay_new(struct world *under, const struct world_ops *ops)
{
    struct world *world = world_new(ops, NULL, under->uid, under->gid);
    struct overlay *o;

    intern_free(world->names);
    world->names = under->names;
    world->under = under;
    world->root = under->root;
    world->has_proc = under->has_proc;
    world->kernel = under->kernel;
    o = arena_alloc(world->arena, sizeof(*o));
    o->dev = OVERLAY_DEV;
    for (const struct world *below = under; below->under; below = below->under)
        o->dev++;
    world->data = o;
    return world;
}

struct world *world_overlay(struct world *under)
{
    return overlay_new(under, &overlay_ops);
}

struct world *world_overlay_from(struct world *under, const struct overlay_source *source)
{
    struct world *world = overlay_new(under, &source_ops);
    struct overlay *o = world->data;

    o->source = source;
    o->store = arena_calloc(world->arena, source->n_stores, sizeof(*o->store));
    for (size_t i = 0; i < source->n_stores; i++) {
        const struct place at = world_walk(under, NULL, source->store[i]);

        if (at.error == 0)
            o->store[o->n_stores++] = at.node;
    }
    return world;
}

static struct node *node_add(struct world *world, struct node *dir, const struct name *name,
                             const struct node *like)
{
    struct overlay *o = world->data;
    struct node *node = arena_memdup(world->arena, like, sizeof(*like));
    struct node *old = world_child(world, dir, name);

    node->parent = dir;
    node->name = name;
    node->dev = o->dev;
    node->ino = ++o->inodes;
    node->laid_over = true;
    node->number = 0; /* another one than `like` */
    world_remember(world, dir, name, node, 0);
    /* what is replaced by a second edit was mostly added a moment ago */
    for (size_t i = o->n_added; old && old->laid_over && i-- > 0;) {
        if (o->added[i] == old) {
            o->added[i] = node;
            return node;
        }
    }
    o->added = arena_grow(world->arena, o->added, o->n_added, sizeof(*o->added));
    o->added[o->n_added++] = node;
    return node;
}

/* The directory in which `path` ends, made if missing, and the last name of it. */
static int parent_of(struct world *world, const char *path, struct node **ret_dir,
                     const struct name **ret_name, struct err *err)
{
    static const struct node fresh = {
        .kind = NODE_DIR, .mode = S_IFDIR | 0555, .object_known = true};
    const char *base = str_base(path);
    struct node *dir = world->root;

    if (*path != '/' || *base == '\0' || !strcmp(base, ".") || !strcmp(base, ".."))
        return err_set(err, EINVAL, "'%s': an edit needs an absolute path to a file", path);
    for (const char *part = path + 1; part < base;) {
        const size_t len = strcspn(part, "/");
        char *text = arena_strndup(world->arena, part, len);
        const struct place at = len ? world_walk(world, dir, text) : (struct place){.node = dir};

        if (at.error == ENOENT)
            dir = node_add(world, dir, intern(world->names, text), &fresh);
        else if (at.error || at.node->kind != NODE_DIR)
            return err_set(err, at.error ? at.error : ENOTDIR, "'%s': '%s' is no directory", path,
                           text);
        else
            dir = at.node;
        part += len + 1;
    }
    *ret_dir = dir;
    *ret_name = intern(world->names, base);
    return 0;
}

static int add_at(struct world *world, const char *path, const struct node *like, struct err *err)
{
    const struct name *name;
    struct node *dir;
    const int r = parent_of(world, path, &dir, &name, err);

    if (r < 0)
        return r;
    (void)node_add(world, dir, name, like);
    return 0;
}

int overlay_link(struct world *overlay, const char *path, const char *target, struct err *err)
{
    const struct node link = {
        .kind = NODE_LINK,
        .mode = S_IFLNK | 0777,
        .target = arena_strdup(overlay->arena, target),
        .object_known = true,
    };

    return add_at(overlay, path, &link, err);
}

int overlay_file(struct world *overlay, const char *path, const struct object *object,
                 struct err *err)
{
    const struct node file = {
        .kind = NODE_FILE,
        .mode = S_IFREG | 0555,
        .size = object ? object->size : 0,
        .object = object,
        .object_known = true,
    };

    return add_at(overlay, path, &file, err);
}

int overlay_bytes(struct world *overlay, const char *path, const char *bytes, size_t size,
                  struct err *err)
{
    const struct node file = {
        .kind = NODE_FILE,
        .mode = S_IFREG | 0444,
        .size = size,
        .bytes = bytes,
        .object_known = true,
    };

    return add_at(overlay, path, &file, err);
}

int overlay_object(struct world *overlay, const char *path, const struct object *object,
                   struct err *err)
{
    const struct place at = world_walk(overlay, NULL, path);
    struct node file, *added;

    if (at.error || at.node->kind != NODE_FILE)
        return err_set(err, at.error ? at.error : EINVAL, "'%s': no file to edit: %s", path,
                       at.error ? strerror(at.error) : "not a regular file");
    file = *at.node;
    file.object = object;
    file.object_known = true;
    file.object_error = 0;
    added = node_add(overlay, at.node->parent, at.node->name, &file);
    added->dev = file.dev; /* an edited file is the same file */
    added->ino = file.ino;
    return 0;
}
