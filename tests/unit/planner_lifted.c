/*
 * What strategies propose: the lifted list, farms, run paths, absolute names, notes.
 */
#include "base/str.h"
#include "tests/store.h"

#include <string.h>

#include "tests/unit/unit.h"

/* The program needs a and b, these c and d, which need one another's names again. */
static const struct store_object plain[] = {
    {"app/bin/app", .needed = "liba.so.1 libb.so.1 libc.so.6",
     .run_path = "@a/lib:@b/lib:@glibc/lib"},
    {"a/lib/liba.so.1", .needed = "libc1.so libd.so libc.so.6",
     .run_path = "@c/lib:@d/lib:@glibc/lib"},
    {"b/lib/libb.so.1", .needed = "libd.so libe.so liba.so.1", .run_path = "@d/lib:@e/lib:@a/lib"},
    {"c/lib/libc1.so", .needed = "libc.so.6"},
    {"d/lib/libd.so", .needed = "libe.so", .run_path = "@e/lib"},
    {"e/lib/libe.so", .needed = "libc.so.6", .run_path = "@glibc/lib"},
};

static struct store *make(const struct store_object *more, size_t n)
{
    struct store *store = store_new();

    store_add(store, plain, ARRAY_LEN(plain));
    if (n)
        store_add(store, more, n);
    return store;
}

static void propose(const struct subject *s, enum method method, struct edits *ret_edits,
                    const char **ret_why_not)
{
    struct err err;

    *ret_why_not = NULL;
    assert_int_equal(strategy_propose(strategy_of(method), s, ret_edits, ret_why_not, &err), 0);
}

static void expect_needed(struct store *store, const struct subject *s, enum method method,
                          const char *expected)
{
    const char *why_not;
    const struct edit *e;
    struct edits edits;

    propose(s, method, &edits, &why_not);
    assert_null(why_not);
    e = edits_find(&edits, EDIT_NEEDED, s->path);
    assert_non_null(e);
    assert_string_equal(store_join(store, e->needed, e->n_needed), expected);
}

static void the_list_is_in_request_order_with_the_loader_at_its_place(void **state UNUSED)
{
    struct store *store = make(NULL, 0);
    struct subject s;

    store_subject(store, "app/bin/app", &s);
    expect_needed(store, &s, METHOD_FARM_LIFTED,
                  "liba.so.1 libb.so.1 libc.so.6 libc1.so libd.so libe.so ld-linux-x86-64.so.2");
    store_free(store);
}

static void a_second_name_of_a_file_is_lifted_too(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"d/lib/libd.so", .needed = "libc1-other.so", .run_path = "@f/lib"},
        {"f/lib/libc1-other.so", .link = "@c/lib/libc1.so"},
    };
    struct store *store = make(more, ARRAY_LEN(more));
    const struct edit *farm;
    const char *why_not;
    struct edits edits;
    struct subject s;
    size_t i;

    store_subject(store, "app/bin/app", &s);
    expect_needed(store, &s, METHOD_FARM_LIFTED,
                  "liba.so.1 libb.so.1 libc.so.6 libc1.so libd.so libe.so ld-linux-x86-64.so.2 "
                  "libc1-other.so");
    propose(&s, METHOD_FARM_LIFTED, &edits, &why_not);
    farm = edits_find(&edits, EDIT_FARM, NULL);
    for (i = 0; i < farm->n_links; i++)
        if (!strcmp(farm->link[i].name, "libc1-other.so"))
            break;
    assert_int_not_equal(i, farm->n_links);
    assert_string_equal(farm->link[i].target, store_path(store, "c/lib/libc1.so"));
    store_free(store);
}

