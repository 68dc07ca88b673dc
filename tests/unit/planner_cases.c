/*
 * Public bug reports as small inputs, and the right answer of the planner.
 */
#include "base/str.h"
#include "planner/compare.h"
#include "tests/store.h"

#include <string.h>

#include "tests/unit/unit.h"

struct bench {
    struct store *store;
    struct subject subject;
    struct edits edits;
    const char *why_not;
};

/* Make a store of these objects, its program the subject; a method's proposal unless NONE. */
static void set_up(struct bench *b, const struct store_object *object, size_t n, enum method method)
{
    struct err err;

    *b = (struct bench){.store = store_new()};
    store_add(b->store, object, n);
    store_subject(b->store, "app/bin/app", &b->subject);
    if (method != METHOD_NONE)
        assert_int_equal(
            strategy_propose(strategy_of(method), &b->subject, &b->edits, &b->why_not, &err), 0);
}

static void tear_down(struct bench *b)
{
    subject_release(&b->subject);
    store_free(b->store);
}

static enum verdict judge(struct bench *b, enum method method, const char *criterion)
{
    struct verdicts v;
    struct trial trial;
    struct err err;
    size_t i;

    assert_int_equal(trial_init(&trial, &b->subject, &err), 0);
    assert_int_equal(criteria_judge(&trial, method, &b->edits, &v, &err), 0);
    trial_release(&trial);
    for (i = 0; strcmp(v.judgement[i].criterion, criterion) != 0; i++)
        assert_true(i + 1 < N_CRITERIA);
    return v.judgement[i].verdict;
}

static const char *gate_of(struct bench *b, enum method method)
{
    const char *reason;
    const struct gate *gate = gate_shut(&b->subject, method, &reason);

    return gate ? gate->id : "open";
}

/* The list that the note has for a name. */
static const char *list_of(const struct bench *b, const char *name)
{
    const struct edit *e = edits_find(&b->edits, EDIT_NOTE, NULL);
    const char *at = e ? (const char *)e->note.bytes : NULL;
    const char *end = at ? at + e->note.size : NULL;

    while (at && at < end && *at) {
        const char *list = at + strlen(at) + 1;

        if (!strcmp(at, name))
            return list;
        at = list + strlen(list) + 1;
    }
    return "no pair";
}

/* 1: patchelf 658, an empty or a relative component of the run path */
static void relative_components_are_hints_and_never_paths(void **state UNUSED)
{
    static const struct {
        const char *run_path, *list;
    } rows[] = {
        {":/opt/libs", "?:=/opt/libs/libfoo.so"},
        {"rel/dir:/opt/libs", "?rel/dir:=/opt/libs/libfoo.so"},
        {"/opt/libs:", "=/opt/libs/libfoo.so:?"},
    };
    size_t i;

    for (i = 0; i < ARRAY_LEN(rows); i++) {
        const struct store_object objects[] = {
            {"app/bin/app", .needed = "libfoo.so", .run_path = rows[i].run_path},
            {"/opt/libs/libfoo.so", .needed = NULL},
        };
        struct bench b;

        set_up(&b, objects, ARRAY_LEN(objects), METHOD_NOTE_OWN);
        assert_string_equal(list_of(&b, "libfoo.so"), rows[i].list);
        assert_string_equal(gate_of(&b, METHOD_FARM_OWN), "relative-run-path");
        tear_down(&b);
    }
}

/* 2: patchelf 659, a directory that is not there yet, or no directory */
static const struct store_object later[] = {
    {"app/bin/app", .needed = "libfoo.so", .run_path = "/run/later:@real/lib"},
    {"real/lib/libfoo.so", .needed = NULL},
};

