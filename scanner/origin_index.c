/*
 * Origins in an index: table origin.
 */
#include "scanner/index_private.h"
#include "scanner/origin.h"

#include <stdlib.h>

static const char NAMES[] = "SELECT DISTINCT name, pname FROM package";
static const char DROP[] = "DELETE FROM origin";
static const char ADD[] = "INSERT OR REPLACE INTO origin (name, attribute, maintainers, position) "
                          "VALUES (?, ?, ?, ?)";

static int add_row(struct db *db, const char *name, const struct origin *origin, struct err *err)
{
    json_auto_t *maintainers = origin_maintainers(origin);
    char *text = json_dumps(maintainers, JSON_COMPACT);
    struct stmt *s = db_prepare(db, ADD, err);
    int r;

    if (!text)
        abort();
    if (!s) {
        free(text);
        return -err->code;
    }
    stmt_bind_text(s, 1, name);
    stmt_bind_text(s, 2, origin->attribute);
    stmt_bind_text(s, 3, text);
    stmt_bind_text(s, 4, origin->position);
    r = stmt_run(s, err);
    free(text);
    return r;
}

/* What of an index's packages has an origin. */
struct named {
    const char *name;
    const struct origin *origin;
};

static int find_all(struct db *db, const struct origins *origins, struct arena *arena,
                    struct named **ret_named, size_t *ret_n, struct err *err)
{
    struct stmt *s = db_prepare(db, NAMES, err);
    int r = s ? 0 : -err->code;

    while (s && (r = stmt_step(s, err)) > 0) {
        const struct origin *origin = origins_find(origins, stmt_text(s, 0), stmt_text(s, 1));

        if (!origin)
            continue;
        *ret_named = arena_grow(arena, *ret_named, *ret_n, sizeof(**ret_named));
        (*ret_named)[(*ret_n)++] = (struct named){arena_strdup(arena, stmt_text(s, 0)), origin};
    }
    return r;
}

int origins_index(struct db *db, const struct origins *origins, size_t *ret_found, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(index_closep) struct index *index = NULL;
    struct named *named = NULL;
    size_t n = 0;
    int r = find_all(db, origins, &arena, &named, &n, err);

    if (r == 0)
        r = index_open(db, &index, err);
    if (r == 0)
        r = index_begin(index, err); /* a transaction, which closing undoes */
    if (r == 0)
        r = db_exec(db, DROP, err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = add_row(db, named[i].name, named[i].origin, err);
    if (r == 0)
        r = index_settle(index, err);
    if (r == 0)
        *ret_found = n;
    return r;
}

static const char OF_PATH[] =
    "SELECT o.attribute, o.maintainers, o.position FROM store s JOIN package p ON p.store = s.id "
    "AND p.base = substr(?1, length(s.path) + 2, "
    "                    instr(substr(?1, length(s.path) + 2) || '/', '/') - 1) "
    "JOIN origin o ON o.name = p.name WHERE substr(?1, 1, length(s.path) + 1) = s.path || '/'";

int origin_of_path(struct db *db, const char *path, struct arena *arena,
                   const struct origin **ret_origin, struct err *err)
{
    struct stmt *s = db_prepare(db, OF_PATH, err);
    int r;

    if (!s)
        return -err->code;
    stmt_bind_text(s, 1, path);
    r = stmt_step(s, err);
    *ret_origin = r > 0 ? origin_of_row(s, 0, arena) : NULL;
    stmt_reset(s);
    return r < 0 ? r : 0;
}

/* Of two that inputs have for a name, the one that origins_find() would prefer; then the one that
 * tells more, then by what they tell: whatever the order, one is left. */
static const char JOIN[] =
    "INSERT INTO origin (name, attribute, maintainers, position) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (name) DO UPDATE SET attribute = excluded.attribute, "
    "maintainers = excluded.maintainers, position = excluded.position "
    "WHERE (length(excluded.attribute), excluded.attribute, excluded.position IS NULL, "
    "       ifnull(excluded.position, ''), excluded.maintainers = '[]', excluded.maintainers) "
    "    < (length(origin.attribute), origin.attribute, origin.position IS NULL, "
    "       ifnull(origin.position, ''), origin.maintainers = '[]', origin.maintainers)";

int origin_join(struct db *db, struct stmt *row, struct err *err)
{
    struct stmt *s = db_prepare(db, JOIN, err);

    if (!s)
        return -err->code;
    for (int i = 0; i < 4; i++)
        stmt_bind_text(s, i + 1, stmt_text(row, i));
    return stmt_run(s, err);
}
