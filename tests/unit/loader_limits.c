/*
 * Trees that are small and ask for endless work: a prediction ends all the same, and says so.
 */
#include "base/str.h"
#include "tests/ldso_name.h"
#include "tests/scene.h"
#include "tests/unit/unit.h"

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
                            "too large: it is not predicted beyond 1048576 calls and requests");
        assert_in_range(trace.storm.opens + trace.storm.stats, 1 << 19, (1 << 20) + 16);
    }
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
        cmocka_unit_test(many_names_in_one),
    };

    return UNIT_RUN(tests);
}
