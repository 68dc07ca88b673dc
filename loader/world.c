#include "loader/world.h"

#include "base/str.h"
#include "base/table.h"
#include "loader/world_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINKS_MAX = 40 }; /* the kernel follows so many links on one path, not one more */

/*
 * What is known about (directory, name): open addressing with linear probing, one table a world.
 * An entry is either a node or the error that looking for it gave.
 */
struct child {
    const struct node *dir; /* NULL: free slot */
    struct node *node;      /* NULL: see error */
    uint32_t name;          /* its id */
    int error;              /* errno; ENODATA: assumed absent */
};

/*
 * Where a link leads that takes long to follow: a path can name forty of them, each with a text of
 * thousands of steps, and a run path a hundred thousand such paths.
 */
struct led {
    const struct node *link; /* NULL: free slot */
    struct place at;
    int links; /* followed behind it until then */
};

struct children {
    struct child *slot;
    uint32_t mask, count;
    struct led *led; /* open addressing, at most half full; NULL: none */
    uint32_t led_mask, n_led;
};

enum {
    SMALL = 4096,      /* tables below it grow faster: many stay small, the others pass by */
    LONG_TARGET = 512, /* bytes of a link's text, */
    LONG_CHAIN = 8,    /* or links behind it, from which on it is remembered where it leads */
};

static uint32_t child_hash(const struct node *dir, uint32_t name)
{
    uint64_t h = (uint64_t)(uintptr_t)dir * 0x9e3779b97f4a7c15u;

    h = (h ^ (h >> 32) ^ name) * 0xff51afd7ed558ccdu;
    return (uint32_t)(h >> 32);
}

/* The slot of (dir, name), or the free one where it belongs. */
static struct child *children_slot(const struct children *c, const struct node *dir, uint32_t name)
{
    uint32_t at = child_hash(dir, name) & c->mask;

    while (c->slot[at].dir && (c->slot[at].dir != dir || c->slot[at].name != name))
        at = (at + 1) & c->mask;
    return &c->slot[at];
}

static void children_resize(struct children *c, uint32_t slots)
{
    const struct children old = *c;

    c->slot = table_calloc(slots, sizeof(*c->slot));
    c->mask = slots - 1;
    for (uint32_t i = 0; old.slot && i <= old.mask; i++)
        if (old.slot[i].dir)
            *children_slot(c, old.slot[i].dir, old.slot[i].name) = old.slot[i];
    free(old.slot);
}

/* The slot of a link, or the free one where it belongs. */
static struct led *led_slot(const struct children *c, const struct node *link)
{
    uint32_t at = child_hash(link, 0) & c->led_mask;

    while (c->led[at].link && c->led[at].link != link)
        at = (at + 1) & c->led_mask;
    return &c->led[at];
}

static void led_keep(struct children *c, const struct led *led)
{
    struct led *slot;

    if (!c->led || c->n_led * 2 > c->led_mask) {
        const struct children old = *c;

        c->led_mask = old.led ? old.led_mask * 2 + 1 : 63;
        c->led = table_calloc(c->led_mask + 1, sizeof(*c->led));
        for (uint32_t i = 0; old.led && i <= old.led_mask; i++)
            if (old.led[i].link)
                *led_slot(c, old.led[i].link) = old.led[i];
        free(old.led);
    }
    slot = led_slot(c, led->link);
    c->n_led += !slot->link;
    *slot = *led;
}

/* What was laid over can lead links elsewhere. */
static void led_forget(struct children *c)
{
    free(c->led);
    c->led = NULL;
    c->n_led = c->led_mask = 0;
}

static void number_node(struct world *world, struct node *node)
{
    while (world->under)
        world = world->under;
    if (!node->number)
        node->number = ++world->n_nodes;
}

void world_remember(struct world *world, const struct node *dir, const struct name *name,
                    struct node *node, int error)
{
    struct children *c = world->children;
    struct child *slot;

    if (world->under && c->led)
        led_forget(c);
    if (c->count * 3 > c->mask * 2)
        children_resize(c, (c->mask + 1) * (c->mask + 1 < SMALL ? 4 : 2));
    slot = children_slot(c, dir, name->id);
    c->count += !slot->dir;
    if (node)
        number_node(world, node);
    *slot = (struct child){.dir = dir, .node = node, .name = name->id, .error = error};
}

