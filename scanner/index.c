#include "scanner/index_private.h"

#include <stdlib.h>
#include <time.h>

/* Between two commits: what a killed scan can lose. Each costs a walk over all pages in the cache. */
enum { COMMIT_NS = 50 * 1000 * 1000 };

struct stmt *index_prepare(struct index *index, enum sql_id id, struct err *err)
{
    return db_prepare(index->db, index_sql[id].text, err);
}

int index_run_of(struct index *index, enum sql_id sql, int64_t id, struct err *err)
{
    struct stmt *s = index_prepare(index, sql, err);

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, id);
    return stmt_run(s, err);
}

/* ---- transactions */

static int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Say, in the first transaction of a scan, that there will be more of them. */
static int mark(struct index *index, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_MARK, err);
    int r = index_is_unfinished(index->db, &index->unfinished, err);

    if (r < 0 || !s)
        return -err->code;
    index->marked = true;
    return stmt_run(s, err);
}

int index_begin(struct index *index, struct err *err)
{
    int r;

    if (index->writing)
        return 0;
    r = db_begin(index->db, err);
    index->writing = r == 0;
    index->began_ns = now_ns();
    return r < 0 || index->marked ? r : mark(index, err);
}

int index_flush(struct index *index, struct err *err)
{
    int r;

    if (!index->writing)
        return 0;
    r = dictionary_store(index, &index->name, err);
    if (r == 0)
        r = dictionary_store(index, &index->search_dir, err);
    if (r == 0)
        r = dictionary_store(index, &index->run_path, err);
    if (r == 0)
        r = db_commit(index->db, err);
    if (r == 0)
        index->writing = false;
    return r;
}

int index_tick(struct index *index, struct err *err)
{
    if (!index->writing || now_ns() - index->began_ns < COMMIT_NS)
        return 0;
    return index_flush(index, err);
}

/* ---- opening */

static int query_int(struct index *index, enum sql_id id, int64_t *ret, struct err *err)
{
    struct stmt *s = index_prepare(index, id, err);
    int r = s ? stmt_step(s, err) : -err->code;

    if (r > 0) {
        *ret = stmt_int(s, 0);
        stmt_reset(s);
    }
    return r < 0 ? r : 0;
}

int index_open(struct db *db, struct index **ret_index, struct err *err)
{
    CLEANUP(index_closep) struct index *index = calloc(1, sizeof(*index));

    if (!index)
        abort();
    index->db = db;
    *ret_index = index;
    index = NULL;
    (void)err;
    return 0;
}

/* Only what writes needs the dictionaries. */
int index_load(struct index *index, struct err *err)
{
    int r;

    if (index->expanded)
        return 0;
    index->expanded = intern_new();
    r = dictionary_load(index, &index->name, SQL_NAMES, SQL_NAME_ADD, err);
    if (r == 0)
        r = dictionary_load(index, &index->search_dir, SQL_SEARCH_DIRS, SQL_SEARCH_DIR_ADD, err);
    if (r == 0)
        r = dictionary_load(index, &index->run_path, SQL_RUN_PATHS, SQL_RUN_PATH_ADD, err);
    if (r == 0)
        r = query_int(index, SQL_MAX_OBJECT, &index->next_object, err);
    if (r == 0)
        r = query_int(index, SQL_MAX_DIRECTORY, &index->next_directory, err);
    index->next_object++;
    index->next_directory++;
    return r;
}

void index_close(struct index *index)
{
    if (!index)
        return;
    if (index->writing)
        db_rollback(index->db);
    intern_free(index->name.names);
    intern_free(index->search_dir.names);
    intern_free(index->run_path.names);
    intern_free(index->expanded);
    arena_release(&index->last);
    arena_release(&index->kept);
    free(index);
}

void index_closep(struct index **index)
{
    index_close(*index);
}

/* ---- meta */

int index_bump(struct index *index, struct err *err)
{
    struct stmt *s;
    int r = index_begin(index, err);

    if (r < 0)
        return r;
    s = index_prepare(index, SQL_BUMP, err);
    return s ? stmt_run(s, err) : -err->code;
}

/* Commit the last transaction, with the mark or without it. */
static int end(struct index *index, bool unmarks, struct err *err)
{
    struct stmt *s;
    int r = 0;

    if (index->marked && unmarks) {
        r = index_begin(index, err);
        s = r == 0 ? index_prepare(index, SQL_UNMARK, err) : NULL;
        r = s ? stmt_run(s, err) : -err->code;
    }
    if (r == 0)
        r = index_flush(index, err);
    index->marked = index->marked && r < 0;
    return r;
}

int index_finish(struct index *index, bool changed, struct err *err)
{
    const int r = changed || index->unfinished ? index_bump(index, err) : 0;

    return r < 0 ? r : end(index, true, err);
}

int index_settle(struct index *index, struct err *err)
{
    const int r = index_bump(index, err);

    return r < 0 ? r : end(index, !index->unfinished, err);
}

int index_is_unfinished(struct db *db, bool *ret_unfinished, struct err *err)
{
    struct stmt *s = db_prepare(db, index_sql[SQL_MARKED].text, err);
    int r = s ? stmt_step(s, err) : -err->code;

    if (r < 0)
        return r;
    *ret_unfinished = r > 0;
    stmt_reset(s);
    return 0;
}

int index_generation(struct db *db, int64_t *ret_generation, struct err *err)
{
    struct index index = {.db = db};

    *ret_generation = 0;
    return query_int(&index, SQL_GENERATION, ret_generation, err);
}

int index_totals(struct db *db, struct index_totals *ret, struct err *err)
{
    struct index index = {.db = db};
    struct stmt *s = index_prepare(&index, SQL_TOTALS, err);
    int r;

    if (!s)
        return -err->code;
    if ((r = stmt_step(s, err)) <= 0)
        return r;
    *ret = (struct index_totals){stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2),
                                 stmt_int(s, 3), stmt_int(s, 4), stmt_int(s, 5),
                                 stmt_int(s, 6), stmt_int(s, 7), stmt_int(s, 8)};
    stmt_reset(s);
    return 0;
}
