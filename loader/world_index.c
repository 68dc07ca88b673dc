#include "base/str.h"
#include "loader/world_index_private.h"
#include "loader/world_internal.h"
#include "scanner/entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The texts of this world; the test that prepares them all is its round trip. */
static const char STORES[] = "SELECT id, path, whole FROM store";
static const char PACKAGE[] = "SELECT id, state, kind, target, objects FROM package "
                              "WHERE store = ? AND base = ?";
static const char PACKAGES[] = "SELECT base FROM package WHERE store = ? AND state <> 'gone'";
static const char INODES_BETWEEN[] =
    "SELECT object, dev, ino FROM inode WHERE object BETWEEN ?1 AND ?2";
static const char MAX_OBJECT[] = "SELECT max(id) FROM object";
static const char INODES[] = "SELECT count(*) FROM (SELECT 1 FROM inode LIMIT 1)";

/* What two files have in common that are one. */
struct inode {
    uint64_t dev, ino;
};

enum { INODES_TOGETHER = 64 };

static struct shown_dir *shown(const struct node *dir)
{
    return (struct shown_dir *)(uintptr_t)dir->source;
}

static struct stmt *prepare(struct index_world *iw, const char *sql)
{
    return db_prepare(iw->db, sql, &iw->err);
}

/* ---- nodes */

enum { DIR_MODE = S_IFDIR | 0555, FILE_MODE = S_IFREG | 0444, UNKNOWN_SIZE = 64 };

static void show_dir(struct node *node, const struct shown_dir *dir)
{
    node->kind = NODE_DIR;
    node->mode = DIR_MODE;
    node->source = (uint64_t)(uintptr_t)dir;
    if (dir->kind == BELOW)
        node->names = &dir->names;
}

static int fetch_inodes(struct index_world *iw, int64_t id)
{
    const int64_t first = id - id % INODES_TOGETHER;
    struct stmt *s = prepare(iw, INODES_BETWEEN);
    int r;

    if (!s)
        return -EIO;
    stmt_bind_int(s, 1, first);
    stmt_bind_int(s, 2, first + INODES_TOGETHER - 1);
    while ((r = stmt_step(s, &iw->err)) > 0) {
        const int64_t object = stmt_int(s, 0);

        if (object > 0 && (uint64_t)object < iw->n_objects) /* dev 0 is for those without inode */
            iw->inode[object] =
                (struct inode){(uint64_t)stmt_int(s, 1) + 1, (uint64_t)stmt_int(s, 2)};
    }
    iw->asked[id / INODES_TOGETHER] = r == 0;
    return r < 0 ? -EIO : 0;
}

/* Objects with several links are known by inode, all others by their row. */
static int show_identity(struct index_world *iw, struct node *node, int64_t id)
{
    node->ino = (uint64_t)id;
    if (!iw->inode)
        return 0;
    if (!iw->asked[id / INODES_TOGETHER] && fetch_inodes(iw, id) < 0)
        return -EIO;
    if (iw->inode[id].dev) {
        node->dev = iw->inode[id].dev;
        node->ino = iw->inode[id].ino;
    }
    return 0;
}

static int show_object(struct index_world *iw, struct node *node, const struct shown_dir *dir,
                       const struct slot *slot)
{
    const int64_t id = dir->first_object + slot->ordinal;
    const struct packed packed = {dir->packed + slot->packed, dir->packed + dir->packed_size};
    const struct object *object;

    if (id <= 0 || (uint64_t)id >= iw->n_objects)
        return -EIO;
    object = index_world_object(iw, id, packed);
    if (!object)
        return -EIO;
    node->kind = NODE_FILE;
    node->mode = object->mode;
    node->size = object->size;
    node->source = (uint64_t)(uintptr_t)object;
    return show_identity(iw, node, id);
}

static void show_file(struct node *node, uint64_t size)
{
    node->kind = NODE_FILE;
    node->mode = FILE_MODE;
    node->size = size;
    node->ino = UINT64_MAX;
}

static void show_link(struct index_world *iw, struct node *node, const char *target)
{
    node->kind = NODE_LINK;
    node->mode = S_IFLNK | 0777;
    node->target = arena_strdup(iw->world->arena, target);
}

/* ---- children */

static int child_of_parent(const struct shown_dir *dir, const struct name *name, struct node *node)
{
    for (const struct shown_dir *c = dir->child; c; c = c->next)
        if (strcmp(c->name, name->text) == 0) {
            show_dir(node, c);
            return 0;
        }
    return -ENODATA;
}

static int child_below(struct index_world *iw, struct shown_dir *dir, const struct name *name,
                       struct node *node)
{
    const struct slot *slot;
    struct entry entry;
    int r = shown_dir_fetch(iw, dir);

