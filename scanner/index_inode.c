/*
 * Local facts: which files share their inodes.
 */
#include "scanner/index_private.h"

int index_add_inode(struct index *index, int64_t object, uint64_t dev, uint64_t ino,
                    struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_INODE_ADD, err);

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, object);
    stmt_bind_int(s, 2, (int64_t)dev);
    stmt_bind_int(s, 3, (int64_t)ino);
    return stmt_run(s, err);
}

/* A directory whose objects' inodes are to be read again. */
struct stale {
    int64_t id;
    const char *path; /* below the store */
    uint64_t changed;
};

static int refresh_directory(struct index *index, const struct stale *dir, struct arena *arena,
                             int (*stat)(void *, const char *, struct identity *), void *data,
                             struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_DIRECTORY_OBJECTS, err);
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, dir->id);
    while ((r = stmt_step(s, err)) > 0) {
        const int64_t object = stmt_int(s, 0);
        const char *path = str_join(arena, dir->path, stmt_text(s, 1));
        struct identity identity;

        if (stat(data, path, &identity) < 0)
            continue; /* gone meanwhile: the next scan tells */
        r = identity.nlink > 1 ? index_add_inode(index, object, identity.dev, identity.ino, err)
                               : index_run_of(index, SQL_INODE_DROP, object, err);
        if (r < 0) {
            stmt_reset(s);
            return r;
        }
    }
    if (r == 0 && (s = index_prepare(index, SQL_DIRECTORY_CHANGED, err)) == NULL)
        return -err->code;
    if (r == 0) {
        stmt_bind_int(s, 1, dir->id);
        stmt_bind_int(s, 2, (int64_t)dir->changed);
        r = stmt_run(s, err);
    }
    return r;
}

int index_refresh_inodes(struct index *index, int64_t store,
                         int (*stat)(void *data, const char *path, struct identity *ret_identity),
                         void *data, size_t *ret_n, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct stmt *s = index_prepare(index, SQL_DIRECTORIES_WITH_OBJECTS, err);
    struct stale *stale = NULL;
    size_t n = 0;
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, store);
    while ((r = stmt_step(s, err)) > 0) {
        const char *below = stmt_text(s, 2);
        struct identity identity;
        struct str path = {.arena = &arena};

        str_add(&path, stmt_text(s, 1));
        str_add(&path, below[0] ? "/" : "");
        str_add(&path, below);
        if (stat(data, path.text, &identity) < 0 || identity.changed == (uint64_t)stmt_int(s, 3))
            continue;
        stale = arena_grow(&arena, stale, n, sizeof(*stale));
        stale[n++] = (struct stale){stmt_int(s, 0), path.text, identity.changed};
    }
    if (r == 0 && n)
        r = index_begin(index, err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = refresh_directory(index, &stale[i], &arena, stat, data, err);
    if (r == 0)
        *ret_n = n;
    return r;
}