struct world *world_new(const struct world_ops *ops, void *data, uint32_t uid, uint32_t gid)
{
    struct world *world = calloc(1, sizeof(*world));

    if (!world)
        abort();
    *world = (struct world){
        .ops = ops, .data = data, .uid = uid, .gid = gid, .has_proc = true, .kernel = UINT32_MAX};
    world->arena = calloc(1, sizeof(*world->arena));
    world->children = calloc(1, sizeof(*world->children));
    if (!world->arena || !world->children)
        abort();
    world->names = intern_new();
    world->root = arena_alloc(world->arena, sizeof(*world->root));
    *world->root =
        (struct node){.kind = NODE_DIR, .mode = S_IFDIR | 0755, .name = intern(world->names, "")};
    children_resize(world->children, 256);
    return world;
}

void world_close(struct world *world)
{
    if (!world)
        return;
    if (world->ops->close)
        world->ops->close(world);
    if (!world->under)
        intern_free(world->names);
    arena_release(world->arena);
    free(world->children->slot);
    free(world->children->led);
    free(world->children);
    free(world->arena);
    free(world);
}

void world_closep(struct world **world)
{
    world_close(*world);
}

size_t world_held(const struct world *world)
{
    return world->arena->held;
}

/* Ask the source about an entry for the first time. */
static struct child child_fetch(struct world *world, struct node *dir, const struct name *name)
{
    struct node found = {.parent = dir, .name = name};
    struct child child = {.dir = dir, .name = name->id};
    const int r = world->ops->child(world, dir, name, &found);

    if (r < 0)
        child.error = -r;
    else
        child.node = arena_memdup(world->arena, &found, sizeof(found));
    world_remember(world, dir, name, child.node, child.error);
    return child;
}

static struct child child_get(struct world *world, struct node *dir, const struct name *name)
{
    const struct child *known;

    if (!world->under && dir->names && !filter_has(dir->names, name->hash))
        return (struct child){.error = ENOENT};
    known = children_slot(world->children, dir, name->id);
    if (known->dir)
        return *known;
    if (world->under && world->ops->learn && world->ops->learn(world, dir, name))
        return *children_slot(world->children, dir, name->id);
    if (world->under)
        return child_get(world->under, dir, name);
    if (dir->laid_over) /* not remembered: the node may go before this world does */
        return (struct child){.error = ENOENT};
    return child_fetch(world, dir, name);
}

struct node *world_child(struct world *world, struct node *dir, const struct name *name)
{
    return dir->kind == NODE_DIR ? child_get(world, dir, name).node : NULL;
}

/* One of the three permission bits `bit` (4 read, 2 write, 1 search) for the world's user. */
static bool allowed(const struct world *world, const struct node *node, uint32_t bit)
{
    if (world->uid == 0)
        return true;
    if (node->uid == world->uid)
        return node->mode & (bit << 6);
    return node->mode & (node->gid == world->gid ? bit << 3 : bit);
}

bool world_readable(const struct world *world, const struct node *node)
{
    return allowed(world, node, 4);
}

static struct place failed(int error)
{
    return (struct place){.error = error == ENODATA ? ENOENT : error, .assumed = error == ENODATA};
}

static struct place follow(struct world *world, struct node *dir, const char *path, int *links);

/* Follow the link, one of `*links` so far. Too many from here are too many from further on. */
static struct place follow_link(struct world *world, struct node *dir, const struct node *link,
                                int *links)
{
    struct children *c = world->children;
    const struct led *known = c->led ? led_slot(c, link) : NULL;
    const int before = *links;
    struct place at;

    if (known && known->link && before + known->links > LINKS_MAX)
        return failed(ELOOP);
    if (known && known->link && known->at.error != ELOOP) {
        *links += known->links;
        return known->at;
    }
    at = follow(world, dir, link->target, links);
    if (*links - before >= LONG_CHAIN || strlen(link->target) >= LONG_TARGET)
        led_keep(c, &(struct led){.link = link, .at = at, .links = *links - before});
    return at;
}

/* Look one component up in `dir`, following it when it is a link. */
static struct place step(struct world *world, struct node *dir, const struct name *name, int *links)
{
    struct child child;

