/*
 * Stores into rows, and which parts of them are there.
 */
#include "scanner/index_private.h"

#include <errno.h>

int index_store(struct index *index, const char *path, const char *root, int64_t *ret_store,
                uint64_t *ret_changed, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_STORE_FIND, err);
    int r;

    if (!s)
        return -err->code;
    index->store_path = arena_strdup(&index->kept, path);
    stmt_bind_text(s, 1, path);
    if ((r = stmt_step(s, err)) < 0)
        return r;
    if (r > 0) {
        const char *other = stmt_text(s, 2);

        *ret_store = stmt_int(s, 0);
        *ret_changed = (uint64_t)stmt_int(s, 1);
        r = str_same(other, root) ? 0
                                  : err_set(err, EEXIST,
                                            "the index holds '%s' of the tree under '%s', not "
                                            "'%s'; use another --db",
                                            path, other ? other : "", root);
        stmt_reset(s);
        return r;
    }
    if ((r = index_begin(index, err)) < 0)
        return r;
    s = index_prepare(index, SQL_STORE_ADD, err);
    if (!s)
        return -err->code;
    stmt_bind_text(s, 1, path);
    stmt_bind_text(s, 2, root);
    if ((r = stmt_run(s, err)) < 0)
        return r;
    *ret_store = db_last_id(index->db);
    *ret_changed = 0;
    return 0;
}

int index_set_store(struct index *index, int64_t store, uint64_t changed, struct err *err)
{
    struct stmt *s;
    int r = index_begin(index, err);

    if (r < 0)
        return r;
    s = index_prepare(index, SQL_STORE_CHANGED, err);
    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, store);
    stmt_bind_int(s, 2, (int64_t)changed);
    return stmt_run(s, err);
}

int index_add_part(struct index *index, int64_t store, const struct part *part, struct err *err)
{
    struct stmt *s;
    int r = index_begin(index, err);

    if (r < 0)
        return r;
    s = index_prepare(index, SQL_PART_ADD, err);
    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, store);
    stmt_bind_text(s, 2, part->place);
    stmt_bind_int(s, 3, part->shards);
    stmt_bind_int(s, 4, part->shard);
    return stmt_run(s, err);
}

int index_settle_parts(struct index *index, int64_t store, struct err *err)
{
    static const enum sql_id ids[] = {SQL_PARTS_JOIN, SQL_PARTS_COVERED, SQL_PARTS_SOME,
                                      SQL_STORE_WHOLE};
    int r = index_begin(index, err);

    for (size_t i = 0; i < ARRAY_LEN(ids) && r == 0; i++)
        r = index_run_of(index, ids[i], store, err);
    return r;
}

/* Is nothing new in `part`: is it all there is, or, when it adds something, in what there is? */
static int is_known_part(struct index *index, int64_t store, const struct part *part,
                         bool *ret_known, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_PARTS, err);
    bool others = false, has = false;
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, store);
    while ((r = stmt_step(s, err)) > 0) {
        const unsigned shards = (unsigned)stmt_int(s, 1);
        const bool same = str_same(stmt_text(s, 0), part->place);
        const bool equal = shards == part->shards && stmt_int(s, 2) == part->shard;

        has |= same && (equal || (part->adds && (shards == 1 || part->shards == 0)));
        others |= !same || (!equal && !part->adds);
    }
    *ret_known = has && !others;
    return r;
}

/* Other directories' parts are in the index no more; `place` NULL: nor are this one's. */
static int drop_parts(struct index *index, int64_t store, const char *place, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_PARTS_DROP, err);

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, store);
    stmt_bind_text(s, 2, place);
    return stmt_run(s, err);
}

int index_note_part(struct index *index, int64_t store, const struct part *part, bool *ret_changed,
                    struct err *err)
{
    bool known = false;
    int r = is_known_part(index, store, part, &known, err);

    *ret_changed = r == 0 && !known;
    if (r < 0 || known)
        return r;
    r = index_begin(index, err);
    if (r == 0)
        r = drop_parts(index, store, part->adds ? part->place : NULL, err);
    if (r == 0)
        r = index_add_part(index, store, part, err);
    return r < 0 ? r : index_settle_parts(index, store, err);
}

int index_stores(struct index *index,
                 void (*each)(void *data, int64_t store, const char *path, const char *root),
                 void *data, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_STORES, err);
    int r;

    if (!s)
        return -err->code;
    while ((r = stmt_step(s, err)) > 0)
        each(data, stmt_int(s, 0), stmt_text(s, 1), stmt_text(s, 2));
    return r;
}
