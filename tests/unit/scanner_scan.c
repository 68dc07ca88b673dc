/*
 * Scans of a small store: what gets into the index, and what a second scan leaves alone.
 */
#include "tests/unit/unit.h"

#include "base/str.h"
#include "scanner/index.h"
#include "scanner/scan.h"
#include "tests/disk_store.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct disk_store *store;

static int set_up(void **state)
{
    (void)state;
    store = disk_store_new();
    (void)disk_store_fill(store);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    disk_store_free(store);
    return 0;
}

static struct db *open_index(void)
{
    struct db *db = NULL;
    struct err err;

    assert_int_equal(db_open(store->db, DB_WRITE, &db, &err), 0);
    return db;
}

static struct scan_result scan(struct scan_options *more)
{
    struct scan_options options = more ? *more : (struct scan_options){0};
    CLEANUP(db_closep) struct db *db = open_index();
    struct scan_result result = {0};
    struct err err = {0};

    options.root = store->root;
    options.store = store->store;
    assert_int_equal(scan_run(db, &options, &result, &err), 0);
    return result;
}

static int64_t query(const char *sql)
{
    CLEANUP(db_closep) struct db *db = open_index();
    struct err err;
    struct stmt *s = db_prepare(db, sql, &err);
    int64_t value;

    assert_non_null(s);
    assert_int_equal(stmt_step(s, &err), 1);
    value = stmt_int(s, 0);
    stmt_reset(s);
    return value;
}

static void every_statement_prepares(void **state)
{
    CLEANUP(db_closep) struct db *db = open_index();
    struct err err;

    (void)state;
    for (const struct sql *sql = index_sql; sql->name; sql++) {
        assert_non_null(sql->text);
        assert_non_null(db_prepare(db, sql->text, &err));
        for (const struct sql *other = index_sql; other < sql; other++)
            assert_string_not_equal(sql->name, other->name);
    }
}

static void all_of_it_is_indexed(void **state)
{
    (void)state;
    for (unsigned readers = 0; readers < 3; readers++) {
        struct scan_options options = {.readers = readers};
        const struct scan_result r = scan(&options);

        assert_int_equal(r.packages, 7);
        assert_int_equal(r.scanned, 7);
        assert_int_equal(r.incomplete, 0);
        assert_false(r.registered);
        assert_int_equal(query("SELECT count(*) FROM object"), 8);
        assert_int_equal(query("SELECT count(*) FROM object WHERE interp IS NOT NULL"), 1);
        assert_int_equal(query("SELECT count(*) FROM ldso WHERE version = '2.40'"), 1);
        assert_int_equal(query("SELECT sum(macho) FROM package"), 1);
        assert_int_equal(query("SELECT count(*) FROM problem WHERE kind = 'malformed' "
                               "AND path = 'lib/broken.so'"),
                         1);
        assert_int_equal(query("SELECT count(*) FROM problem"), 1);
        assert_int_equal(unlink(store->db), 0);
    }
}

static void searchable_directories_are_kept(void **state)
{
    (void)state;
    (void)scan(NULL);
    assert_int_equal(query("SELECT count(*) FROM directory WHERE path = "
                           "'lib/glibc-hwcaps/x86-64-v3'"),
                     1);
    assert_int_equal(query("SELECT count(*) FROM directory WHERE path = 'share/empty'"), 1);
    assert_int_equal(query("SELECT count(*) FROM directory WHERE path LIKE 'share/doc%'"), 0);
}

static void references_follow_from_run_paths_and_links(void **state)
{
    (void)state;
    (void)scan(NULL);
    assert_int_equal(query("SELECT count(*) FROM reference r JOIN package p ON p.id = package "
                           "WHERE p.pname = 'prog'"),
                     3);
    assert_int_equal(query("SELECT count(*) FROM reference r JOIN package p ON p.id = package "
                           "JOIN package q ON q.id = reference "
                           "WHERE p.pname = 'link' AND q.pname = 'liba'"),
                     1);
}

static void packages_are_numbered_by_name(void **state)
{
    (void)state;
    (void)scan(NULL);
    assert_int_equal(query("SELECT count(*) FROM package p JOIN package q ON p.id < q.id "
                           "WHERE p.base > q.base"),
                     0);
}

static void views_answer(void **state)
{
    (void)state;
    (void)scan(NULL);
    assert_int_equal(query("SELECT count(*) FROM worst_offenders"), 0);
    assert_int_equal(query("SELECT count(*) FROM duplicate_sonames WHERE soname = 'libb.so.3'"), 1);
    assert_int_equal(query("SELECT count(*) FROM unresolved"), 0);
    assert_int_equal(query("SELECT count(*) FROM object_path WHERE path LIKE '%/bin/prog'"), 1);
}

static void nothing_new_is_nothing_read(void **state)
{
    struct scan_result r;

    (void)state;
    (void)scan(NULL);
    r = scan(NULL);
    assert_int_equal(r.scanned, 0);
    assert_int_equal(r.unchanged, 7);
    assert_int_equal(query("SELECT value FROM meta WHERE key = 'generation'"), 1);
}