static void names_by_path_are_lifted_as_they_are(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"d/lib/libd.so", .needed = "@f/lib/libf.so"},
        {"f/lib/libf.so", .needed = "libc.so.6"},
    };
    struct store *store = make(more, ARRAY_LEN(more));
    struct subject s;

    store_subject(store, "app/bin/app", &s);
    expect_needed(store, &s, METHOD_FARM_LIFTED,
                  arena_printf(&store->arena,
                               "liba.so.1 libb.so.1 libc.so.6 libc1.so libd.so libe.so "
                               "ld-linux-x86-64.so.2 %s",
                               store_path(store, "f/lib/libf.so")));
    store_free(store);
}

static const char *run_path_of(struct store *store, const struct subject *s, enum method method)
{
    const char *why_not;
    struct edits edits;

    propose(s, method, &edits, &why_not);
    assert_null(why_not);
    (void)store;
    return edits_find(&edits, EDIT_RUN_PATH, s->path)->run_path;
}

static void the_farm_is_in_front_of_the_old_run_path(void **state UNUSED)
{
    struct store *store = make(NULL, 0);
    struct subject s;

    store_subject(store, "app/bin/app", &s);
    assert_string_equal(s.farm, store_path(store, "app/" FARM_IN_PACKAGE));
    assert_string_equal(run_path_of(store, &s, METHOD_FARM_LIFTED),
                        arena_printf(&store->arena, "%s:%s", s.farm, s.object->runpath));
    store_free(store);
}

static void directories_outside_the_store_stay_in_front(void **state UNUSED)
{
    /* every asker looks into /run/x first */
    static const struct store_object more[] = {
        {"app/bin/app", .needed = "liba.so.1", .run_path = "/run/x:@a/lib"},
        {"a/lib/liba.so.1", .needed = "libc1.so", .run_path = "/run/x:@c/lib"},
        {.path = "c/lib/libc1.so"},
    };
    struct store *store = make(more, ARRAY_LEN(more));
    struct subject s;

    store_subject(store, "app/bin/app", &s);
    assert_true(str_starts(run_path_of(store, &s, METHOD_FARM_LIFTED),
                           arena_printf(&store->arena, "/run/x:%s:", s.farm)));
    store_free(store);
}

static void self_locating_libraries_follow_the_farm(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"d/lib/libd.so", .needed = "libe.so", .run_path = "@e/lib", .imports = IMPORT_DLADDR},
    };
    struct store *store = make(more, ARRAY_LEN(more));
    const struct edit *farm;
    const char *why_not;
    struct edits edits;
    struct subject s;
    size_t i;

    store_subject(store, "app/bin/app", &s);
    assert_string_equal(run_path_of(store, &s, METHOD_FARM_LIFTED),
                        arena_printf(&store->arena, "%s:%s:%s", s.farm, store_path(store, "d/lib"),
                                     s.object->runpath));
    propose(&s, METHOD_FARM_LIFTED, &edits, &why_not);
    farm = edits_find(&edits, EDIT_FARM, NULL);
    for (i = 0; i < farm->n_links; i++)
        assert_string_not_equal(farm->link[i].name, "libd.so");
    store_free(store);
}

/* Each name fails in every directory before its own. */
static void directories_with_more_names_follow_the_farm_first(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"c/lib/libc1.so", .imports = IMPORT_DLADDR},
        {"d/lib/libd.so", .needed = "libe.so libf.so", .run_path = "@e/lib"},
        {"e/lib/libe.so", .imports = IMPORT_DLADDR},
        {"e/lib/libf.so", .imports = IMPORT_DLADDR},
    };
    static const struct store_object hidden = {"e/lib/libc1.so", .needed = NULL};
    struct store *store = make(more, ARRAY_LEN(more));
    struct subject s;

    store_subject(store, "app/bin/app", &s);
    assert_string_equal(run_path_of(store, &s, METHOD_FARM_LIFTED),
                        arena_printf(&store->arena, "%s:%s:%s:%s", s.farm,
                                     store_path(store, "e/lib"), store_path(store, "c/lib"),
                                     s.object->runpath));
    store_free(store);
    store = make(more, ARRAY_LEN(more)); /* but not in front of a file that must not be found */
    store_add(store, &hidden, 1);
    store_subject(store, "app/bin/app", &s);
    assert_string_equal(run_path_of(store, &s, METHOD_FARM_LIFTED),
                        arena_printf(&store->arena, "%s:%s:%s:%s", s.farm,
                                     store_path(store, "c/lib"), store_path(store, "e/lib"),
                                     s.object->runpath));
    store_free(store);
}

