/*
 * Trees that are small and ask for endless work: a prediction ends all the same, and says so.
 */
#include "base/str.h"
#include "loader/token.h"
#include "tests/ldso_name.h"
#include "tests/scene.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum { DIRECTORIES = 1500, NAMES = 1200, CHOICES = 11 };

/* One empty directory, spelled in many ways, and then the one that has everything. */
static const char *long_run_path(struct scene *s)
{
    struct str path = {.arena = s->arena};

    tree_add(&s->tree, ENTRY_DIR, "/a");
    tree_add(&s->tree, ENTRY_DIR, "/b");
    for (int i = 0; i < DIRECTORIES; i++) {
        for (int bit = 0; bit < CHOICES; bit++)
            str_add(&path, i >> bit & 1 ? "/a/.." : "/b/..");
        str_add(&path, "/a:");
    }
    str_add(&path, "/d");
    return path.text;
}

/* Many names of one file, all of them needed. */
static void need_many_names(struct scene *s, const char *run_path)
{
    struct elf_dyn *dynamic = arena_calloc(s->arena, NAMES + 1, sizeof(*dynamic));

    scene_library(s, "/file.so");
    for (int i = 0; i < NAMES; i++) {
        const char *name = arena_printf(s->arena, "lib%d.so", i);

        tree_add_link(&s->tree, arena_printf(s->arena, "/d/%s", name), "/file.so");
        dynamic[i] = (struct elf_dyn){DT_NEEDED, name, 0};
    }
    dynamic[NAMES] = (struct elf_dyn){DT_RUNPATH, run_path, 0};
    s->program.dynamic = dynamic;
    s->program.n_dynamic = NAMES + 1;
}

/* Only totals are kept: a million calls need no memory. */
static struct trace start(struct scene *s, const char *loader_name)
{
    const struct start start = {.program = "/prog"};
    struct loader *loader;
    struct trace trace;
    struct ldso ldso;
    struct cpu cpu;
    struct err err;
    bool intel;

    assert_int_equal(ldso_by_name(s->arena, loader_name, scene_interp, &ldso, &intel, &err), 0);
    assert_int_equal(cpu_find("x86-64-v1", &cpu, &err), 0);
    scene_close(s);
    s->world = tree_world(&s->tree, &ldso, 0);
    loader = loader_new(s->world, &cpu, "/", false);
    assert_int_equal(loader_run(loader, &start, s->arena, &trace, &err), 0);
    loader_free(loader);
    return trace;
}

static void many_names_in_many_directories(void **state UNUSED)
{
    static const char *const loaders[] = {"glibc-2.36-debian", "musl-1.2.5"};
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;
    const char *const *loader;

    scene_open(&s, &arena, NULL);
    need_many_names(&s, long_run_path(&s));
    for_each (loader, loaders) {
        const struct trace trace = start(&s, *loader);

        assert_int_equal(trace.exit, EXIT_TOO_LARGE);
        assert_string_equal(trace.exit_text,
                            "too large: it is not predicted beyond 262144 calls and requests, or "
                            "128 MiB of paths");
        assert_in_range(trace.storm.opens + trace.storm.stats, 1 << 17, (1 << 18) + 16);
    }
}

/* Directories that are not there cost one call each, and time for every name. */
static void many_names_past_absent_directories(void **state UNUSED)
{
    enum { ABSENT = 30000 };
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;
    struct str path = {.arena = &arena};
    struct trace trace;

    scene_open(&s, &arena, NULL);
    for (int i = 0; i < ABSENT; i++)
        str_printf(&path, "/n/%d:", i);
    str_add(&path, "/d");
    need_many_names(&s, path.text);
    trace = start(&s, "glibc-2.41-debian");
    assert_int_equal(trace.exit, EXIT_TOO_LARGE);
    assert_in_range(trace.storm.opens + trace.storm.stats, 2 * ABSENT, 8 * ABSENT);
}

