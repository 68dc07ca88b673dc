/*
 * The database's door (base/db.h), shut: what stormlint-apply links in place of base/db.c, so that
 * it needs no SQLite. Nothing can be opened, and as far as a store's own database is concerned it
 * is as if there were none.
 */
#include "base/db.h"

#include <errno.h>

int db_open(const char *path, enum db_mode mode, struct db **ret_db, struct err *err)
{
    (void)ret_db;
    return err_set(err, mode == DB_FOREIGN ? ENOENT : ENOTSUP,
                   "'%s': stormlint-apply reads no index: name programs by path, or use stormlint",
                   path);
}

void db_close(struct db *db)
{
    (void)db;
}

void db_closep(struct db **db)
{
    (void)db;
}

/* The rest is never reached, since there is no open database. */

static int shut(struct err *err)
{
    return err_set(err, ENOTSUP, "no database is open");
}

bool db_is_fresh(const struct db *db)
{
    (void)db;
    return false;
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
    (void)db;
    (void)sql;
    return shut(err);
}

int db_begin(struct db *db, struct err *err)
{
    (void)db;
    return shut(err);
}

int db_commit(struct db *db, struct err *err)
{
    (void)db;
    return shut(err);
}

void db_rollback(struct db *db)
{
    (void)db;
}

struct stmt *db_prepare(struct db *db, const char *sql, struct err *err)
{
    (void)db;
    (void)sql;
    (void)shut(err);
    return NULL;
}

void stmt_bind_int(struct stmt *stmt, int at, int64_t value)
{
    (void)stmt;
    (void)at;
    (void)value;
}

void stmt_bind_text(struct stmt *stmt, int at, const char *text)
{
    (void)stmt;
    (void)at;
    (void)text;
}

void stmt_bind_text_n(struct stmt *stmt, int at, const char *text, size_t len)
{
    (void)stmt;
    (void)at;
    (void)text;
    (void)len;
}

void stmt_bind_blob(struct stmt *stmt, int at, const void *bytes, size_t size)
{
    (void)stmt;
    (void)at;
    (void)bytes;
    (void)size;
}

void stmt_bind_null(struct stmt *stmt, int at)
{
    (void)stmt;
    (void)at;
}

int stmt_step(struct stmt *stmt, struct err *err)
{
    (void)stmt;
    return shut(err);
}

int stmt_run(struct stmt *stmt, struct err *err)
{
    (void)stmt;
    return shut(err);
}

void stmt_reset(struct stmt *stmt)
{
    (void)stmt;
}

int64_t stmt_int(struct stmt *stmt, int column)
{
    (void)stmt;
    (void)column;
    return 0;
}

const char *stmt_text(struct stmt *stmt, int column)
{
    (void)stmt;
    (void)column;
    return NULL;
}

const void *stmt_blob(struct stmt *stmt, int column, size_t *ret_size)
{
    (void)stmt;
    (void)column;
    *ret_size = 0;
    return NULL;
}

size_t stmt_size(struct stmt *stmt, int column)
{
    (void)stmt;
    (void)column;
    return 0;
}

bool stmt_is_null(struct stmt *stmt, int column)
{
    (void)stmt;
    (void)column;
    return true;
}

int64_t db_last_id(const struct db *db)
{
    (void)db;
    return 0;
}
