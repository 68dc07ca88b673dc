/*
 * Directories of plans: what is written again, what goes, and what nobody wrote there.
 */
#include "base/str.h"
#include "cli/slices.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct folder {
    struct arena arena;
    char path[32];
};

static void folder_open(struct folder *f)
{
    *f = (struct folder){.path = "/tmp/slices-XXXXXX"};
    assert_non_null(mkdtemp(f->path));
}

static void folder_close(struct folder *f)
{
    DIR *dir = opendir(f->path);
    const struct dirent *e;

    while (dir && (e = readdir(dir)))
        if (*e->d_name != '.')
            (void)unlink(str_join(&f->arena, f->path, e->d_name));
    (void)closedir(dir);
    (void)rmdir(f->path);
    arena_release(&f->arena);
}

static void put(struct folder *f, const char *name, const char *text)
{
    FILE *to = fopen(str_join(&f->arena, f->path, name), "we");

    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
}

static bool has(struct folder *f, const char *name)
{
    return access(str_join(&f->arena, f->path, name), F_OK) == 0;
}

/* Names of one letter: capitals are written, small ones were not planned this time. */
static struct slices run(struct folder *f, const char *names, bool all_stay, bool dies)
{
    struct slices s;
    struct err err;
    const char *c;

    assert_int_equal(slices_open(f->path, &f->arena, &s, &err), 0);
    if (all_stay)
        slices_expect_all(&s);
    for (c = names; *c; c++)
        if (*c < 'a')
            slices_expect(&s, arena_printf(&f->arena, "%c.plan.json", *c));
        else
            slices_stay(&s, arena_printf(&f->arena, "%c.plan.json", *c - 'a' + 'A'));
    assert_int_equal(slices_begin(&s, &err), 0);
    for (c = names; *c; c++)
        if (*c < 'a')
            assert_int_equal(
                slices_write(&s, arena_printf(&f->arena, "%c.plan.json", *c), names, 1, &err), 0);
    if (!dies)
        assert_int_equal(slices_end(&s, &err), 0);
    return s;
}

static void what_is_gone_goes(void **state UNUSED)
{
    CLEANUP(folder_close) struct folder f;
    struct slices s;

    folder_open(&f);
    put(&f, "Z.plan.json", "mine");
    (void)run(&f, "ABCD", false, false);
    s = run(&f, "ABx", false, false);
    assert_int_equal(s.removed, 2);
    assert_true(has(&f, "A.plan.json") && has(&f, "B.plan.json") && has(&f, "Z.plan.json"));
    assert_false(has(&f, "C.plan.json") || has(&f, "D.plan.json") || has(&f, "X.plan.json"));
    /* not planned this time, of nobody's interest this time */
    assert_int_equal(run(&f, "Ab", false, false).removed, 0);
    assert_int_equal(run(&f, "C", true, false).removed, 0);
    assert_true(has(&f, "A.plan.json") && has(&f, "B.plan.json") && has(&f, "C.plan.json"));
    assert_int_equal(run(&f, "", false, false).removed, 3);
    assert_true(has(&f, "Z.plan.json") && has(&f, SLICES_LIST));
}

static void what_was_changed_stays(void **state UNUSED)
{
    CLEANUP(folder_close) struct folder f;
    struct slices s;

    folder_open(&f);
    (void)run(&f, "AB", false, false);
    put(&f, "A.plan.json", "B"); /* as long as it was */
    s = run(&f, "B", false, false);
    assert_int_equal(s.removed, 0);
    assert_int_equal(s.n_kept, 1);
    assert_true(has(&f, "A.plan.json"));
    assert_int_equal(run(&f, "B", false, false).n_kept, 0); /* said once: it is no longer ours */
}

static void what_a_killed_run_wrote_goes(void **state UNUSED)
{
    CLEANUP(folder_close) struct folder f;

    folder_open(&f);
    (void)run(&f, "AB", false, true);
    assert_int_equal(run(&f, "B", false, false).removed, 1);
    assert_false(has(&f, "A.plan.json"));
}

static void other_lists_are_refused(void **state UNUSED)
{
    static const char *const lists[] = {
        "",
        "[]",
        "{\"schema\": \"stormlint-plans/2\", \"plans\": {}}",
        "{\"schema\": \"stormlint-plans/1\"}",
        "{\"schema\": \"stormlint-plans/1\", \"plans\": {\"../x.plan.json\": null}}",
        "{\"schema\": \"stormlint-plans/1\", \"plans\": {\"a/x.plan.json\": null}}",
        "{\"schema\": \"stormlint-plans/1\", \"plans\": {\"notes.txt\": null}}",
        "{\"schema\": \"stormlint-plans/1\", \"plans\": {\"x.plan.json\": 1}}",
    };
    CLEANUP(folder_close) struct folder f;
    struct slices s;
    struct err err;

    folder_open(&f);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        put(&f, SLICES_LIST, lists[i]);
        assert_int_equal(slices_open(f.path, &f.arena, &s, &err), -EINVAL);
        assert_non_null(strstr(err.text, "not a list of plans; give another directory"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_gone_goes),
        cmocka_unit_test(what_was_changed_stays),
        cmocka_unit_test(what_a_killed_run_wrote_goes),
        cmocka_unit_test(other_lists_are_refused),
    };

    return UNIT_RUN(tests);
}
