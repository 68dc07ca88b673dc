#include "base/db.h"

#include "base/arena.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern const char schema_sql[];

enum {
    CACHE_SLOTS = 256,           /* prepared statements, a power of two; half are ever used */
    APPLICATION_ID = 0x73746f72, /* "stor": tells our files from others' */
    BUSY_MS = 10000,
    LIMIT_STEPS = 2000, /* of SQLite's machine, some 20 us, between two looks at the clock */
};

/* A statement and the text it was prepared from. */
struct stmt {
    const char *sql;
    sqlite3_stmt *handle;
    struct db *db;
};

struct db {
    sqlite3 *handle;
    struct stmt slot[CACHE_SLOTS]; /* open addressing by the text's address */
    size_t n_stmts;
    bool in_transaction, fresh;
    uint64_t limit_ns; /* monotonic: when statements are given up; 0: never */
    char path[];       /* for error messages */
};

static int db_error(const struct db *db, const char *doing, struct err *err)
{
    const int code = sqlite3_errcode(db->handle);

    return err_set(err,
                   code == SQLITE_FULL        ? ENOSPC
                   : code == SQLITE_BUSY      ? EBUSY
                   : code == SQLITE_INTERRUPT ? ETIMEDOUT
                                              : EIO,
                   "database '%s': cannot %s: %s", db->path, doing, sqlite3_errmsg(db->handle));
}

/* The schema's identity is its text: a changed schema can never be mistaken for the old one. */
static int schema_version(void)
{
    uint32_t h = 2166136261u;

    for (const char *c = schema_sql; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    return (int)(h & INT32_MAX);
}

static uint64_t now_ns(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int is_over(void *data)
{
    const struct db *db = data;

    return now_ns() > db->limit_ns;
}

void db_limit(struct db *db, unsigned ms)
{
    db->limit_ns = ms ? now_ns() + (uint64_t)ms * 1000000u : 0;
    sqlite3_progress_handler(db->handle, ms ? LIMIT_STEPS : 0, ms ? is_over : NULL, db);
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
    if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return db_error(db, "execute", err);
    return 0;
}

static int pragma_int(struct db *db, const char *sql, int *ret, struct err *err)
{
    sqlite3_stmt *s = NULL;

    if (sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) != SQLITE_OK)
        return db_error(db, "read", err);
    if (sqlite3_step(s) == SQLITE_ROW)
        *ret = sqlite3_column_int(s, 0);
    if (sqlite3_finalize(s) != SQLITE_OK)
        return db_error(db, "read", err);
    return 0;
}

static int make_schema(struct db *db, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    int r = db_exec(db, "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; BEGIN IMMEDIATE", err);

    if (r == 0)
        r = db_exec(db, schema_sql, err);
    if (r == 0)
        r = db_exec(db,
                    arena_printf(&a, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                                 (int)APPLICATION_ID, schema_version()),
                    err);
    db->fresh = r == 0;
    return r;
}

/* Throw everything away, in the way SQLite offers for it: other connections see an empty file. */
static int empty(struct db *db, struct err *err)
{
    int r;

    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_RESET_DATABASE, 1, 0);
    r = db_exec(db, "VACUUM", err);
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_RESET_DATABASE, 0, 0);
    return r;
}

static int check_schema(struct db *db, enum db_mode mode, struct err *err)
{
    int application = 0, version = 0, tables = 0, r;

    r = pragma_int(db, "SELECT count(*) FROM sqlite_master", &tables, err);
    if (r == 0)
        r = pragma_int(db, "PRAGMA application_id", &application, err);
    if (r == 0)
        r = pragma_int(db, "PRAGMA user_version", &version, err);
    if (r < 0)
        return r;
    if (tables && application != APPLICATION_ID)
        return err_set(err, EINVAL, "'%s' is a database, but not an index of stormlint", db->path);
    if (tables && version == schema_version())
        return 0;
    if (mode != DB_WRITE)
        return err_set(err, EINVAL,
                       "the index '%s' was made by another version; run 'stormlint scan' again",
                       db->path);
    if (tables && (r = empty(db, err)) < 0)
        return r;
    return make_schema(db, err);
}

/*
 * SQLite counts what it holds, with a lock around each allocation that all threads share. Nobody
 * asks it, and not to count it can be told only before anything else.
 */
