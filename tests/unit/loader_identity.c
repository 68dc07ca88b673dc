/*
 * One file under several names (docs/loader.md, section 3). Which calls are made hardly depends on
 * it, what is in memory afterwards does.
 */
#include "tests/unit/unit.h"

#include "tests/scene.h"

#include <string.h>

static size_t count_loaded(const struct trace *trace, const char *path)
{
    size_t n = 0;

    for (size_t i = 0; i < trace->n_loaded; i++)
        n += !strcmp(trace->loaded[i].path, path);
    return n;
}

static enum request_result result_of(const struct trace *trace, const char *name)
{
    for (size_t i = 0; i < trace->n_requests; i++)
        if (!strcmp(trace->request[i].name, name))
            return trace->request[i].result;
    fail_msg("nobody asked for %s", name);
    return RESULT_MISSING;
}

static void same_file(enum entry_kind kind, const char *target)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct trace trace;
    struct lines lines;
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/a");
    scene_library(&s, "/a/liba.so");
    tree_add(&s.tree, kind, "/a/libb.so")->target = target;
    lines = scene_run(&s, 36, &trace);
    assert_true(scene_has(&lines, "open     /a/libb.so = ok"));
    assert_int_equal(result_of(&trace, "liba.so"), RESULT_FOUND);
    assert_int_equal(result_of(&trace, "libb.so"), RESULT_SAME);
    assert_int_equal(count_loaded(&trace, "/a/liba.so"), 1);
    assert_int_equal(count_loaded(&trace, "/a/libb.so"), 0);
    assert_string_equal(trace.exit_text, "ok");
}

static void test_symbolic_link(void **state UNUSED)
{
    same_file(ENTRY_LINK, "liba.so");
}

static void test_hard_link(void **state UNUSED)
{
    same_file(ENTRY_HARD_LINK, "/a/liba.so");
}

static void test_equal_files_are_two(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct trace trace;
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/a");
    scene_library(&s, "/a/liba.so");
    scene_library(&s, "/a/libb.so");
    (void)scene_run(&s, 36, &trace);
    assert_int_equal(result_of(&trace, "libb.so"), RESULT_FOUND);
    assert_int_equal(count_loaded(&trace, "/a/libb.so"), 1);
}

/* The program's own file is not known by identity: as a library it is a second object. */
static void test_program_is_not_recognised(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct trace trace;
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/a");
    scene_library(&s, "/a/libb.so");
    tree_add_link(&s.tree, "/a/liba.so", "/prog");
    (void)scene_run(&s, 36, &trace);
    assert_int_equal(result_of(&trace, "liba.so"), RESULT_FOUND);
    assert_int_equal(count_loaded(&trace, "/a/liba.so"), 1);
}

/* ... and a position-independent one is refused there. */
static void test_program_as_a_library(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct trace trace;
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/a");
    tree_add_link(&s.tree, "/a/liba.so", "/prog");
    s.dynamic[3] = (struct elf_dyn){DT_FLAGS_1, NULL, DF_1_PIE};
    s.program.n_dynamic = 4;
    (void)scene_run(&s, 36, &trace);
    assert_int_equal(result_of(&trace, "liba.so"), RESULT_BAD);
    assert_int_equal(trace.exit, EXIT_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbolic_link),
        cmocka_unit_test(test_hard_link),
        cmocka_unit_test(test_equal_files_are_two),
        cmocka_unit_test(test_program_is_not_recognised),
        cmocka_unit_test(test_program_as_a_library),
    };

    return UNIT_RUN(tests);
}
