/*
 * What changed when (docs/loader.md, section 12): each release on its own, for recorded cases have
 * only some of them.
 */
#include "tests/unit/unit.h"

#include "base/str.h"
#include "loader/ldcache_write.h"
#include "tests/scene.h"

#include <limits.h>
#include <string.h>

enum { OLDEST = 31, NEWEST = 43 };

/* In which releases a line is there: from `first` on, up to `last`. */
static void line_is_there(struct scene *s, const char *line, int first, int last)
{
    for (int version = OLDEST; version <= NEWEST; version++) {
        struct trace trace;
        const struct lines lines = scene_run(s, version, &trace);

        if (scene_has(&lines, line) != (version >= first && version <= last))
            fail_msg("2.%d: '%s'", version, line);
    }
}

static void test_stat_ends_in_a_slash(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/a");
    line_is_there(&s, "stat     /a = ENOENT", OLDEST, 37);
    line_is_there(&s, "stat     /a/ = ENOENT", 38, NEWEST);
}

static void test_root_directory_is_given_up(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/:/b");
    scene_library(&s, "/b/liba.so");
    scene_library(&s, "/libb.so");
    line_is_there(&s, "stat      = ENOENT", OLDEST, 37);
    line_is_there(&s, "open     /libb.so = ok", 38, NEWEST);
}

static void test_enotdir_ends_a_walk(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "file/x:/b");
    tree_add_text(&s.tree, "/file", "x");
    scene_library(&s, "/b/liba.so");
    line_is_there(&s, "open     /b/liba.so = ok", 39, NEWEST);
}

static void test_legacy_sub_directories(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/a");
    line_is_there(&s, "open     /a/tls/x86_64/x86_64/liba.so = ENOENT", OLDEST, 36);
}

static void test_cache_entries_with_legacy_hwcaps(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct cache_entry entry = {.flags = 0x303, .key = "liba.so", .value = "/c", .hwcap = 2};
    struct entry *file;
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/none");
    file = tree_add(&s.tree, ENTRY_FILE, "/etc/ld.so.cache");
    ldcache_write(&arena, &entry, 1, false, &file->bytes, &file->size);
    line_is_there(&s, "open     /c = ENOENT", OLDEST, 39);
}

static void test_abi_tag(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const uint32_t tag[4] = {1, 2, 2, 0}; /* not Linux */
    static const struct elf_note note = {"GNU", NT_GNU_ABI_TAG, tag, sizeof(tag)};
    struct elf_spec spec = elf_library();
    CLEANUP(scene_close) struct scene s;

    spec.note = &note;
    spec.n_notes = 1;
    scene_open(&s, &arena, "/a:/b");
    tree_add_elf(&s.tree, "/a/liba.so", &spec);
    scene_library(&s, "/b/liba.so");
    line_is_there(&s, "open     /b/liba.so = ok", OLDEST, 35);
}

static void test_abi_tag_of_a_newer_kernel(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const uint32_t tag[4] = {0, 6, 2, 1};
    static const struct elf_note note = {"GNU", NT_GNU_ABI_TAG, tag, sizeof(tag)};
    struct elf_spec spec = elf_library();
    CLEANUP(scene_close) struct scene s;

    spec.note = &note;
    spec.n_notes = 1;
    scene_open(&s, &arena, "/a:/b");
    tree_add_elf(&s.tree, "/a/liba.so", &spec);
    scene_library(&s, "/b/liba.so");
    s.kernel = 0x060200;
    line_is_there(&s, "open     /b/liba.so = ok", OLDEST, 35);
    s.kernel = 0x060201;
    line_is_there(&s, "open     /b/liba.so = ok", OLDEST, OLDEST - 1);
}

/*
 * A path of 4096 bytes is too long, its last slash included. Without it the directory is there, and
 * the name that is too long ends the walk; with it there is no directory, and the walk goes on.
 */
static void test_slash_that_is_too_much(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;
    struct str path = {.arena = &arena};

    str_add(&path, "/");
    while (path.len < PATH_MAX - 1)
        str_add(&path, "/.");
    str_add(&path, ":/b");
    scene_open(&s, &arena, path.text);
    scene_library(&s, "/b/liba.so");
    line_is_there(&s, "open     /b/liba.so = ok", 38, NEWEST);
}

