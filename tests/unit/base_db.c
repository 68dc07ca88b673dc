/*
 * The door to SQLite: schema, cache, transactions, and files that are not ours.
 */
#include "tests/unit/unit.h"

#include "base/db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/stormlint-db-XXXXXX";
static char path[sizeof(dir) + 16];

static int set_up(void **state)
{
    (void)state;
    memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
    if (!mkdtemp(dir))
        return -1;
    return snprintf(path, sizeof(path), "%s/index.db", dir) < 0;
}

static int tear_down(void **state)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    char name[sizeof(path) + 8];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", path, tails[i]);
        (void)unlink(name);
    }
    return rmdir(dir);
}

static const char PUT[] = "INSERT INTO meta VALUES (?, ?)";
static const char GET[] = "SELECT value FROM meta WHERE key = ?";

static int put(struct db *db, const char *key, int64_t value, struct err *err)
{
    struct stmt *s = db_prepare(db, PUT, err);

    assert_non_null(s);
    stmt_bind_text(s, 1, key);
    stmt_bind_int(s, 2, value);
    return stmt_run(s, err);
}

static int64_t get(struct db *db, const char *key)
{
    struct err err;
    struct stmt *s = db_prepare(db, GET, &err);
    int64_t value = -1;

    assert_non_null(s);
    stmt_bind_text(s, 1, key);
    if (stmt_step(s, &err) > 0)
        value = stmt_int(s, 0);
    stmt_reset(s);
    return value;
}

static void rows_survive(void **state)
{
    struct db *db;
    struct err err;

    (void)state;
    assert_int_equal(db_open(path, DB_WRITE, &db, &err), 0);
    assert_true(db_is_fresh(db));
    assert_int_equal(db_begin(db, &err), 0);
    assert_int_equal(put(db, "a", 1, &err), 0);
    assert_int_equal(db_commit(db, &err), 0);
    assert_int_equal(db_begin(db, &err), 0);
    assert_int_equal(put(db, "b", 2, &err), 0);
    db_rollback(db);
    db_close(db);

    assert_int_equal(db_open(path, DB_READ, &db, &err), 0);
    assert_false(db_is_fresh(db));
    assert_int_equal(get(db, "a"), 1);
    assert_int_equal(get(db, "b"), -1);
    assert_true(put(db, "c", 3, &err) < 0);
    db_close(db);
}

static void errors_name_the_file(void **state)
{
    struct db *db;
    struct err err;

    (void)state;
    assert_int_equal(db_open(path, DB_READ, &db, &err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(db_open(path, DB_WRITE, &db, &err), 0);
    assert_int_equal(put(db, "a", 1, &err), 0);
    assert_true(put(db, "a", 1, &err) < 0);
    assert_non_null(strstr(err.text, path));
    assert_null(db_prepare(db, "SELECT nonsense", &err));
    db_close(db);
}

static void another_schema_is_emptied(void **state)
{
    struct db *db;
    struct err err;

    (void)state;
    assert_int_equal(db_open(path, DB_WRITE, &db, &err), 0);
    assert_int_equal(put(db, "a", 1, &err), 0);
    assert_int_equal(db_exec(db, "PRAGMA user_version = 1", &err), 0);
    db_close(db);

    assert_int_equal(db_open(path, DB_READ, &db, &err), -EINVAL);
    assert_int_equal(db_open(path, DB_WRITE, &db, &err), 0);
    assert_true(db_is_fresh(db));
    assert_int_equal(get(db, "a"), -1);
    db_close(db);
}

/* Who only tries changes nothing about the file, and waits for nobody. */
static void trying_waits_for_nobody(void **state UNUSED)
{
    struct db *db, *other;
    struct err err;

    assert_int_equal(db_open("/nonexistent/index.db", DB_TRY, &db, &err), -ENOENT);
    assert_int_equal(db_open(path, DB_WRITE, &other, &err), 0);
    assert_int_equal(db_exec(other, "PRAGMA journal_mode = DELETE", &err), 0);
    assert_int_equal(db_open(path, DB_TRY, &db, &err), 0);
    assert_int_equal(put(db, "a", 1, &err), 0);
    db_close(db);

    assert_int_equal(db_begin(other, &err), 0);
    assert_int_equal(db_open(path, DB_TRY, &db, &err), 0);
    assert_int_equal(db_begin(db, &err), -EBUSY);
    db_close(db);
    db_rollback(other);
    assert_int_equal(get(other, "a"), 1);
    assert_int_equal(db_exec(other, "PRAGMA user_version = 1", &err), 0);
    db_close(other);
    assert_int_equal(db_open(path, DB_TRY, &db, &err), -EINVAL);
}

/* A statement without end is given up; the connection is good for others. */
static void statements_have_a_limit(void **state UNUSED)
{
    static const char ENDLESS[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                                  "SELECT max(i) FROM n";
    struct db *db;
    struct stmt *s;
    struct err err;

    assert_int_equal(db_open(path, DB_WRITE, &db, &err), 0);
    assert_int_equal(put(db, "generation", 7, &err), 0);
    db_limit(db, 50);
    s = db_prepare(db, ENDLESS, &err);
    assert_non_null(s);
    assert_int_equal(stmt_step(s, &err), -ETIMEDOUT);
    db_limit(db, 0);
    s = db_prepare(db, GET, &err);
    assert_non_null(s);
    stmt_bind_text(s, 1, "generation");
    assert_int_equal(stmt_step(s, &err), 1);
    assert_int_equal(stmt_int(s, 0), 7);
    stmt_reset(s);
    db_close(db);
}

static void others_files_are_left_alone(void **state)
{
    struct db *db;
    struct err err;
    FILE *file;

    (void)state;
    assert_int_equal(db_open(path, DB_WRITE, &db, &err), 0);
    assert_int_equal(db_exec(db, "PRAGMA application_id = 5", &err), 0);
    db_close(db);
    assert_int_equal(db_open(path, DB_WRITE, &db, &err), -EINVAL);
    assert_int_equal(db_open(path, DB_FOREIGN, &db, &err), 0);
    db_close(db);

    file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 1000; i++)
        (void)fputs("this is no database\n", file);
    (void)fclose(file);
    assert_true(db_open(path, DB_WRITE, &db, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_survive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_name_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_schema_is_emptied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trying_waits_for_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(statements_have_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_files_are_left_alone, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
