/*
 * Stores with a database: what is registered is identified by its hash, referred to as it says, and
 * everything else is left out.
 */
#include "tests/unit/unit.h"

#include "base/db.h"
#include "scanner/scan.h"
#include "tests/disk_store.h"

#include <stdio.h>
#include <sys/stat.h>

static struct disk_store *store;
static char nix_path[256];

static struct db *open_db(const char *path)
{
    struct db *db = NULL;
    struct err err;

    assert_int_equal(db_open(path, DB_WRITE, &db, &err), 0);
    return db;
}

static void run(struct db *db, const char *sql)
{
    struct err err = {0};

    if (db_exec(db, sql, &err) < 0)
        fail_msg("%s", err.text);
}

/* A file with Nix's tables, beside our own that nobody looks at. */
static void make_nix_db(void)
{
    static const char *const dirs[] = {"/var", "/var/nix", "/var/nix/db"};
    char path[256];
    struct db *db;

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", store->root, dirs[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    (void)snprintf(nix_path, sizeof(nix_path), "%s/var/nix/db/db.sqlite", store->root);
    db = open_db(nix_path);
    run(db, "CREATE TABLE ValidPaths (id integer primary key, path text, hash text, "
            "registrationTime integer, deriver text, narSize integer)");
    run(db, "CREATE TABLE Refs (referrer integer, reference integer)");
    run(db, "INSERT INTO ValidPaths VALUES "
            "(1, '/store/" DISK_LIBB "', 'sha256:bb', 0, NULL, 10),"
            "(2, '/store/" DISK_LIBA "', 'sha256:aa', 0, NULL, 30),"
            "(3, '/store/" DISK_PROG "', 'sha256:cc', 0, '/store/" DISK_HASH "9-prog.drv', 20),"
            "(4, '/store/" DISK_HASH "9-prog.drv', 'sha256:dd', 0, NULL, 1)");
    run(db, "INSERT INTO Refs VALUES (3, 2), (3, 3), (2, 1), (4, 1)");
    db_close(db);
}

static int set_up(void **state)
{
    (void)state;
    store = disk_store_new();
    (void)disk_store_fill(store);
    make_nix_db();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    disk_store_free(store);
    return 0;
}

static struct scan_result scan(const char *path)
{
    const struct scan_options options = {
        .root = store->root, .store = store->store, .path = &path, .n_paths = path != NULL};
    CLEANUP(db_closep) struct db *db = open_db(store->db);
    struct scan_result result = {0};
    struct err err = {0};

    if (scan_run(db, &options, &result, &err) < 0)
        fail_msg("%s", err.text);
    return result;
}

static int64_t query(const char *sql)
{
    CLEANUP(db_closep) struct db *db = open_db(store->db);
    struct err err;
    struct stmt *s = db_prepare(db, sql, &err);
    int64_t value;

    assert_non_null(s);
    assert_int_equal(stmt_step(s, &err), 1);
    value = stmt_int(s, 0);
    stmt_reset(s);
    return value;
}

static void change_nix_db(const char *sql)
{
    struct db *db = open_db(nix_path);

    run(db, sql);
    db_close(db);
}

static void only_what_is_registered(void **state)
{
    const struct scan_result r = scan(NULL);

    (void)state;
    assert_true(r.registered);
    assert_string_equal(r.references, "database");
    assert_int_equal(r.scanned, 3);
    assert_int_equal(r.unregistered, 4);
    assert_int_equal(query("SELECT count(*) FROM reference"), 3);
    assert_int_equal(query("SELECT nar_size FROM package WHERE pname = 'liba'"), 30);
    assert_int_equal(query("SELECT whole FROM store"), 0);
}

static void contents_do_not_count_but_hashes(void **state)
{
    struct scan_result r;

    (void)state;
    (void)scan(NULL);
    disk_store_file(store, DISK_LIBB "/lib/libb.so.3", "changed behind Nix's back", 25);
    r = scan(NULL);
    assert_int_equal(r.scanned, 0);
    assert_int_equal(r.unchanged, 3);
    change_nix_db("UPDATE ValidPaths SET hash = 'sha256:b2' WHERE id = 1");
    r = scan(NULL);
    assert_int_equal(r.scanned, 1);
    assert_int_equal(query("SELECT objects FROM package WHERE pname = 'libb'"), 0);
}

static void unregistered_means_gone(void **state)
{
    (void)state;
    (void)scan(NULL);
    change_nix_db("DELETE FROM ValidPaths WHERE id = 3");
    assert_int_equal(scan(NULL).gone, 1);
    assert_int_equal(query("SELECT count(*) FROM object WHERE interp IS NOT NULL"), 0);
}

static void closures_follow_the_database(void **state)
{
    (void)state;
    assert_int_equal(scan("/store/" DISK_LIBA "/lib/liba.so.2").packages, 2);
    assert_int_equal(scan("/store/" DISK_PROG).packages, 3);
    assert_int_equal(query("SELECT count(*) FROM reference"), 3);
}

/* A package that nobody registers, asked for by name: its own content tells what it needs. */
static void unregistered_closures_go_on_by_content(void **state)
{
    struct scan_result r;

    (void)state;
    r = scan("/store/" DISK_LINK);
    assert_int_equal(r.packages, 3); /* itself, liba that it links to, libb by the database */
    assert_int_equal(query("SELECT count(*) FROM package WHERE pname = 'libb'"), 1);
    r = scan(NULL);
    assert_int_equal(r.gone, 0);
    assert_int_equal(r.packages, 4); /* what was asked for stays */
}

/* With --root the database may be anybody's. */
static void nonsense_leads_nowhere(void **state)
{
    (void)state;
    change_nix_db("INSERT INTO ValidPaths VALUES "
                  "(5, '/store/x/../..', 'sha256:ee', 0, NULL, 1), (6, '/store/..', NULL, 0, 0, 1),"
                  "(7, '/store/', NULL, 0, 0, 1), (-4096, '/store/" DISK_HASH
                  "8-low', '', 0, 0, 1)");
    change_nix_db("INSERT INTO Refs VALUES (3, 5), (3, 6), (3, 7), (3, -4096), (-4096, 3)");
    assert_int_equal(scan("/store/" DISK_PROG).packages, 3);
    assert_int_equal(query("SELECT count(*) FROM package"), 3);
    assert_int_equal(scan(NULL).packages, 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_what_is_registered),
        TEST(contents_do_not_count_but_hashes),
        TEST(unregistered_means_gone),
        TEST(closures_follow_the_database),
        TEST(unregistered_closures_go_on_by_content),
        TEST(nonsense_leads_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