static void a_directory_that_may_appear_keeps_its_say(void **state UNUSED)
{
    const struct edit *e;
    struct bench b;

    set_up(&b, later, ARRAY_LEN(later), METHOD_NOTE_OWN);
    assert_true(str_starts(list_of(&b, "libfoo.so"), "?/run/later:="));
    tear_down(&b);
    set_up(&b, later, ARRAY_LEN(later), METHOD_FARM_OWN);
    e = edits_find(&b.edits, EDIT_RUN_PATH, NULL);
    assert_true(str_starts(e->run_path, "/run/later:"));
    /* absolute names would pass it by */
    assert_string_equal(gate_of(&b, METHOD_ABSOLUTE_OWN), "outside-store");
    tear_down(&b);
}

static void a_file_in_a_directorys_place_is_a_hint(void **state UNUSED)
{
    const struct store_object objects[] = {later[0], later[1], {"/run/later", .needed = NULL}};
    struct bench b;

    set_up(&b, objects, ARRAY_LEN(objects), METHOD_NOTE_OWN);
    assert_true(str_starts(list_of(&b, "libfoo.so"), "?/run/later:="));
    tear_down(&b);
}

/* A user who may not look into it: it can be opened to them later, and may have the library. */
static void a_directory_that_may_not_be_searched_keeps_its_say(void **state UNUSED)
{
    static const struct store_object hidden = {"/run/later/libfoo.so", .needed = NULL};
    static const enum method methods[] = {METHOD_NOTE_OWN, METHOD_FARM_LIFTED};
    const enum method *method;

    for_each (method, methods) {
        struct bench b = {.store = store_new()};
        struct err err;

        store_add(b.store, later, ARRAY_LEN(later));
        store_add(b.store, &hidden, 1);
        b.store->world->uid = b.store->world->gid = 1000;
        world_walk(b.store->world, NULL, "/run/later").node->mode &= ~0777u;
        store_subject(b.store, "app/bin/app", &b.subject);
        assert_string_equal(b.subject.trace->loaded[1].path,
                            store_path(b.store, "real/lib/libfoo.so"));
        assert_int_equal(
            strategy_propose(strategy_of(*method), &b.subject, &b.edits, &b.why_not, &err), 0);
        if (*method == METHOD_NOTE_OWN)
            assert_true(str_starts(list_of(&b, "libfoo.so"), "?/run/later:="));
        else
            assert_true(
                str_starts(edits_find(&b.edits, EDIT_RUN_PATH, NULL)->run_path, "/run/later:"));
        assert_string_equal(gate_of(&b, METHOD_ABSOLUTE_OWN), "outside-store");
        assert_int_equal(judge(&b, *method, "same-libraries"), VERDICT_PASS);
        tear_down(&b);
    }
}

/* 4, 5: patchelf 84 and 115, versions wanted from a file that is no needed name */
static void versions_follow_their_names(void **state UNUSED)
{
    static const struct store_object objects[] = {
        {"app/bin/app", .needed = "libver.so.1", .run_path = "@ver/lib", .verneed = "libver.so.1"},
        {"ver/lib/libver.so.1", .needed = NULL},
    };
    struct bench b;
    size_t i;

    set_up(&b, objects, ARRAY_LEN(objects), METHOD_ABSOLUTE_OWN);
    assert_int_equal(judge(&b, METHOD_ABSOLUTE_OWN, "version-needs"), VERDICT_PASS);
    for (i = 0; b.edits.item[i].kind != EDIT_VERNEED; i++)
        ;
    b.edits.item[i] = b.edits.item[--b.edits.n];
    assert_int_equal(judge(&b, METHOD_ABSOLUTE_OWN, "version-needs"), VERDICT_FAIL);
    b.edits = (struct edits){0}; /* removed altogether */
    edit_needed(&b.edits, b.subject.arena, b.subject.path, NULL, 0);
    assert_int_equal(judge(&b, METHOD_ABSOLUTE_OWN, "version-needs"), VERDICT_FAIL);
    tear_down(&b);
}

