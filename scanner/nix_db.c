#include "scanner/nix_db.h"

#include "base/db.h"
#include "base/str.h"
#include "scanner/store_name.h"

#include <string.h>

/* Where a store's database is. */
static const struct place {
    const char *store, *database;
} places[] = {
    {"/gnu/store", "/var/guix/db/db.sqlite"},
};

static const char PATHS[] = "SELECT id, path, hash, deriver, narSize FROM ValidPaths";
static const char SAME[] = "SELECT 1 FROM ValidPaths WHERE id = ?"; /* no id is given twice */
static const char REFERENCES[] = "SELECT referrer, reference FROM Refs";

static int open_database(const char *root, const char *store, struct db **ret_db, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    const char *slash = strrchr(store, '/'), *path = NULL;
    const struct place *place;

    for_each (place, places)
        if (strcmp(store, place->store) == 0)
            path = place->database;
    if (!path)
        path =
            arena_printf(&a, "%.*s/var/nix/db/db.sqlite", slash ? (int)(slash - store) : 0, store);
    if (strcmp(root, "/") != 0)
        path = arena_printf(&a, "%s%s", root, path);
    return db_open(path, DB_FOREIGN, ret_db, err);
}

int nix_db_paths(const char *root, const char *store, struct arena *arena, struct nix_db *ret_db,
                 struct err *err)
{
    CLEANUP(db_closep) struct db *db = NULL;
    const size_t len = strlen(store);
    struct nix_db found = {0};
    struct stmt *s;
    int r = open_database(root, store, &db, err);

    if (r < 0)
        return r;
    s = db_prepare(db, PATHS, err);
    if (!s)
        return -err->code;
    /* with --root it may be anybody's: names that lead out of the store are nobody's packages */
    while ((r = stmt_step(s, err)) > 0) {
        const char *path = stmt_text(s, 1), *hash = stmt_text(s, 2), *deriver = stmt_text(s, 3);

        if (!path || strncmp(path, store, len) != 0 || path[len] != '/' || str_ends(path, ".drv") ||
            !store_name_is_entry(path + len + 1) || stmt_int(s, 0) < 0)
            continue;
        found.path = arena_grow(arena, found.path, found.n_paths, sizeof(*found.path));
        found.path[found.n_paths++] = (struct nix_path){
            .base = arena_strdup(arena, path + len + 1),
            .nar_hash = arena_strdup(arena, hash ? hash : ""),
            .deriver = deriver ? arena_strdup(arena, str_base(deriver)) : NULL,
            .nar_size = stmt_int(s, 4),
            .id = stmt_int(s, 0),
        };
    }
    if (r == 0)
        *ret_db = found;
    return r;
}

int nix_db_same(const char *root, const char *store, const struct nix_path *const *path, size_t n,
                bool *ret_same, struct err *err)
{
    CLEANUP(db_closep) struct db *db = NULL;
    int r = open_database(root, store, &db, err);

    for (size_t i = 0; i < n && r == 0; i++) {
        struct stmt *s = db_prepare(db, SAME, err);

        if (!s)
            return -err->code;
        stmt_bind_int(s, 1, path[i]->id);
        r = stmt_step(s, err);
        ret_same[i] = r > 0;
        if (r > 0) {
            stmt_reset(s);
            r = 0;
        }
    }
    return r;
}

int nix_db_references(const char *root, const char *store,
                      void (*each)(void *data, int64_t referrer, int64_t reference), void *data,
                      struct err *err)
{
    CLEANUP(db_closep) struct db *db = NULL;
    struct stmt *s;
    int r = open_database(root, store, &db, err);

    if (r < 0)
        return r;
    s = db_prepare(db, REFERENCES, err);
    if (!s)
        return -err->code;
    while ((r = stmt_step(s, err)) > 0)
        each(data, stmt_int(s, 0), stmt_int(s, 1));
    return r;
}