static void farms_mirror_builds_for_better_cpus(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"d/lib/glibc-hwcaps/x86-64-v3/libd.so", .needed = "libe.so", .run_path = "@e/lib"},
    };
    /* the sub-directory exists, so it has every name */
    static const char *const expected[] = {"glibc-hwcaps/x86-64-v3/liba.so.1",
                                           "glibc-hwcaps/x86-64-v3/libb.so.1",
                                           "glibc-hwcaps/x86-64-v3/libc.so.6",
                                           "glibc-hwcaps/x86-64-v3/libc1.so",
                                           "glibc-hwcaps/x86-64-v3/libd.so",
                                           "glibc-hwcaps/x86-64-v3/libe.so",
                                           "liba.so.1",
                                           "libb.so.1",
                                           "libc.so.6",
                                           "libc1.so",
                                           "libd.so",
                                           "libe.so"};
    struct store *store = make(more, ARRAY_LEN(more));
    const struct edit *farm;
    const char *why_not;
    struct edits edits;
    struct subject s;
    size_t i;

    store_subject(store, "app/bin/app", &s);
    propose(&s, METHOD_FARM_LIFTED, &edits, &why_not);
    farm = edits_find(&edits, EDIT_FARM, NULL);
    assert_int_equal(farm->n_links, ARRAY_LEN(expected));
    for (i = 0; i < farm->n_links; i++)
        assert_string_equal(farm->link[i].name, expected[i]);
    assert_string_equal(farm->link[0].target, store_path(store, "a/lib/liba.so.1"));
    assert_string_equal(farm->link[4].target,
                        store_path(store, "d/lib/glibc-hwcaps/x86-64-v3/libd.so"));
    assert_string_equal(farm->link[10].target, store_path(store, "d/lib/libd.so"));
    store_free(store);
}

static void absolute_names_are_the_strings_that_were_opened(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"app/bin/app", .needed = "liba.so.1 libc.so.6", .run_path = "@a/lib:@glibc/lib",
         .verneed = "liba.so.1"},
        {"a/lib/liba.so.1", .needed = "libc.so.6"},
    };
    struct store *store = make(more, ARRAY_LEN(more));
    const struct edit *e;
    const char *why_not;
    struct edits edits;
    struct subject s;

    store_subject(store, "app/bin/app", &s);
    /* libc's family stays bare, and its directory comes first */
    expect_needed(store, &s, METHOD_ABSOLUTE_LIFTED,
                  arena_printf(&store->arena, "%s libc.so.6 ld-linux-x86-64.so.2",
                               store_path(store, "a/lib/liba.so.1")));
    propose(&s, METHOD_ABSOLUTE_LIFTED, &edits, &why_not);
    e = edits_find(&edits, EDIT_VERNEED, s.path);
    assert_non_null(e);
    assert_int_equal(e->n_renames, 1);
    assert_string_equal(e->renames[0].from, "liba.so.1");
    assert_string_equal(e->renames[0].to, store_path(store, "a/lib/liba.so.1"));
    store_free(store);
}

/* The descriptor with its zeros shown as '|'. */
static const char *note_text(struct store *store, const struct subject *s)
{
    const char *why_not;
    const struct edit *e;
    struct edits edits;
    char *text;
    uint32_t i;

    propose(s, METHOD_NOTE_OWN, &edits, &why_not);
    if (why_not)
        return why_not;
    e = edits_find(&edits, EDIT_NOTE, s->path);
    text = arena_strndup(&store->arena, "", 0);
    text = arena_alloc(&store->arena, e->note.size + 1);
    for (i = 0; i < e->note.size; i++)
        text[i] = e->note.bytes[i] ? (char)e->note.bytes[i] : '|';
    return text;
}