    if (r < 0)
        return r;
    if (!dir->entries)
        return -ENODATA;
    slot = shown_dir_find(dir, name, &entry);
    if (!slot)
        return -ENOENT;
    switch (entry.kind) {
    case ENTRY_DIR:
        show_dir(node,
                 shown_dir_below(iw, dir->id, str_join(iw->world->arena, dir->path, name->text)));
        return 0;
    case ENTRY_LINK:
        show_link(iw, node, entry.text);
        return 0;
    case ENTRY_ELF:
        return show_object(iw, node, dir, slot);
    case ENTRY_SHORT:
        show_file(node, strtoul(entry.text, NULL, 10));
        return 0;
    case ENTRY_FILE:
        show_file(node, UNKNOWN_SIZE);
        return 0;
    case ENTRY_UNREAD:
        show_file(node, UNKNOWN_SIZE);
        node->mode = S_IFREG;
        return 0;
    case ENTRY_OTHER:
    default:
        node->kind = NODE_OTHER;
        return 0;
    }
}

/* A package that is one file: the only entry of its directory, without a name. */
static int show_single(struct index_world *iw, struct node *node, int64_t package)
{
    const int r = child_below(iw, shown_dir_below(iw, package, ""), iw->world->root->name, node);

    return r == -ENOENT || r == -ENODATA ? -EIO : r;
}

/* The package of the current row. */
static int show_package(struct index_world *iw, struct stmt *s, struct node *node)
{
    const int64_t id = stmt_int(s, 0);
    const bool has_object = stmt_int(s, 4) > 0;
    const char *state = stmt_text(s, 1), *kind = stmt_text(s, 2), *target = stmt_text(s, 3);

    if (!state || strcmp(state, "gone") == 0)
        return -ENOENT;
    if (!kind)
        return -ENODATA;
    if (strcmp(kind, "dir") == 0) {
        show_dir(node, shown_dir_below(iw, id, ""));
    } else if (strcmp(kind, "link") == 0) {
        show_link(iw, node, target ? target : "");
    } else if (strcmp(kind, "file") == 0) {
        if (has_object)
            return show_single(iw, node, id);
        show_file(node, UNKNOWN_SIZE);
    } else {
        node->kind = NODE_OTHER;
    }
    return 0;
}

static int child_of_store(struct index_world *iw, const struct shown_dir *store,
                          const struct name *name, struct node *node)
{
    struct stmt *s = prepare(iw, PACKAGE);
    int r;

    if (!s)
        return -EIO;
    stmt_bind_int(s, 1, store->id);
    stmt_bind_text_n(s, 2, name->text, name->len);
    r = stmt_step(s, &iw->err);
    if (r <= 0)
        return r < 0 ? -EIO : store->whole ? -ENOENT : -ENODATA;
    r = show_package(iw, s, node);
    stmt_reset(s);
    return r;
}

static int index_child(struct world *world, const struct node *dir, const struct name *name,
                       struct node *ret_node)
{
    struct index_world *iw = world->data;
    struct shown_dir *d = shown(dir);

    switch (d->kind) {
    case PARENT:
        return child_of_parent(d, name, ret_node);
    case STORE:
        return child_of_store(iw, d, name, ret_node);
    case BELOW:
        break;
    }
    return child_below(iw, d, name, ret_node);
}

/* ---- the other questions */

static int index_object(struct world *world UNUSED, const struct node *file,
                        const struct object **ret_object)
{
    *ret_object = (const struct object *)(uintptr_t)file->source;
    return *ret_object || file->mode & 0444 ? 0 : -EACCES;
}

static int index_bytes(struct world *world UNUSED, const struct node *file UNUSED,
                       size_t max UNUSED, struct arena *arena UNUSED, char **ret_bytes UNUSED,
                       size_t *ret_len UNUSED)
{
    return -ENODATA;
}

static int list_store(struct index_world *iw, const struct shown_dir *store,
                      void (*each)(void *data, const char *name), void *data)
{
    struct stmt *s = prepare(iw, PACKAGES);
    int r;

    if (!s)
        return -EIO;
    stmt_bind_int(s, 1, store->id);
    while ((r = stmt_step(s, &iw->err)) > 0)
        each(data, stmt_text(s, 0));
    return r < 0 ? -EIO : 0;
}

static int index_list(struct world *world, struct node *dir,
                      void (*each)(void *data, const char *name), void *data)
{
    struct index_world *iw = world->data;
    struct shown_dir *d = shown(dir);
    struct entry entry;
    size_t at = 0;
    int r;

    if (d->kind == STORE)
        return list_store(iw, d, each, data);
    if (d->kind == PARENT) {
        for (const struct shown_dir *c = d->child; c; c = c->next)
            each(data, c->name);
        return 0;
    }
    if ((r = shown_dir_fetch(iw, d)) < 0)
        return r;
    if (!d->entries)
        return -ENODATA;
    while (entries_next(d->entries, d->size, &at, &entry))
        each(data, entry.name);
    return 0;
}

