/*
 * Linting an index: what is forgotten on the way changes nothing but the memory.
 */
#include "linter/lint.h"
#include "linter/format.h"

#include "loader/world_index.h"
#include "tests/disk_store.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MUCH = 32 * 1024 * 1024 };

struct fixture {
    struct disk_store *store;
    struct db *db;
    struct world *world;
    struct cpu cpu;
};

static int set_up(void **state)
{
    static struct fixture f;
    struct err err;

    f.store = disk_store_new();
    (void)disk_store_fill(f.store);
    if (disk_store_index(f.store, &f.db, &err) < 0 ||
        world_index(f.db, WORLD_EVERYTHING, &f.world, &err) < 0 ||
        cpu_find("x86-64-v3", &f.cpu, &err) < 0)
        return -1;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    world_close(f->world);
    db_close(f->db);
    disk_store_free(f->store);
    return 0;
}

/* Everything that was said, as text. */
static const char *told(const struct lint_result *result, struct arena *arena)
{
    const struct lint_report report = {.result = result, .cpu = "x86-64-v3", .arena = arena};
    const char *copy;
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    struct err err;

    assert_int_equal(format_json(&report, file, &err), 0);
    (void)fclose(file);
    copy = arena_strdup(arena, text);
    free(text);
    return copy;
}

/* After each object the world holds much, or not. */
struct filling {
    struct progress progress;
    struct closure *closure;
    bool fill;
};

static void fill(struct progress *progress, const char *label UNUSED, uint64_t done UNUSED,
                 uint64_t total UNUSED)
{
    const struct filling *filling = (const struct filling *)progress;

    if (filling->fill)
        (void)arena_alloc(filling->closure->world->arena, MUCH);
}

/* What is found, and in how many worlds. */
static const char *lint(struct fixture *f, bool filled, struct arena *arena, uint32_t *ret_worlds,
                        size_t *ret_objects)
{
    const struct lint_scope scope = {0};
    struct closure closure;
    struct filling filling = {{.update = fill}, &closure, filled};
    const struct lint_options options = {.cpu = &f->cpu, .progress = &filling.progress};
    struct lint_result result;
    const char *text;
    struct err err;

    closure_init(&closure, f->world);
    assert_int_equal(closure_index(&closure, f->db, &scope, &err), 0);
    assert_int_equal(lint_run(&closure, &options, arena, &result, &err), 0);
    text = told(&result, arena);
    *ret_worlds = closure.generation;
    *ret_objects = closure.n_objects;
    closure_release(&closure);
    return text;
}

static void what_is_forgotten_is_found_all_the_same(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    uint32_t worlds;
    size_t n_objects;
    const char *kept = lint(*state, false, &arena, &worlds, &n_objects);
    const char *forgotten;

    assert_int_equal(worlds, 1);
    assert_non_null(strstr(kept, "\"code\": \"R"));
    forgotten = lint(*state, true, &arena, &worlds, &n_objects);
    assert_true(n_objects > 3 && worlds == 1 + 2 * n_objects); /* two rounds */
    assert_string_equal(forgotten, kept);
}

static void objects_are_known_again(void **state)
{
    struct fixture *f = *state;
    const struct lint_scope scope = {0};
    const struct node *outside;
    struct closure c;
    struct lint_object *o, *other;
    struct err err;

    closure_init(&c, f->world);
    assert_int_equal(closure_index(&c, f->db, &scope, &err), 0);
    o = c.object[0];
    closure_look(&c, o);
    assert_ptr_equal(closure_object_of(&c, o->node), o);
    outside = world_walk(c.world, NULL, "/store/" DISK_ODD).node;
    assert_non_null(outside);
    assert_null(closure_object_of(&c, outside));
    other = closure_any_object(&c, outside);
    assert_true(other->outside);
    assert_null(closure_object_of(&c, outside));

    assert_int_equal(closure_forget(&c, &err), 0);
    assert_ptr_equal(closure_object_of(&c, world_walk(c.world, NULL, o->path).node), o);
    outside = world_walk(c.world, NULL, "/store/" DISK_ODD).node;
    assert_ptr_equal(closure_any_object(&c, outside), other);
    closure_release(&c);
}

/* Says how far it is until it is to end. */
struct ending {
    struct progress progress;
    bool stop;
    uint64_t done, last;
};

static void end_soon(struct progress *progress, const char *label UNUSED, uint64_t done,
                     uint64_t total UNUSED)
{
    struct ending *ending = (struct ending *)progress;

    ending->done++;
    ending->stop = done == ending->last;
}

static void who_is_to_end_ends(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct fixture *f = *state;
    struct ending ending = {.progress = {.update = end_soon, .stop = &ending.stop}, .last = 2};
    const struct lint_scope scope = {.progress = &ending.progress};
    const struct lint_options options = {.cpu = &f->cpu, .progress = &ending.progress};
    struct lint_result result;
    struct closure closure;
    struct err err;

    closure_init(&closure, f->world);
    assert_int_equal(closure_index(&closure, f->db, &scope, &err), 0);
    assert_int_equal(lint_run(&closure, &options, &arena, &result, &err), -ECANCELED);
    assert_int_equal(ending.done, 2);
    closure_release(&closure);

    closure_init(&closure, f->world);
    assert_true(ending.stop);
    assert_int_equal(closure_index(&closure, f->db, &scope, &err), -ECANCELED);
    closure_release(&closure);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_forgotten_is_found_all_the_same),
        cmocka_unit_test(objects_are_known_again),
        cmocka_unit_test(who_is_to_end_ends),
    };

    return cmocka_run_group_tests_name("lint", tests, set_up, tear_down);
}