static void count_nothing(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* `form` with the path in it, the characters escaped that mean something in a URI. */
static char *uri_of(const char *form, const char *path)
{
    CLEANUP(arena_release) struct arena a = {0};
    char *escaped = arena_alloc(&a, strlen(path) * 3 + 1), *to = escaped, *uri;

    for (; *path; path++)
        if (*path == '%' || *path == '?' || *path == '#')
            to += snprintf(to, 4, "%%%02x", (unsigned)(unsigned char)*path);
        else
            *to++ = *path;
    uri = sqlite3_mprintf(form, escaped);
    if (!uri)
        abort();
    return uri;
}

static int open_writable(struct db *db, int flags, struct err *err)
{
    if (sqlite3_open_v2(db->path, &db->handle, SQLITE_OPEN_NOMUTEX | flags, NULL) != SQLITE_OK)
        return db_error(db, "open", err);
    return 0;
}

/*
 * Read only: beside whoever writes, if its shared memory can be reached, else as a file that stays
 * as it is. Which of the two it is, only reading tells. Somebody who writes without sharing is
 * waited for: what he has half written must not be taken for a file that stays.
 */
static int open_readable(struct db *db, struct err *err)
{
    static const char *const forms[] = {"file:%s?mode=ro", "file:%s?immutable=1"};
    const char *const *form;
    int r = 0;

    for_each (form, forms) {
        char *uri = uri_of(*form, db->path);
        int tables;

        r = sqlite3_open_v2(uri, &db->handle,
                            SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
        sqlite3_free(uri);
        (void)sqlite3_busy_timeout(db->handle, BUSY_MS);
        if (r == SQLITE_OK &&
            pragma_int(db, "SELECT count(*) FROM sqlite_master", &tables, err) == 0)
            return 0;
        r = db_error(db, "open", err);
        (void)sqlite3_close(db->handle);
        db->handle = NULL;
        if (r == -EBUSY)
            break;
    }
    return r;
}

#define READ_IT "PRAGMA mmap_size = 1073741824; PRAGMA temp_store = MEMORY"

/* How a file is used, by its mode. Who only tries leaves its journal as it is. */
static const struct use {
    int flags; /* to open it with; 0: read only, see open_readable() */
    int busy_ms;
    const char *pragmas;
} uses[] = {
    [DB_READ] = {0, BUSY_MS, READ_IT},
    [DB_WRITE] = {SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, BUSY_MS,
                  "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                  "PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY;"
                  "PRAGMA wal_autocheckpoint = 4000"},
    [DB_TRY] = {SQLITE_OPEN_READWRITE, 0,
                "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY"},
    [DB_FOREIGN] = {0, BUSY_MS, READ_IT},
};

int db_open(const char *path, enum db_mode mode, struct db **ret_db, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct use *use = &uses[mode];
    const size_t len = strlen(path) + 1;
    CLEANUP(db_closep) struct db *db = calloc(1, sizeof(*db) + len);
    int r;

    if (!db)
        abort();
    memcpy(db->path, path, len);
    (void)pthread_once(&once, count_nothing);
    if (mode != DB_WRITE && access(path, R_OK) < 0)
        /* cppcheck-suppress memleak ; CLEANUP frees it */
        return err_set(err, errno, "%s'%s': %s%s", mode == DB_READ ? "index " : "", path,
                       strerror(errno),
                       mode == DB_READ && errno == ENOENT ? "; make it with 'stormlint scan'" : "");
    if ((r = use->flags ? open_writable(db, use->flags, err) : open_readable(db, err)) < 0)
        return r;
    (void)sqlite3_busy_timeout(db->handle, use->busy_ms);
    if (mode != DB_FOREIGN && (r = check_schema(db, mode, err)) < 0)
        return r;
    if ((r = db_exec(db, use->pragmas, err)) == -EBUSY)
        return err_set(err, EBUSY,
                       "'%s' is in use, and has no log to write to meanwhile, as what 'stormlint "
                       "merge' makes; end what uses it (stormlint serve?), or make it anew",
                       path);
    if (r < 0)
        return r;
    *ret_db = db;
    db = NULL;
    return 0;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        (void)sqlite3_finalize(db->slot[i].handle);
    (void)sqlite3_close(db->handle);
    free(db);
}

void db_closep(struct db **db)
{
    db_close(*db);
}

bool db_is_fresh(const struct db *db)
{
    return db->fresh;
}

int db_begin(struct db *db, struct err *err)
{
    const int r = db_exec(db, "BEGIN IMMEDIATE", err);

    db->in_transaction = r == 0;
    return r;
}

int db_commit(struct db *db, struct err *err)
{
    const int r = db_exec(db, "COMMIT", err);

    if (r == 0)
        db->in_transaction = false;
    return r;
}

void db_rollback(struct db *db)
{
    if (db->in_transaction)
        (void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    db->in_transaction = false;
}

struct stmt *db_prepare(struct db *db, const char *sql, struct err *err)
{
    size_t at = ((uintptr_t)sql >> 3) * 2654435761u;
    struct stmt *stmt;

    for (;; at++) {
        stmt = &db->slot[at % CACHE_SLOTS];
        if (stmt->sql == sql) {
            (void)sqlite3_reset(stmt->handle);
            return stmt;
        }
        if (!stmt->sql)
            break;
    }
    if (db->n_stmts >= CACHE_SLOTS / 2)
        abort(); /* texts are constants of the program: there are not that many */
    if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt->handle, NULL) !=
        SQLITE_OK) {
        (void)db_error(db, "prepare", err);
        return NULL;
    }
    db->n_stmts++;
    stmt->sql = sql;
    stmt->db = db;
    return stmt;
}

void stmt_bind_int(struct stmt *stmt, int at, int64_t value)
{
    (void)sqlite3_bind_int64(stmt->handle, at, value);
}

void stmt_bind_text(struct stmt *stmt, int at, const char *text)
{
    (void)sqlite3_bind_text(stmt->handle, at, text, -1, SQLITE_STATIC);
}

void stmt_bind_text_n(struct stmt *stmt, int at, const char *text, size_t len)
{
    (void)sqlite3_bind_text64(stmt->handle, at, text, len, SQLITE_STATIC, SQLITE_UTF8);
}

void stmt_bind_blob(struct stmt *stmt, int at, const void *bytes, size_t size)
{
    if (bytes)
        (void)sqlite3_bind_blob64(stmt->handle, at, bytes, size, SQLITE_STATIC);
    else
        (void)sqlite3_bind_null(stmt->handle, at);
}

void stmt_bind_null(struct stmt *stmt, int at)
{
    (void)sqlite3_bind_null(stmt->handle, at);
}

void stmt_bind_column(struct stmt *stmt, int at, struct stmt *from, int column)
{
    (void)sqlite3_bind_value(stmt->handle, at, sqlite3_column_value(from->handle, column));
}

int stmt_step(struct stmt *stmt, struct err *err)
{
    const int r = sqlite3_step(stmt->handle);

    if (r == SQLITE_ROW)
        return 1;
    if (sqlite3_reset(stmt->handle) == SQLITE_OK && r == SQLITE_DONE)
        return 0;
    return db_error(stmt->db, "execute", err);
}

int stmt_run(struct stmt *stmt, struct err *err)
{
    const int r = stmt_step(stmt, err);

    if (r > 0)
        stmt_reset(stmt);
    return r < 0 ? r : 0;
}

void stmt_reset(struct stmt *stmt)
{
    (void)sqlite3_reset(stmt->handle);
}

int64_t stmt_int(struct stmt *stmt, int column)
{
    return sqlite3_column_int64(stmt->handle, column);
}

const char *stmt_text(struct stmt *stmt, int column)
{
    return (const char *)sqlite3_column_text(stmt->handle, column);
}

const void *stmt_blob(struct stmt *stmt, int column, size_t *ret_size)
{
    const void *bytes = sqlite3_column_blob(stmt->handle, column);

    *ret_size = (size_t)sqlite3_column_bytes(stmt->handle, column);
    return bytes;
}

size_t stmt_size(struct stmt *stmt, int column)
{
    return (size_t)sqlite3_column_bytes(stmt->handle, column);
}

bool stmt_is_null(struct stmt *stmt, int column)
{
    return sqlite3_column_type(stmt->handle, column) == SQLITE_NULL;
}

int stmt_columns(const struct stmt *stmt)
{
    return sqlite3_column_count(stmt->handle);
}

int64_t db_last_id(const struct db *db)
{
    return sqlite3_last_insert_rowid(db->handle);
}
