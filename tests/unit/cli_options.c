/*
 * A setting over an index that holds much starts anew, and nobody sees it but the memory.
 */
#include "cli/options.h"

#include "loader/world_index.h"
#include "tests/disk_store.h"
#include "tests/unit/unit.h"

enum { MUCH = 32 * 1024 * 1024 };

struct fixture {
    struct disk_store *store;
    struct db *db;
    struct setting setting;
};

static int set_up(void **state)
{
    static struct fixture f;
    const struct options options = {0};
    struct world *world;
    struct err err;

    f.store = disk_store_new();
    (void)disk_store_fill(f.store);
    if (disk_store_index(f.store, &f.db, &err) < 0 ||
        world_index(f.db, WORLD_STARTS, &world, &err) < 0 ||
        setting_index(&options, world, &f.setting, &err) < 0)
        return -1;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    setting_release(&f->setting);
    db_close(f->db);
    disk_store_free(f->store);
    return 0;
}

static struct storm storm_of(struct fixture *f)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct options options = {0};
    const struct start start = options_start(&options, "/store/" DISK_PROG "/bin/prog");
    struct trace trace;
    struct err err;

    assert_int_equal(loader_run(f->setting.loader, &start, &arena, &trace, &err), 0);
    assert_int_not_equal(trace.storm.opens, 0);
    return trace.storm;
}

static void what_holds_much_starts_anew(void **state)
{
    struct fixture *f = *state;
    const struct storm before = storm_of(f);
    const size_t held = world_held(f->setting.world);
    struct storm after;
    struct err err;

    (void)arena_alloc(f->setting.world->arena, MUCH);
    assert_int_equal(setting_trim(&f->setting, &err), 0);
    assert_true(world_held(f->setting.world) < held);
    after = storm_of(f);
    assert_memory_equal(&after, &before, sizeof(after));
    assert_true(world_held(f->setting.world) <= held);
}

static void what_holds_little_stays(void **state)
{
    struct fixture *f = *state;
    struct err err;
    size_t held;

    (void)storm_of(f);
    held = world_held(f->setting.world);
    assert_int_equal(setting_trim(&f->setting, &err), 0);
    assert_int_equal(world_held(f->setting.world), held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_holds_much_starts_anew),
        cmocka_unit_test(what_holds_little_stays),
    };

    return cmocka_run_group_tests_name("settings", tests, set_up, tear_down);
}