static void index_world_close(struct world *world)
{
    struct index_world *iw = world->data;
    struct err err;

    if (iw->in_transaction && db_exec(iw->db, "COMMIT", &err) < 0)
        err.code = 0; /* it was a read transaction: there is nothing to lose */
    free(iw->inode);
    free(iw->asked);
    free(iw->name.text);
    free(iw->search_dir.text);
    free(iw->run_path.text);
    free(iw);
}

static const struct world_ops index_ops = {.child = index_child,
                                           .object = index_object,
                                           .bytes = index_bytes,
                                           .list = index_list,
                                           .close = index_world_close};

/* ---- opening */

int index_world_max(struct index_world *iw, const char *sql, size_t *ret_n)
{
    struct stmt *s = prepare(iw, sql);
    int r = s ? stmt_step(s, &iw->err) : -EIO;

    if (r <= 0)
        return r < 0 ? r : -EIO;
    *ret_n = (size_t)stmt_int(s, 0);
    stmt_reset(s);
    return 0;
}

/* Room for the identities of files that share theirs. */
static int open_inodes(struct index_world *iw)
{
    size_t some = 0;
    int r = index_world_max(iw, MAX_OBJECT, &iw->n_objects);

    iw->n_objects++;
    if (r == 0)
        r = index_world_max(iw, INODES, &some);
    if (r < 0 || !some)
        return r;
    iw->inode = calloc(iw->n_objects, sizeof(*iw->inode));
    iw->asked = calloc(iw->n_objects / INODES_TOGETHER + 1, sizeof(*iw->asked));
    if (!iw->inode || !iw->asked)
        abort();
    return 0;
}

/* The component `name` of a path to a store, made if needed. */
static struct shown_dir *parent_child(struct index_world *iw, struct shown_dir *dir,
                                      const char *name, size_t len)
{
    struct arena *arena = iw->world->arena;
    struct shown_dir *c;

    for (c = dir->child; c; c = c->next)
        if (strncmp(c->name, name, len) == 0 && c->name[len] == '\0')
            return c;
    c = arena_alloc(arena, sizeof(*c));
    c->kind = PARENT;
    c->name = arena_strndup(arena, name, len);
    c->next = dir->child;
    return dir->child = c;
}

static int add_stores(struct index_world *iw)
{
    struct shown_dir *root = arena_alloc(iw->world->arena, sizeof(*root));
    struct stmt *s = prepare(iw, STORES);
    int r;

    root->kind = PARENT;
    iw->world->root->source = (uint64_t)(uintptr_t)root;
    if (!s)
        return -EIO;
    while ((r = stmt_step(s, &iw->err)) > 0) {
        const char *at = stmt_text(s, 1);
        struct shown_dir *dir = root;

        while (*at) {
            const size_t len = strcspn(at, "/");

            if (len)
                dir = parent_child(iw, dir, at, len);
            at += len + (at[len] == '/');
        }
        dir->kind = STORE;
        dir->id = stmt_int(s, 0);
        dir->whole = stmt_int(s, 2) != 0;
    }
    return r;
}

static int open_in_transaction(struct index_world *iw)
{
    int r = index_world_texts(iw);

    if (r == 0)
        r = open_inodes(iw);
    return r < 0 ? r : add_stores(iw);
}

static struct index_world *index_world_new(struct db *db, enum world_facts facts)
{
    struct index_world *iw = calloc(1, sizeof(*iw));

    if (!iw)
        abort();
    iw->db = db;
    iw->facts = facts;
    iw->world = world_new(&index_ops, iw, 0, 0);
    return iw;
}

int world_index(struct db *db, enum world_facts facts, struct world **ret_world, struct err *err)
{
    struct index_world *iw = index_world_new(db, facts);
    int r = db_exec(db, "BEGIN", &iw->err);

    iw->in_transaction = true;
    if (r == 0)
        r = open_in_transaction(iw);
    if (r < 0) {
        *err = iw->err;
        world_close(iw->world);
        return r;
    }
    *ret_world = iw->world;
    return 0;
}

int world_index_beside(const struct world *world, struct world **ret_world, struct err *err)
{
    const struct index_world *beside = world->data;
    struct index_world *iw = index_world_new(beside->db, beside->facts);
    const int r = open_in_transaction(iw);

    if (r < 0) {
        *err = iw->err;
        world_close(iw->world);
        return r;
    }
    *ret_world = iw->world;
    return 0;
}

int world_index_anew(struct world **world, struct err *err)
{
    struct index_world *old = (*world)->data, *iw;
    struct world *fresh;
    const int r = world_index_beside(*world, &fresh, err);

    if (r < 0)
        return r;
    iw = fresh->data;
    iw->in_transaction = old->in_transaction;
    old->in_transaction = false;
    world_close(*world);
    *world = fresh;
    return 0;
}