/* 7: libtree's test 07, $ORIGIN is the directory of the path that a library was opened by */
static void a_library_with_a_token_stays_out_of_the_farm(void **state UNUSED)
{
    static const struct store_object objects[] = {
        {"app/bin/app", .needed = "libbar.so libz.so", .run_path = "@n0/lib:@bar/lib:@z/lib"},
        {"bar/lib/libbar.so", .needed = "libfoo.so", .run_path = "$ORIGIN"},
        {"bar/lib/libfoo.so", .needed = NULL},
        {"z/lib/libz.so", .needed = NULL},
    };
    const struct edit *farm;
    struct bench b;

    set_up(&b, objects, ARRAY_LEN(objects), METHOD_FARM_OWN);
    farm = edits_find(&b.edits, EDIT_FARM, NULL);
    assert_int_equal(farm->n_links, 1);
    assert_string_equal(farm->link[0].name, "libz.so");
    assert_int_equal(judge(&b, METHOD_FARM_OWN, "self-location"), VERDICT_PASS);
    assert_int_equal(judge(&b, METHOD_FARM_OWN, "same-libraries"), VERDICT_PASS);
    /* through the farm it would not start */
    edit_farm(&b.edits, b.subject.arena, b.subject.farm,
              &(struct farm_link){"libbar.so", store_path(b.store, "bar/lib/libbar.so")}, 1);
    assert_int_equal(judge(&b, METHOD_FARM_OWN, "same-libraries"), VERDICT_FAIL);
    tear_down(&b);
}

/* 9: nixpkgs 207893, two builds of one soname */
static void both_askers_keep_the_build_they_had(void **state UNUSED)
{
    static const struct store_object objects[] = {
        {"app/bin/app", .needed = "libbar.so libfoo.so.1", .run_path = "@bar/lib:@two/lib"},
        {"bar/lib/libbar.so", .needed = "libfoo.so.1", .run_path = "@one/lib"},
        {"one/lib/libfoo.so.1", .needed = NULL},
        {"two/lib/libfoo.so.1", .needed = NULL},
    };
    static const enum method methods[] = {METHOD_FARM_OWN, METHOD_FARM_LIFTED,
                                          METHOD_ABSOLUTE_LIFTED};
    const enum method *method;
    struct comparison c;
    struct bench b;
    struct err err;

    for_each (method, methods) {
        set_up(&b, objects, ARRAY_LEN(objects), *method);
        assert_string_equal(b.subject.trace->loaded[2].path,
                            store_path(b.store, "two/lib/libfoo.so.1"));
        assert_int_equal(judge(&b, *method, "duplicate-soname"), VERDICT_PASS);
        tear_down(&b);
    }
    set_up(&b, objects, ARRAY_LEN(objects), METHOD_NONE);
    assert_int_equal(compare_methods(&b.subject, NULL, false, &c, &err), 0);
    assert_string_equal(c.row[METHOD_FARM_OWN].answer[COLUMN_DUPLICATES], "yes");
    tear_down(&b);
}

/* 11: glibc 22787, libc is never named by path */
static void libc_stays_bare(void **state UNUSED)
{
    static const struct store_object objects[] = {
        {"app/bin/app", .needed = "libc.so.6", .run_path = "@n0/lib:@glibc/lib"},
    };
    struct bench b;

    set_up(&b, objects, ARRAY_LEN(objects), METHOD_ABSOLUTE_OWN);
    assert_int_equal(b.edits.n, 0);
    assert_non_null(b.why_not);
    tear_down(&b);
}

/* 12: patchelf 520 and 146, files that editors break; 17: brewkit 345, the loader itself */
static void what_editors_break_is_left_alone(void **state UNUSED)
{
    static const struct {
        unsigned layout;
        uint64_t trailing;
        const char *soname, *gate;
    } rows[] = {
        {LAYOUT_GO, 0, NULL, "layout"},
        {LAYOUT_RELRHACK, 0, NULL, "layout"},
        {LAYOUT_DEBUG_ONLY, 0, NULL, "layout"},
        {0, 100000, NULL, "layout"},
        {0, 0, "ld-linux-x86-64.so.2", "loader-or-libc"},
    };
    size_t i;

    for (i = 0; i < ARRAY_LEN(rows); i++) {
        const struct store_object objects[] = {
            {"app/bin/app", .needed = "libfoo.so", .run_path = "@foo/lib", .soname = rows[i].soname,
             .layout = rows[i].layout, .trailing = rows[i].trailing},
            {"foo/lib/libfoo.so", .needed = NULL},
        };
        struct bench b;
        enum method method;

        set_up(&b, objects, ARRAY_LEN(objects), METHOD_NONE);
        for (method = METHOD_FARM_OWN; method < N_METHODS; method++)
            assert_string_equal(gate_of(&b, method), rows[i].gate);
        tear_down(&b);
    }
}