    if (dir->kind != NODE_DIR)
        return failed(ENOTDIR);
    if (!allowed(world, dir, 1))
        return failed(EACCES);
    if (name->len > NAME_MAX)
        return failed(ENAMETOOLONG);
    child = child_get(world, dir, name);
    if (!child.node)
        return failed(child.error);
    if (child.node->kind != NODE_LINK)
        return (struct place){.node = child.node};
    if (++*links > LINKS_MAX)
        return failed(ELOOP);
    return follow_link(world, dir, child.node, links);
}

static struct place follow(struct world *world, struct node *dir, const char *path, int *links)
{
    struct place at = {.node = *path == '/' ? world->root : dir};

    if (*path == '\0')
        return failed(ENOENT);
    if (strlen(path) >= PATH_MAX)
        return failed(ENAMETOOLONG);
    while (*path) {
        const size_t slashes = strspn(path, "/"), len = strcspn(path + slashes, "/");
        const char *part = path + slashes;

        path = part + len;
        world->n_steps++;
        if (at.node->kind != NODE_DIR)
            return failed(ENOTDIR); /* something follows a file, be it only a slash */
        if (len == 0)
            continue;
        if (len == 1 && part[0] == '.') {
            if (!allowed(world, at.node, 1))
                return failed(EACCES);
        } else if (len == 2 && part[0] == '.' && part[1] == '.') {
            if (!allowed(world, at.node, 1))
                return failed(EACCES);
            if (at.node->parent)
                at.node = at.node->parent;
        } else {
            at = step(world, at.node, intern_n(world->names, part, len), links);
            if (at.error)
                return at;
        }
    }
    return at;
}

struct place world_walk(struct world *world, struct node *from, const char *path)
{
    int links = 0;

    return follow(world, from ? from : world->root, path, &links);
}

struct place world_at(struct world *world, struct node *dir, const struct name *name)
{
    int links = 0;

    world->n_steps++;
    return step(world, dir, name, &links);
}

const struct object *world_object(struct world *world, struct node *file)
{
    const struct object *object = NULL;

    if (file->object_known)
        return file->object;
    if (file->kind == NODE_FILE) {
        struct world *source = world;
        int r;

        while (source->under) /* nodes of the overlay itself come with their object */
            source = source->under;
        r = source->ops->object(source, file, &object);
        file->object = object;
        file->object_error = r < 0 ? -r : 0;
    }
    file->object_known = true;
    return file->object;
}

int world_bytes(struct world *world, struct node *file, size_t max, struct arena *arena,
                char **ret_bytes, size_t *ret_len)
{
    if (file->bytes) {
        *ret_len = file->size < max ? file->size : max;
        *ret_bytes = arena_alloc(arena, *ret_len + 1);
        memcpy(*ret_bytes, file->bytes, *ret_len);
        return 0;
    }
    while (world->under)
        world = world->under;
    return world->ops->bytes(world, file, max, arena, ret_bytes, ret_len);
}

int world_list(struct world *world, struct node *dir, void (*each)(void *data, const char *name),
               void *data)
{
    return world->ops->list(world, dir, each, data);
}

struct names {
    struct arena *arena;
    const char **name;
    size_t n;
};

static void keep_name(void *data, const char *name)
{
    struct names *names = data;

    names->name = arena_grow(names->arena, names->name, names->n, sizeof(*names->name));
    names->name[names->n++] = arena_strdup(names->arena, name);
}

int world_names(struct world *world, struct node *dir, struct arena *arena, const char ***ret_name,
                size_t *ret_n)
{
    struct names names = {.arena = arena};
    const int r = world_list(world, dir, keep_name, &names);

    if (r < 0)
        return r;
    *ret_name = names.name;
    *ret_n = names.n;
    return 0;
}

static void add_path(struct str *str, const struct node *node)
{
    if (!node->parent)
        return;
    add_path(str, node->parent);
    str_add(str, "/");
    str_add_n(str, node->name->text, node->name->len);
}

char *world_path(struct arena *arena, const struct node *node)
{
    struct str path = {.arena = arena};

    add_path(&path, node);
    return path.len ? path.text : arena_strdup(arena, "/");
}
