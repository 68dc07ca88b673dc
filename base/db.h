/*
 * SQLite: the one door to it.
 *
 *	CLEANUP(db_closep) struct db *db = NULL;
 *	struct stmt *s;
 *
 *	r = db_open(path, DB_WRITE, &db, err);
 *	s = db_prepare(db, SQL_TEXT, err);	(cached by the text's address: use constants)
 *	stmt_bind_int(s, 1, id);
 *	while ((r = stmt_step(s, err)) > 0)
 *		use(stmt_text(s, 0));
 *
 * An index is a cache: opened for writing, a file with another schema than schema.sql is emptied.
 * A connection belongs to one thread.
 */
#pragma once

#include "base/base.h"

struct db;
struct stmt;

enum db_mode {
    DB_READ,    /* our index, to be read; it must be there and current */
    DB_WRITE,   /* our index, made or emptied as needed */
    DB_TRY,     /* to note something in it as it is: who holds it is not waited for (-EBUSY) */
    DB_FOREIGN, /* somebody else's database, read only; nothing is checked */
};

MUST_CHECK int db_open(const char *path, enum db_mode mode, struct db **ret_db, struct err *err);
void db_close(struct db *db);
void db_closep(struct db **db);

/* Was the file emptied or made by db_open()? */
bool db_is_fresh(const struct db *db);

/*
 * Give up on statements that are still running `ms` from now, with -ETIMEDOUT; 0: never. What a
 * world over the connection answered meanwhile is not to be trusted any more.
 */
void db_limit(struct db *db, unsigned ms);

/* Run statements that return nothing. */
MUST_CHECK int db_exec(struct db *db, const char *sql, struct err *err);

MUST_CHECK int db_begin(struct db *db, struct err *err);
MUST_CHECK int db_commit(struct db *db, struct err *err);
/* Undo what the open transaction did; nothing when there is none. */
void db_rollback(struct db *db);

/*
 * A prepared statement, reset and without values. It is the connection's and found again by the
 * address of `sql`, which must be a constant. NULL on failure.
 */
struct stmt *db_prepare(struct db *db, const char *sql, struct err *err);

/* Values, from 1. Texts and blobs are borrowed until the statement is stepped to its end. */
void stmt_bind_int(struct stmt *stmt, int at, int64_t value);
void stmt_bind_text(struct stmt *stmt, int at, const char *text); /* NULL: null */
void stmt_bind_text_n(struct stmt *stmt, int at, const char *text, size_t len);
void stmt_bind_blob(struct stmt *stmt, int at, const void *bytes, size_t size);
void stmt_bind_null(struct stmt *stmt, int at);

/* The value in a column of `from`'s current row, whatever its type; copied. */
void stmt_bind_column(struct stmt *stmt, int at, struct stmt *from, int column);

/* 1: a row; 0: the end (the statement is reset); negative errno. */
MUST_CHECK int stmt_step(struct stmt *stmt, struct err *err);

/* Step a statement that returns no row. 0 or negative errno. */
MUST_CHECK int stmt_run(struct stmt *stmt, struct err *err);

/* End a query early. */
void stmt_reset(struct stmt *stmt);

/* Columns of the current row, from 0; pointers live until the next step. NULL: null. */
int64_t stmt_int(struct stmt *stmt, int column);
const char *stmt_text(struct stmt *stmt, int column);
const void *stmt_blob(struct stmt *stmt, int column, size_t *ret_size);
size_t stmt_size(struct stmt *stmt, int column); /* bytes of the text or blob fetched last */
bool stmt_is_null(struct stmt *stmt, int column);
int stmt_columns(const struct stmt *stmt);

/* The row id that the last insert made. */
int64_t db_last_id(const struct db *db);