static void notes_are_what_patchelf_would_write(void **state UNUSED)
{
    /* b is in two directories; z has hwcaps; x does not exist; the last component is empty */
    static const struct store_object more[] = {
        {"app/bin/app", .needed = "libz.so libb.so.1 /abs/libq.so libb.so.1",
         .run_path = "/s/b:$ORIGIN/../lib:/s/b2:rel:/s/z:/s/x:"},
        {.path = "/s/b/libb.so.1"},
        {.path = "/s/b2/libb.so.1"},
        {.path = "/s/z/libz.so"},
        {.path = "/s/z/glibc-hwcaps/x86-64-v2/libz.so"},
        {.path = "/abs/libq.so"},
    };
    struct store *store = make(more, ARRAY_LEN(more));
    struct subject s;

    store_subject(store, "app/bin/app", &s);
    assert_string_equal(note_text(store, &s),
                        "libb.so.1|=/s/b/libb.so.1:?$ORIGIN/../lib:=/s/b2/libb.so.1:?rel:?/s/z:"
                        "?/s/x:?|"
                        "libz.so|?$ORIGIN/../lib:?rel:?/s/z:?/s/x:?||");
    store_free(store);
}

/* A run path and the pair that patchelf 0.19.1 writes for libz.so under it, byte for byte. */
static const struct {
    const char *run_path, *note;
} run_paths[] = {
    {"/s/a", "libz.so|=/s/a/libz.so||"},
    {"/s/a:/s/b", "libz.so|=/s/a/libz.so:=/s/b/libz.so||"},
    {"/s/b:/s/a", "libz.so|=/s/b/libz.so:=/s/a/libz.so||"},
    {"/s/empty:/s/a", "libz.so|=/s/a/libz.so||"},
    {"/s/a:/s/empty", "libz.so|=/s/a/libz.so||"},
    {"/s/a/", "libz.so|=/s/a//libz.so||"},
    {"/s/b/../a", "libz.so|=/s/b/../a/libz.so||"},
    {"/s/a:/s/a", "libz.so|=/s/a/libz.so:=/s/a/libz.so||"},
    {"/gone:/s/a", "libz.so|?/gone:=/s/a/libz.so||"},
    {"/gone", "libz.so|?/gone||"},
    {"/run/opengl-driver/lib:/s/a", "libz.so|?/run/opengl-driver/lib:=/s/a/libz.so||"},
    {"$ORIGIN/../lib:/s/a", "libz.so|?$ORIGIN/../lib:=/s/a/libz.so||"},
    {"${ORIGIN}", "libz.so|?${ORIGIN}||"},
    {"/s/$LIB:/s/a", "libz.so|?/s/$LIB:=/s/a/libz.so||"},
    {"/s/levels", "libz.so|?/s/levels||"},
    {"/s/a:/s/levels", "libz.so|=/s/a/libz.so:?/s/levels||"},
    {"/s/levels:/s/a", "libz.so|?/s/levels:=/s/a/libz.so||"},
    {"rel:/s/a", "libz.so|?rel:=/s/a/libz.so||"},
    {".", "libz.so|?.||"},
    {":/s/a", "libz.so|?:=/s/a/libz.so||"},
    {"/s/a::/s/b", "libz.so|=/s/a/libz.so:?:=/s/b/libz.so||"},
    {"/s/a:", "libz.so|=/s/a/libz.so:?||"},
    {"/s/a/libz.so", "libz.so|?/s/a/libz.so||"},
    {"/s/link", "libz.so|=/s/link/libz.so||"},
    {"/s/empty", "no needed name is found by its run path: a note would be empty"},
};

