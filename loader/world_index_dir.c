/*
 * Directories of packages: a row each, its entries in a table by name.
 */
#include "loader/world_index_private.h"

#include <errno.h>
#include <string.h>

static const char DIRECTORY[] =
    "SELECT first_object, entries, packed FROM directory WHERE package = ? AND path = ?";

/* ---- the table of one */

static void build_slots(struct index_world *iw, struct shown_dir *dir)
{
    struct arena *arena = iw->world->arena;
    struct packed packed = {dir->packed, dir->packed + dir->packed_size}, object;
    uint32_t n = 0, objects = 0;
    struct entry entry;
    size_t at = 0, start;

    while (entries_next(dir->entries, dir->size, &at, &entry))
        n++;
    dir->names = (struct name_filter){0};
    dir->mask = 1;
    while (dir->mask < n * 2)
        dir->mask = dir->mask * 2 + 1;
    dir->slot = arena_calloc(arena, dir->mask + 1, sizeof(*dir->slot));
    for (at = start = 0; entries_next(dir->entries, dir->size, &at, &entry); start = at) {
        const uint32_t hash = intern_hash(entry.name, strlen(entry.name));
        uint32_t i = hash & dir->mask;

        filter_add(&dir->names, hash);
        while (dir->slot[i].at)
            i = (i + 1) & dir->mask;
        dir->slot[i] =
            (struct slot){(uint32_t)start + 1, objects, (uint32_t)(packed.at - dir->packed)};
        objects += entry.kind == ENTRY_ELF && packed_next(&packed, &object);
    }
}

const struct slot *shown_dir_find(const struct shown_dir *dir, const struct name *name,
                                  struct entry *ret_entry)
{
    uint32_t i = name->hash & dir->mask;

    for (; dir->slot[i].at; i = (i + 1) & dir->mask) {
        size_t at = dir->slot[i].at - 1;

        if (entries_next(dir->entries, dir->size, &at, ret_entry) &&
            strcmp(ret_entry->name, name->text) == 0)
            return &dir->slot[i];
    }
    return NULL;
}

/* ---- rows */

static void *copy_blob(struct index_world *iw, struct stmt *s, int column, size_t *ret_size)
{
    const void *bytes = stmt_blob(s, column, ret_size);

    if (*ret_size > UINT32_MAX / 2)
        *ret_size = 0;
    return arena_memdup(iw->world->arena, bytes, *ret_size);
}

static void read_row(struct index_world *iw, struct stmt *s, struct shown_dir *dir)
{
    dir->first_object = stmt_int(s, 0);
    dir->entries = copy_blob(iw, s, 1, &dir->size);
    dir->packed = copy_blob(iw, s, 2, &dir->packed_size);
}

static int fetch_row(struct index_world *iw, struct shown_dir *dir)
{
    struct stmt *s = db_prepare(iw->db, DIRECTORY, &iw->err);
    int r;

    if (!s)
        return -EIO;
    stmt_bind_int(s, 1, dir->id);
    stmt_bind_text(s, 2, dir->path);
    r = stmt_step(s, &iw->err);
    if (r > 0) {
        read_row(iw, s, dir);
        stmt_reset(s);
    }
    return r < 0 ? -EIO : 0;
}

int shown_dir_fetch(struct index_world *iw, struct shown_dir *dir)
{
    int r;

    if (dir->fetched)
        return 0;
    if ((r = fetch_row(iw, dir)) < 0)
        return r;
    dir->fetched = true;
    if (dir->entries)
        build_slots(iw, dir);
    return 0;
}

struct shown_dir *shown_dir_below(struct index_world *iw, int64_t package, const char *path)
{
    struct shown_dir *dir = arena_alloc(iw->world->arena, sizeof(*dir));

    *dir = (struct shown_dir){.kind = BELOW, .id = package, .path = path};
    memset(&dir->names, 0xff, sizeof(dir->names));
    return dir;
}