/* Random trees, seed 105836 under glibc 2.31: the loader overflows its stack, the model must end. */
static void test_filters_that_name_each_other(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const struct elf_dyn a[] = {{DT_AUXILIARY, "libb.so", 0}};
    static const struct elf_dyn b[] = {{DT_AUXILIARY, "liba.so", 0}};
    struct elf_spec liba = elf_library(), libb = elf_library();
    CLEANUP(scene_close) struct scene s;
    struct trace trace;

    liba.dynamic = a;
    libb.dynamic = b;
    liba.n_dynamic = libb.n_dynamic = 1;
    scene_open(&s, &arena, "/a");
    tree_add_elf(&s.tree, "/a/liba.so", &liba);
    tree_add_elf(&s.tree, "/a/libb.so", &libb);
    (void)scene_run(&s, NEWEST, &trace);
    assert_int_equal(trace.exit, EXIT_ABORT);
}

static void test_suid_debug(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/a");
    s.secure = true;
    line_is_there(&s, "access   /etc/suid-debug = ENOENT", OLDEST, 38);
}

static void test_origin_of_explicit_starts(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const char *const args[] = {"/link/prog"};
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "$ORIGIN/x");
    tree_add_elf(&s.tree, "/real/prog", &s.program);
    tree_add_link(&s.tree, "/link", "/real");
    s.args = args;
    s.n_args = 1;
    line_is_there(&s, "readlink /proc/self/fd/3 = ok", 42, NEWEST);
    line_is_there(&s, "open     /link/x/liba.so = ENOENT", OLDEST, 41);
    line_is_there(&s, "open     /real/x/liba.so = ENOENT", 42, NEWEST);
}

static void test_audit_tags_of_the_program(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/a");
    s.dynamic[3] = (struct elf_dyn){DT_AUDIT, "libaudit.so", 0};
    s.program.n_dynamic = 4;
    line_is_there(&s, "open     /lib/libaudit.so = ENOENT", 32, NEWEST);
    line_is_there(&s, "open     /a/libaudit.so = ENOENT", 35, NEWEST);
}

static void test_filter_of_the_program(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/a");
    scene_library(&s, "/a/liba.so");
    scene_library(&s, "/a/libb.so");
    s.dynamic[1].tag = DT_FILTER;
    line_is_there(&s, "-- fails", OLDEST, 31); /* its assertion */
}

/*
 * A library that filters the program moves it behind all that was loaded: the program's needs are
 * not found any more and loaded again; closing after an error, the loader misses what it counted.
 */
static void test_dlopened_filter_of_the_program(void **state UNUSED)
{
    static const struct dlopen_call call = {.name = "/a/libf.so"};
    const struct elf_dyn dynamic[] = {{DT_FILTER, "x", 0}, {DT_NEEDED, "libgone.so", 0}};
    CLEANUP(arena_release) struct arena arena = {0};
    struct elf_spec filter = elf_library();
    CLEANUP(scene_close) struct scene s;

    scene_open(&s, &arena, "/a");
    scene_library(&s, "/a/liba.so");
    scene_library(&s, "/a/libb.so");
    s.dynamic[3] = (struct elf_dyn){DT_SONAME, "x", 0};
    s.program.n_dynamic = 4;
    filter.dynamic = dynamic;
    tree_add_elf(&s.tree, "/a/libf.so", &filter);
    s.dlopens = &call;
    s.n_dlopens = 1;
    for (filter.n_dynamic = 1; filter.n_dynamic <= 2; filter.n_dynamic++) {
        struct trace trace;
        const struct lines lines = scene_run(&s, 36, &trace);
        unsigned opened = 0;

        for (size_t i = 0; i < lines.n; i++)
            opened += !strcmp(lines.line[i], "open     /a/liba.so = ok");
        assert_int_equal(opened, filter.n_dynamic == 1 ? 2 : 1);
        assert_int_equal(trace.exit, filter.n_dynamic == 1 ? EXIT_OK : EXIT_ABORT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat_ends_in_a_slash),
        cmocka_unit_test(test_root_directory_is_given_up),
        cmocka_unit_test(test_enotdir_ends_a_walk),
        cmocka_unit_test(test_legacy_sub_directories),
        cmocka_unit_test(test_cache_entries_with_legacy_hwcaps),
        cmocka_unit_test(test_abi_tag),
        cmocka_unit_test(test_abi_tag_of_a_newer_kernel),
        cmocka_unit_test(test_suid_debug),
        cmocka_unit_test(test_slash_that_is_too_much),
        cmocka_unit_test(test_filters_that_name_each_other),
        cmocka_unit_test(test_origin_of_explicit_starts),
        cmocka_unit_test(test_audit_tags_of_the_program),
        cmocka_unit_test(test_filter_of_the_program),
        cmocka_unit_test(test_dlopened_filter_of_the_program),
    };

    return UNIT_RUN(tests);
}
