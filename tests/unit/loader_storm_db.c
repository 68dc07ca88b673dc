/*
 * Storms kept in an index: what is remembered is recalled, and nothing stale is.
 */
#include "loader/storm.h"
#include "scanner/index.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An index of two programs and a library, in a scratch file. */
struct fixture {
    char path[64];
    struct db *db;
    struct arena arena;
};

static const char facts[] =
    "INSERT INTO store (id, path, root) VALUES (1, '/s', '/');"
    "INSERT INTO name (id, text) VALUES (1, '/s/g/ld.so');"
    "INSERT INTO package (id, store, base, name, pname, version, output, state, kind)"
    " VALUES (1, 1, 'p-1', 'p-1', 'p', '1', 'out', 'scanned', 'dir');"
    "INSERT INTO directory (id, package, path, first_object, objects, entries, packed, changed)"
    " VALUES (1, 1, 'bin', 1, 3, x'', x'', 0);";

/* Columns that a row must have and that no test looks at: empty lists and zeros. */
static const char other_columns[] =
    "SELECT group_concat(name), group_concat(iif(type = 'TEXT', '''[]''', '0')) "
    "FROM pragma_table_info('object') "
    "WHERE \"notnull\" AND name NOT IN ('id', 'directory', 'name')";

static void add_object(struct fixture *f, int id, const char *name, bool program)
{
    struct err err = {0};
    struct stmt *s = db_prepare(f->db, other_columns, &err);
    const char *sql;

    assert_non_null(s);
    assert_int_equal(stmt_step(s, &err), 1);
    sql = arena_printf(&f->arena,
                       "INSERT INTO object (id, directory, name, interp, %s) "
                       "VALUES (%d, 1, '%s', %s, %s)",
                       stmt_text(s, 0), id, name, program ? "1" : "NULL", stmt_text(s, 1));
    stmt_reset(s);
    assert_int_equal(db_exec(f->db, sql, &err), 0);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct err err = {0};
    int fd;

    assert_non_null(f);
    strcpy(f->path, "/tmp/stormlint-unit.XXXXXX");
    fd = mkstemp(f->path);
    assert_true(fd >= 0);
    close(fd);
    unlink(f->path);
    assert_int_equal(db_open(f->path, DB_WRITE, &f->db, &err), 0);
    assert_int_equal(db_exec(f->db, facts, &err), 0);
    add_object(f, 1, "first", true);
    add_object(f, 2, "lib.so", false);
    add_object(f, 3, "second", true);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    const char *const *suffix;
    struct fixture *f = *state;
    char path[80];

    db_close(f->db);
    for_each (suffix, suffixes) {
        (void)snprintf(path, sizeof(path), "%s%s", f->path, *suffix);
        unlink(path);
    }
    arena_release(&f->arena);
    free(f);
    return 0;
}

static const struct storm_row rows[] = {
    {.program = "/s/p-1/bin/first",
     .storm = {.opens = 1,
               .failed_opens = 2,
               .stats = 3,
               .failed_stats = 4,
               .others = 5,
               .failed_others = 6,
               .objects = 7,
               .directories = 8},
     .dlopen = {.opens = 9,
                .failed_opens = 10,
                .stats = 11,
                .failed_stats = 12,
                .objects = 13,
                .directories = 14},
     .exit_text = "missing: libx.so",
     .exit = EXIT_MISSING,
     .assumed = true},
    {.program = "/s/p-1/bin/second", .exit_text = "ok"},
};

static struct storm_key key_of(struct fixture *f, const char *scenario)
{
    struct storm_key key = {.cpu = "x86-64-v3", .scenario = scenario};
    struct err err;

    assert_int_equal(index_generation(f->db, &key.generation, &err), 0);
    return key;
}

static size_t recall(struct fixture *f, const struct storm_key *key, struct storm_row **ret_row)
{
    struct err err;
    size_t n;

    assert_int_equal(storm_recall(f->db, key, &f->arena, ret_row, &n, &err), 0);
    return n;
}

static void remember(struct fixture *f, const struct storm_key *key)
{
    struct indexed_program *program;
    struct err err = {0};
    size_t n;

    assert_int_equal(storm_programs(f->db, &f->arena, &program, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_string_equal(program[1].path, "/s/p-1/bin/second");
    assert_int_equal(storm_remember(f->db, key, program, rows, n, &err), 0);
}

static void every_sql_text_prepares(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    for (const char *const *sql = storm_sql; *sql; sql++)
        assert_non_null(db_prepare(f->db, *sql, &err));
}

static void what_is_remembered_is_recalled(void **state)
{
    struct fixture *f = *state;
    const struct storm_key key = key_of(f, "");
    struct storm_row *row;

    assert_int_equal(recall(f, &key, &row), 0);
    remember(f, &key);
    remember(f, &key);
    assert_int_equal(recall(f, &key, &row), 2);
    assert_string_equal(row[0].program, rows[0].program);
    assert_memory_equal(&row[0].storm, &rows[0].storm, sizeof(row[0].storm));
    assert_memory_equal(&row[0].dlopen, &rows[0].dlopen, sizeof(row[0].dlopen));
    assert_string_equal(row[0].exit_text, rows[0].exit_text);
    assert_int_equal(row[0].exit, EXIT_MISSING);
    assert_true(row[0].assumed);
    assert_int_equal(row[1].exit, EXIT_OK);
}

static void another_scenario_is_not_known(void **state)
{
    struct fixture *f = *state;
    const struct storm_key plain = key_of(f, ""), other = key_of(f, "LD_LIBRARY_PATH=/x\n");
    struct storm_row *row;

    remember(f, &plain);
    assert_int_equal(recall(f, &other, &row), 0);
}

static void a_changed_index_forgets(void **state)
{
    struct fixture *f = *state;
    const struct storm_key old = key_of(f, "");
    struct storm_row *row;
    struct storm_key now;
    struct err err;

    remember(f, &old);
    assert_int_equal(db_exec(f->db,
                             "INSERT INTO meta VALUES ('generation', 1) "
                             "ON CONFLICT DO UPDATE SET value = value + 1",
                             &err),
                     0);
    now = key_of(f, "");
    assert_int_not_equal(old.generation, now.generation);
    assert_int_equal(recall(f, &now, &row), 0);
    remember(f, &old); /* computed from what is no more: not kept */
    assert_int_equal(recall(f, &now, &row), 0);
}

static void all_or_nothing(void **state)
{
    struct fixture *f = *state;
    const struct storm_key key = key_of(f, "");
    struct storm_row *row;

    remember(f, &key);
    add_object(f, 4, "third", true);
    assert_int_equal(recall(f, &key, &row), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_sql_text_prepares, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_remembered_is_recalled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_scenario_is_not_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_index_forgets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_or_nothing, set_up, tear_down),
    };

    return UNIT_RUN(tests);
}