static void the_loader_is_asked_by_name_and_has_no_link(void **state UNUSED)
{
    static const struct store_object objects[] = {
        {"app/bin/app", .needed = "libc.so.6", .run_path = "@n0/lib:@glibc/lib"},
    };
    const struct edit *farm;
    struct bench b;

    set_up(&b, objects, ARRAY_LEN(objects), METHOD_FARM_LIFTED);
    farm = edits_find(&b.edits, EDIT_FARM, NULL);
    assert_int_equal(farm->n_links, 1);
    assert_string_equal(farm->link[0].name, "libc.so.6");
    assert_int_equal(judge(&b, METHOD_FARM_LIFTED, "initrd"), VERDICT_PASS);
    tear_down(&b);
}

/* 13: nixpkgs 535735, a note that is older than the run path must not survive an edit */
static void an_edit_drops_the_note_it_makes_stale(void **state UNUSED)
{
    static const struct store_object objects[] = {
        {"app/bin/app", .needed = "libfoo.so", .run_path = "@n0/lib:@foo/lib"},
        {"foo/lib/libfoo.so", .needed = NULL},
    };
    struct bench b, note;
    struct world *world;
    struct err err;
    struct place at;

    set_up(&b, objects, ARRAY_LEN(objects), METHOD_FARM_OWN);
    set_up(&note, objects, ARRAY_LEN(objects), METHOD_NOTE_OWN);
    world = world_overlay(b.subject.world);
    assert_int_equal(edits_apply(&note.edits, world, b.subject.arena, &err), 0);
    at = world_walk(world, NULL, b.subject.path);
    assert_non_null(world_object(world, at.node)->resolution.bytes);
    assert_int_equal(edits_apply(&b.edits, world, b.subject.arena, &err), 0);
    at = world_walk(world, NULL, b.subject.path);
    assert_null(world_object(world, at.node)->resolution.bytes);
    world_close(world);
    tear_down(&note);
    tear_down(&b);
}

/* 15: nixpkgs 325126, directories that serve declared dlopens are used ones */
static void shrinking_breaks_what_is_opened_later(void **state UNUSED)
{
    static const struct store_object objects[] = {
        {"app/bin/app", .needed = "liba.so", .run_path = "@n0/lib:@a/lib:@b/lib",
         .imports = IMPORT_DLOPEN, .dlopens = "libb.so"},
        {"a/lib/liba.so", .needed = NULL},
        {"b/lib/libb.so", .needed = NULL},
    };
    struct comparison c;
    struct bench b;
    struct err err;

    set_up(&b, objects, ARRAY_LEN(objects), METHOD_FARM_LIFTED);
    assert_int_equal(judge(&b, METHOD_FARM_LIFTED, "dlopen"), VERDICT_PASS);
    assert_int_equal(compare_methods(&b.subject, NULL, false, &c, &err), 0);
    assert_string_equal(c.row[N_METHODS].name, "shrink");
    assert_non_null(strstr(c.row[N_METHODS].says, "dlopen"));
    assert_string_equal(c.row[N_METHODS + 1].name, "cache"); /* run paths stay behind it */
    assert_true(c.row[N_METHODS + 1].known);
    assert_int_equal(c.row[N_METHODS + 1].after.failed_opens, 0);
    assert_true(c.row[N_METHODS + 1].dlopen.opens > 0);
    assert_null(strstr(c.row[N_METHODS + 1].says, "the start itself"));
    b.edits.n = 0; /* the farm alone */
    edit_run_path(&b.edits, b.subject.arena, b.subject.path, store_path(b.store, "@a/lib"));
    assert_int_equal(judge(&b, METHOD_FARM_LIFTED, "dlopen"), VERDICT_FAIL);
    tear_down(&b);
}

