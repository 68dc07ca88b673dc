/* What an index has, without a look into it as a world. */
#include "loader/world_index.h"

static const char PROGRAMS[] = "SELECT path FROM object o JOIN object_path ON object = o.id "
                               "WHERE o.interp IS NOT NULL ORDER BY o.id";
static const char OBJECTS[] = "SELECT path FROM object o JOIN object_path ON object = o.id "
                              "ORDER BY o.id";
static const char NEEDED[] =
    "SELECT text FROM name WHERE id IN (SELECT CAST(ltrim(w.value, 'af') AS INTEGER) "
    "FROM object o, json_each(o.needed) w)";
static const char STORE_PATHS[] = "SELECT path FROM store ORDER BY path";

static int list_texts(struct db *db, const char *sql, void (*each)(void *data, const char *path),
                      void *data, struct err *err)
{
    struct stmt *s = db_prepare(db, sql, err);
    int r;

    if (!s)
        return -err->code;
    while ((r = stmt_step(s, err)) > 0)
        each(data, stmt_text(s, 0));
    return r;
}

int index_programs(struct db *db, void (*each)(void *data, const char *path), void *data,
                   struct err *err)
{
    return list_texts(db, PROGRAMS, each, data, err);
}

int index_objects(struct db *db, void (*each)(void *data, const char *path), void *data,
                  struct err *err)
{
    return list_texts(db, OBJECTS, each, data, err);
}

int index_store_paths(struct db *db, void (*each)(void *data, const char *path), void *data,
                      struct err *err)
{
    return list_texts(db, STORE_PATHS, each, data, err);
}

int index_needed(struct db *db, void (*each)(void *data, const char *name), void *data,
                 struct err *err)
{
    return list_texts(db, NEEDED, each, data, err);
}