static void each_run_path_has_patchelfs_note(void **state UNUSED)
{
    static const struct store_object more[] = {
        {.path = "/s/a/libz.so"},
        {.path = "/s/b/libz.so"},
        {.path = "/s/empty/libq.so"},
        {.path = "/s/levels/libz.so"},
        {.path = "/s/link", .link = "/s/a"},
        {.path = "/s/levels/glibc-hwcaps/x86-64-v2/libz.so"},
    };

    for (size_t i = 0; i < ARRAY_LEN(run_paths); i++) {
        const struct store_object app = {"app/bin/app", .needed = "libz.so",
                                         .run_path = run_paths[i].run_path};
        struct store *store = make(more, ARRAY_LEN(more));
        const char *text;
        struct subject s;

        store_add(store, &app, 1);
        store_subject(store, "app/bin/app", &s);
        text = note_text(store, &s);
        if (strcmp(text, run_paths[i].note) != 0)
            fail_msg("'%s' gives '%s', not '%s'", run_paths[i].run_path, text, run_paths[i].note);
        store_free(store);
    }
}

static void a_note_without_pairs_is_no_note(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"app/bin/app", .needed = "libc.so.6", .run_path = "@a/lib"},
    };
    struct store *store = make(more, ARRAY_LEN(more));
    struct subject s;

    store_subject(store, "app/bin/app", &s);
    assert_string_equal(note_text(store, &s),
                        "no needed name is found by its run path: a note would be empty");
    store_free(store);
}

static void reviewed_objects_go_into_the_farm(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"d/lib/libd.so", .needed = "libasound.so.2 libcrypto.so.3",
         .run_path = "@al/lib:@ssl/lib"},
        {"al/lib/libasound.so.2", .imports = IMPORT_DLADDR},
        {"ssl/lib/libcrypto.so.3", .imports = IMPORT_DLADDR},
    };
    static const struct store_object beside = {.path = "al/lib/alsa-lib/plugin.so"};
    struct store *store = make(more, ARRAY_LEN(more));
    struct subject s;

    store_subject(store, "app/bin/app", &s);
    assert_null(strstr(run_path_of(store, &s, METHOD_FARM_LIFTED), store_path(store, "al/lib")));
    /* something to be found beside it */
    store_add(store, &beside, 1);
    store_subject(store, "app/bin/app", &s);
    assert_non_null(
        strstr(run_path_of(store, &s, METHOD_FARM_LIFTED), store_path(store, "al/lib")));
    assert_null(strstr(run_path_of(store, &s, METHOD_FARM_LIFTED), store_path(store, "ssl/lib")));
    /* nobody's review counts */
    store->policy.cautious = true;
    store_subject(store, "app/bin/app", &s);
    assert_non_null(
        strstr(run_path_of(store, &s, METHOD_FARM_LIFTED), store_path(store, "ssl/lib")));
    store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_in_request_order_with_the_loader_at_its_place),
        cmocka_unit_test(a_second_name_of_a_file_is_lifted_too),
        cmocka_unit_test(names_by_path_are_lifted_as_they_are),
        cmocka_unit_test(the_farm_is_in_front_of_the_old_run_path),
        cmocka_unit_test(directories_outside_the_store_stay_in_front),
        cmocka_unit_test(self_locating_libraries_follow_the_farm),
        cmocka_unit_test(directories_with_more_names_follow_the_farm_first),
        cmocka_unit_test(farms_mirror_builds_for_better_cpus),
        cmocka_unit_test(absolute_names_are_the_strings_that_were_opened),
        cmocka_unit_test(notes_are_what_patchelf_would_write),
        cmocka_unit_test(each_run_path_has_patchelfs_note),
        cmocka_unit_test(a_note_without_pairs_is_no_note),
        cmocka_unit_test(reviewed_objects_go_into_the_farm),
    };

    return UNIT_RUN(tests);
}