static void changed_packages_are_read_again(void **state)
{
    struct scan_result r;

    (void)state;
    (void)scan(NULL);
    disk_store_file(store, DISK_LIBA "/lib/liba.so.2",
                    "no longer ELF, and long enough to be it all "
                    "the same: more than 64 bytes",
                    72);
    r = scan(NULL);
    assert_int_equal(r.scanned, 1);
    assert_int_equal(query("SELECT count(*) FROM object"), 7);
    assert_int_equal(query("SELECT objects FROM package WHERE pname = 'liba'"), 1);
    assert_int_equal(query("SELECT value FROM meta WHERE key = 'generation'"), 2);
}

static void removed_packages_are_gone(void **state)
{
    struct scan_result r;

    (void)state;
    (void)scan(NULL);
    disk_store_remove(store, DISK_LIBB);
    r = scan(NULL);
    assert_int_equal(r.gone, 1);
    assert_int_equal(query("SELECT count(*) FROM package WHERE state = 'gone'"), 1);
    assert_int_equal(query("SELECT count(*) FROM object"), 7);
    assert_int_equal(scan(NULL).gone, 0);
}

static void closures_follow_run_paths(void **state)
{
    static const char *const path[] = {"/store/" DISK_PROG "/bin/prog"};
    struct scan_options options = {.path = path, .n_paths = 1};
    struct scan_result r;

    (void)state;
    r = scan(&options);
    assert_int_equal(r.packages, 5); /* prog, liba, libb, libc, odd: its run path names it */
    r = scan(&options);
    assert_int_equal(r.packages, 5);
    assert_int_equal(r.unchanged, 5);
}

static void a_closure_file_is_taken_at_its_word(void **state)
{
    char *list = arena_printf(&store->arena, "%s/closure", store->root);
    struct scan_options options = {.closure = list};
    FILE *file = fopen(list, "w");

    (void)state;
    assert_non_null(file);
    (void)fputs("/store/" DISK_PROG "\n\n/store/" DISK_LIBB "\n", file);
    (void)fclose(file);
    assert_int_equal(scan(&options).packages, 2);
    assert_int_equal(query("SELECT count(*) FROM package"), 2);
}

static void paths_outside_are_refused(void **state)
{
    static const char *const path[] = {"/elsewhere/x"};
    struct scan_options options = {
        .root = store->root, .store = store->store, .path = path, .n_paths = 1};
    CLEANUP(db_closep) struct db *db = open_index();
    struct scan_result result;
    struct err err;

    (void)state;
    assert_int_equal(scan_run(db, &options, &result, &err), -EINVAL);
    assert_non_null(strstr(err.text, "/elsewhere/x"));
}

static void unread_makes_incomplete(void **state)
{
    struct str deep = {.arena = &store->arena};

    (void)state;
    str_add(&deep, DISK_ODD);
    for (int i = 0; i < 250; i++)
        str_add(&deep, "/d");
    disk_store_dir(store, deep.text);
    assert_int_equal(scan(NULL).incomplete, 1);
    assert_int_equal(query("SELECT count(*) FROM problem WHERE kind = 'unread'"), 1);
    assert_int_equal(query("SELECT count(*) FROM package WHERE state = 'incomplete'"), 1);
    assert_int_equal(scan(NULL).incomplete, 1); /* it is tried again */
}

static void hard_links_are_known(void **state)
{
    (void)state;
    disk_store_hard_link(store, DISK_ODD "/lib/libb2.so", DISK_LIBB "/lib/libb.so.3");
    (void)scan(NULL);
    assert_int_equal(query("SELECT count(*) FROM inode"), 2);
    assert_int_equal(query("SELECT count(DISTINCT ino) FROM inode"), 1);
}

static void die(struct progress *progress, const char *label, uint64_t done, uint64_t total)
{
    (void)progress;
    (void)label;
    (void)total;
    if (done == 4)
        (void)kill(getpid(), SIGKILL);
}

static void a_killed_scan_leaves_an_index(void **state)
{
    struct progress progress = {.update = die};
    struct scan_options options = {
        .root = store->root, .store = store->store, .progress = &progress};
    struct scan_result r;
    struct err err;
    struct db *db;
    int status;
    pid_t pid;

    (void)state;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (db_open(store->db, DB_WRITE, &db, &err) == 0)
            (void)!scan_run(db, &options, &r, &err);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    r = scan(NULL);
    assert_int_equal(r.scanned + r.unchanged, 7);
    assert_int_equal(query("SELECT count(*) FROM object"), 8);
    assert_int_equal(query("SELECT count(*) FROM package WHERE state = 'scanned'"), 7);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_statement_prepares),
        TEST(all_of_it_is_indexed),
        TEST(searchable_directories_are_kept),
        TEST(references_follow_from_run_paths_and_links),
        TEST(packages_are_numbered_by_name),
        TEST(views_answer),
        TEST(nothing_new_is_nothing_read),
        TEST(changed_packages_are_read_again),
        TEST(removed_packages_are_gone),
        TEST(closures_follow_run_paths),
        TEST(a_closure_file_is_taken_at_its_word),
        TEST(paths_outside_are_refused),
        TEST(unread_makes_incomplete),
        TEST(hard_links_are_known),
        TEST(a_killed_scan_leaves_an_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