/* Few directories, each with a name that is as long as they can be. */
static void many_names_in_long_directories(void **state UNUSED)
{
    enum { LONG = 4000, FEW = 200 };
    static const char *const loaders[] = {"glibc-2.36-debian", "musl-1.2.5"};
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;
    struct str path = {.arena = &arena};
    const char *const *loader;

    scene_open(&s, &arena, NULL);
    tree_add(&s.tree, ENTRY_DIR, "/a");
    for (int i = 0; i < FEW; i++) {
        str_add(&path, "/a");
        for (int k = 0; k < LONG / 2 - i; k++)
            str_add(&path, "/.");
        str_add(&path, ":");
    }
    str_add(&path, "/d");
    need_many_names(&s, path.text);
    for_each (loader, loaders) {
        const struct trace trace = start(&s, *loader);

        assert_int_equal(trace.exit, EXIT_TOO_LARGE);
        assert_in_range(trace.storm.opens, 1, 128 * 1024 * 1024 / LONG * 2);
    }
}

/* A path of many $ORIGIN grows no further than system calls take it. */
static void an_origin_many_times(void **state UNUSED)
{
    enum { MANY = 20000 };
    CLEANUP(arena_release) struct arena arena = {0};
    const char *origin = memset(arena_calloc(&arena, PATH_MAX, 1), 'o', PATH_MAX - 1);
    const struct tokens tokens = {.origin = origin};
    struct str text = {.arena = &arena};

    for (int i = 0; i < MANY; i++)
        str_add(&text, "$ORIGIN");
    assert_in_range(strlen(token_expand(&arena, text.text, &tokens)), PATH_MAX, 3 * PATH_MAX);
}

/* Links that lead to each other by long ways: each is followed once, however a path is spelled. */
static void links_that_are_long(void **state UNUSED)
{
    enum { LINKS = 39, WAY = 1500, SPELLINGS = 1000 };
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;
    CLEANUP(world_closep) struct world *overlay = NULL;
    struct str way = {.arena = &arena}, path = {.arena = &arena};
    struct err err;

    scene_open(&s, &arena, NULL);
    tree_add(&s.tree, ENTRY_DIR, "/l/l39");
    for (int i = 0; i < WAY; i++)
        str_add(&way, "./");
    for (int i = 0; i < LINKS; i++)
        tree_add_link(&s.tree, arena_printf(&arena, "/l/l%d", i),
                      arena_printf(&arena, "%sl%d", way.text, i + 1));
    tree_add_link(&s.tree, "/l/round", arena_printf(&arena, "%sround", way.text));
    tree_add_link(&s.tree, "/l/one", "l0");
    tree_add_link(&s.tree, "/l/two", "one");
    s.world = tree_world(&s.tree, NULL, 0);
    for (int i = 0; i < SPELLINGS; i++) {
        str_add(&path, "/");
        assert_int_equal(world_walk(s.world, NULL, arena_printf(&arena, "%sl/l0", path.text)).error,
                         0);
        assert_int_equal(
            world_walk(s.world, NULL, arena_printf(&arena, "%sl/one/../round", path.text)).error,
            ELOOP);
    }
    assert_in_range(s.world->n_steps, LINKS * WAY, 5 * LINKS * WAY);
    /* forty on one path, not one more, whatever is known */
    assert_int_equal(world_walk(s.world, NULL, "/l/one").error, 0);
    assert_int_equal(world_walk(s.world, NULL, "/l/two").error, ELOOP);
    assert_int_equal(world_walk(s.world, NULL, "/l/l0/../l37").error, ELOOP);
    assert_int_equal(world_walk(s.world, NULL, "/l/l38/../l0").error, 0);
    /* what is laid over leads elsewhere */
    overlay = world_overlay(s.world);
    assert_int_equal(world_walk(overlay, NULL, "/l/l0").error, 0);
    assert_int_equal(overlay_link(overlay, "/l/l7", "nowhere", &err), 0);
    assert_int_equal(world_walk(overlay, NULL, "/l/l0").error, ENOENT);
    assert_int_equal(world_walk(s.world, NULL, "/l/l0").error, 0);
}

/* What is only heavy stays well below. */
static void many_names_in_one(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, NULL);
    need_many_names(&s, "/d");
    assert_int_equal(start(&s, "glibc-2.36-debian").exit, EXIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_names_in_many_directories),
        cmocka_unit_test(many_names_past_absent_directories),
        cmocka_unit_test(many_names_in_long_directories),
        cmocka_unit_test(an_origin_many_times),
        cmocka_unit_test(links_that_are_long),
        cmocka_unit_test(many_names_in_one),
    };

    return UNIT_RUN(tests);
}
