/*
 * What is heavy of a snapshot ends soon when the service is to, and is made another time.
 */
#include "server/directory.h"
#include "server/index_audit.h"
#include "tests/disk_store.h"
#include "tests/unit/unit.h"

#include <errno.h>

struct fixture {
    struct disk_store *store;
    struct snapshot *snap;
};

static int set_up(void **state)
{
    static struct fixture f;
    static const bool stop;
    struct db *db = NULL;
    struct err err;
    int r;

    f.store = disk_store_new();
    (void)disk_store_fill(f.store);
    r = disk_store_index(f.store, &db, &err);
    db_close(db);
    if (r < 0 ||
        snapshot_make(f.store->db, "x86-64-v3", policy_default(), &stop, &f.snap, &err) < 0)
        return -1;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    snapshot_unref(f->snap);
    disk_store_free(f->store);
    return 0;
}

static void audits_end(void **state)
{
    struct snapshot *snap = ((struct fixture *)*state)->snap;
    const struct audit *audit;
    bool quit = true;
    struct err err;

    snap->quit = &quit;
    assert_int_equal(snapshot_audit(snap, &audit, &err), -EAGAIN);
    assert_null(snap->audit);
    quit = false;
    assert_int_equal(snapshot_audit(snap, &audit, &err), 0);
    assert_int_equal(audit->n_programs, snap->n_programs);
    assert_string_equal(audit->cpu, "x86-64-v3");
    assert_true(audit->n_findings > 0);
    for (size_t i = 0; i < audit->n_packages; i++)
        assert_true(*audit->package[i].key && *audit->package[i].path);
    for (size_t i = 0; i < audit->n_findings; i++)
        assert_true(*audit->finding[i].identity && *audit->finding[i].message &&
                    *audit->finding[i].path && *audit->finding[i].rule);
    snap->quit = NULL;
}

static void directories_end(void **state)
{
    struct snapshot *snap = ((struct fixture *)*state)->snap;
    struct view *view = snapshot_take(snap);
    const struct directories *all;
    bool quit = true;
    struct err err;

    snap->quit = &quit;
    assert_non_null(view);
    assert_int_equal(directories_all(snap, view, &all, &err), -EAGAIN);
    assert_null(snap->directories);
    quit = false;
    assert_int_equal(directories_all(snap, view, &all, &err), 0);
    assert_true(all->n > 0);
    snapshot_give(snap, view, false);
    snap->quit = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(audits_end),
        cmocka_unit_test(directories_end),
    };

    return cmocka_run_group_tests_name("heavy", tests, set_up, tear_down);
}