/* 19: patchelf's search hints, builds for better CPUs */
static void builds_for_better_cpus_are_mirrored_or_refused(void **state UNUSED)
{
    static const struct store_object objects[] = {
        {"app/bin/app", .needed = "libfoo.so", .run_path = "@n0/lib:@foo/lib"},
        {"foo/lib/libfoo.so", .needed = NULL},
        {"foo/lib/glibc-hwcaps/x86-64-v3/libfoo.so", .needed = NULL, .soname = "libfoo.so"},
    };
    const struct edit *farm;
    struct bench b;

    set_up(&b, objects, ARRAY_LEN(objects), METHOD_NOTE_OWN);
    assert_true(str_starts(list_of(&b, "libfoo.so"), "?"));
    assert_string_equal(gate_of(&b, METHOD_ABSOLUTE_OWN), "hwcaps-variant");
    tear_down(&b);
    set_up(&b, objects, ARRAY_LEN(objects), METHOD_FARM_OWN);
    farm = edits_find(&b.edits, EDIT_FARM, NULL);
    assert_int_equal(farm->n_links, 2);
    assert_string_equal(farm->link[0].name, "glibc-hwcaps/x86-64-v3/libfoo.so");
    assert_int_equal(judge(&b, METHOD_FARM_OWN, "hwcaps"), VERDICT_PASS);
    tear_down(&b);
    set_up(&b, objects, ARRAY_LEN(objects), METHOD_ABSOLUTE_OWN);
    assert_int_equal(judge(&b, METHOD_ABSOLUTE_OWN, "hwcaps"), VERDICT_FAIL);
    tear_down(&b);
}

/* 6: patchelf 182, the same name for another machine first */
static void another_machines_library_is_passed(void **state UNUSED)
{
    static const struct store_object objects[] = {
        {"app/bin/app", .needed = "libfoo.so", .run_path = "@m32/lib:@m64/lib"},
        {"m32/lib/libfoo.so", .needed = NULL, .machine = EM_386},
        {"m64/lib/libfoo.so", .needed = NULL},
    };
    const struct edit *farm;
    struct bench b;

    set_up(&b, objects, ARRAY_LEN(objects), METHOD_FARM_OWN);
    farm = edits_find(&b.edits, EDIT_FARM, NULL);
    assert_string_equal(farm->link[0].target, store_path(b.store, "m64/lib/libfoo.so"));
    assert_int_equal(judge(&b, METHOD_FARM_OWN, "same-libraries"), VERDICT_PASS);
    tear_down(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relative_components_are_hints_and_never_paths),
        cmocka_unit_test(a_directory_that_may_appear_keeps_its_say),
        cmocka_unit_test(a_file_in_a_directorys_place_is_a_hint),
        cmocka_unit_test(a_directory_that_may_not_be_searched_keeps_its_say),
        cmocka_unit_test(versions_follow_their_names),
        cmocka_unit_test(another_machines_library_is_passed),
        cmocka_unit_test(a_library_with_a_token_stays_out_of_the_farm),
        cmocka_unit_test(both_askers_keep_the_build_they_had),
        cmocka_unit_test(libc_stays_bare),
        cmocka_unit_test(what_editors_break_is_left_alone),
        cmocka_unit_test(the_loader_is_asked_by_name_and_has_no_link),
        cmocka_unit_test(an_edit_drops_the_note_it_makes_stale),
        cmocka_unit_test(shrinking_breaks_what_is_opened_later),
        cmocka_unit_test(builds_for_better_cpus_are_mirrored_or_refused),
    };

    return UNIT_RUN(tests);
}
