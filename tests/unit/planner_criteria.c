/*
 * Each criterion: passes for edits that keep what it asks about, fails for edits that break it.
 */
#include "base/str.h"
#include "tests/store.h"

#include <string.h>

#include "tests/unit/unit.h"

static const struct store_object plain[] = {
    {"app/bin/app", .needed = "liba.so.1 libb.so.1 libc.so.6",
     .run_path = "@a/lib:@b/lib:@extra/lib:@glibc/lib", .verneed = "liba.so.1"},
    {"a/lib/liba.so.1", .needed = "libd.so libc.so.6", .run_path = "@d/lib:@glibc/lib"},
    {"b/lib/libb.so.1", .needed = "libe.so libd.so", .run_path = "@e/lib:@d/lib"},
    {"d/lib/libd.so", .needed = "libc.so.6", .run_path = "@glibc/lib"},
    {"e/lib/libe.so", .needed = "libc.so.6", .run_path = "@glibc/lib"},
    {"extra/lib/libextra.so", .needed = NULL},
};

struct bench {
    struct store *store;
    struct subject subject;
    struct edits edits;
    struct verdicts verdicts;
};

static void set_up(struct bench *b, const struct store_object *more, size_t n)
{
    *b = (struct bench){.store = store_new()};
    store_add(b->store, plain, ARRAY_LEN(plain));
    if (n)
        store_add(b->store, more, n);
    store_subject(b->store, "app/bin/app", &b->subject);
}

static void propose(struct bench *b, enum method method)
{
    const char *why_not = NULL;
    struct err err;

    assert_int_equal(strategy_propose(strategy_of(method), &b->subject, &b->edits, &why_not, &err),
                     0);
    assert_null(why_not);
}

static const struct judgement *judge(struct bench *b, enum method method, const char *criterion)
{
    struct trial trial;
    struct err err;
    size_t i;

    assert_int_equal(trial_init(&trial, &b->subject, &err), 0);
    assert_int_equal(criteria_judge(&trial, method, &b->edits, &b->verdicts, &err), 0);
    trial_release(&trial);
    for (i = 0; i < N_CRITERIA; i++)
        if (!strcmp(criteria()[i].id, criterion))
            return &b->verdicts.judgement[i];
    fail_msg("no criterion %s", criterion);
    return NULL;
}

static void expect(struct bench *b, enum method method, const char *criterion, enum verdict verdict)
{
    const struct judgement *j = judge(b, method, criterion);

    if (j->verdict != verdict)
        fail_msg("%s: %s: %s", criterion, verdict_name(j->verdict), j->reason);
    assert_true(j->reason[0] != '\0');
}

/* Swap two names of the lifted list. */
static void swap(struct bench *b, size_t i, size_t k)
{
    struct edit *e = &b->edits.item[0];
    const char *name;

    while (e->kind != EDIT_NEEDED)
        e++;
    name = e->needed[i];
    e->needed[i] = e->needed[k];
    e->needed[k] = name;
}

/* Make the farm lead a name elsewhere. */
static void lead(struct bench *b, const char *name, const char *target)
{
    struct edit *e = &b->edits.item[0];
    size_t i;

    for (i = 0; i < e->n_links; i++)
        if (!strcmp(e->link[i].name, name))
            e->link[i].target = store_path(b->store, target);
}

static void same_libraries(void **state UNUSED)
{
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "same-libraries", VERDICT_PASS);
    assert_false(b.verdicts.fails);
    swap(&b, 0, 3);
    expect(&b, METHOD_FARM_LIFTED, "same-libraries", VERDICT_FAIL);
    assert_true(b.verdicts.fails);
    swap(&b, 0, 3);
    lead(&b, "libd.so", "extra/lib/libextra.so");
    expect(&b, METHOD_FARM_LIFTED, "same-libraries", VERDICT_FAIL);
    store_free(b.store);
}

static void library_path(void **state UNUSED)
{
    const struct judgement *j;
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "ld-library-path", VERDICT_PASS);
    propose(&b, METHOD_FARM_OWN);
    expect(&b, METHOD_FARM_OWN, "ld-library-path", VERDICT_PASS);
    propose(&b, METHOD_ABSOLUTE_LIFTED);
    j = judge(&b, METHOD_ABSOLUTE_LIFTED, "ld-library-path");
    assert_int_equal(j->verdict, VERDICT_FAIL);
    assert_int_equal(j->n_evidence, 4); /* a b d e: libc stays bare */
    assert_string_equal(j->evidence[0].soname, "liba.so.1");
    assert_string_equal(j->evidence[0].after, store_path(b.store, "a/lib/liba.so.1"));
    /* own names alone: c is asked for by the others, too, but known by then */
    propose(&b, METHOD_ABSOLUTE_OWN);
    j = judge(&b, METHOD_ABSOLUTE_OWN, "ld-library-path");
    assert_int_equal(j->verdict, VERDICT_FAIL);
    assert_int_equal(j->n_evidence, 2);
    /* where overrides need not win it is a warning */
    b.store->policy.overrides = false;
    expect(&b, METHOD_ABSOLUTE_OWN, "ld-library-path", VERDICT_WARN);
    assert_false(b.verdicts.fails);
    store_free(b.store);
}

static void an_order_that_only_overrides_show_is_bisected(void **state UNUSED)
{
    /* as built libx comes through libd alone; a list that asks for it first loads it first */
    static const struct store_object more[] = {
        {"d/lib/libd.so", .needed = "libx.so libc.so.6", .run_path = "@x/lib:@glibc/lib"},
        {"x/lib/libx.so", .needed = NULL},
    };
    const struct judgement *j;
    struct bench b;

    set_up(&b, more, ARRAY_LEN(more));
    propose(&b, METHOD_FARM_LIFTED);
    swap(&b, 1, 3);
    j = judge(&b, METHOD_FARM_LIFTED, "ld-library-path");
    assert_int_equal(j->verdict, VERDICT_FAIL);
    assert_true(j->n_evidence > 0);
    store_free(b.store);
}

static void preload(void **state UNUSED)
{
    const struct judgement *j;
    struct bench b;
    size_t i;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_LIFTED);
    j = judge(&b, METHOD_FARM_LIFTED, "ld-preload");
    assert_true(j->verdict == VERDICT_PASS || j->verdict == VERDICT_WARN);
    /* without the old run path libextra.so is found by name no more */
    for (i = 0; i < b.edits.n; i++)
        if (b.edits.item[i].kind == EDIT_RUN_PATH)
            b.edits.item[i].run_path = b.subject.farm;
    j = judge(&b, METHOD_FARM_LIFTED, "ld-preload");
    assert_int_equal(j->verdict, VERDICT_FAIL);
    assert_string_equal(j->evidence[0].soname, "libextra.so");
    propose(&b, METHOD_ABSOLUTE_LIFTED);
    expect(&b, METHOD_ABSOLUTE_LIFTED, "ld-preload", VERDICT_FAIL);
    store_free(b.store);
}

static void duplicate_soname(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"e/lib/libd.so", .needed = "libc.so.6", .run_path = "@glibc/lib"},
    };
    const struct judgement *j;
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "duplicate-soname", VERDICT_NOT_APPLICABLE);
    store_free(b.store);
    set_up(&b, more, ARRAY_LEN(more));
    propose(&b, METHOD_FARM_LIFTED);
    j = judge(&b, METHOD_FARM_LIFTED, "duplicate-soname");
    assert_int_equal(j->verdict, VERDICT_PASS);
    assert_string_equal(j->evidence[0].soname, "libd.so");
    assert_string_equal(j->evidence[0].object, store_path(b.store, "e/lib/libd.so"));
    lead(&b, "libd.so", "e/lib/libd.so");
    expect(&b, METHOD_FARM_LIFTED, "duplicate-soname", VERDICT_FAIL);
    store_free(b.store);
}

static void hwcaps(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"d/lib/glibc-hwcaps/x86-64-v3/libd.so", .needed = "libc.so.6", .run_path = "@glibc/lib"},
    };
    const struct judgement *j;
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "hwcaps", VERDICT_NOT_APPLICABLE);
    store_free(b.store);
    set_up(&b, more, ARRAY_LEN(more));
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "hwcaps", VERDICT_PASS);
    assert_false(b.verdicts.fails);
    /* a farm that forgets the variant, and one made from what this CPU loaded */
    lead(&b, "glibc-hwcaps/x86-64-v3/libd.so", "d/lib/libd.so");
    j = judge(&b, METHOD_FARM_LIFTED, "hwcaps");
    assert_int_equal(j->verdict, VERDICT_FAIL);
    assert_string_equal(j->evidence[0].note, "x86-64-v3");
    propose(&b, METHOD_FARM_LIFTED);
    lead(&b, "libd.so", "d/lib/glibc-hwcaps/x86-64-v3/libd.so");
    expect(&b, METHOD_FARM_LIFTED, "same-libraries", VERDICT_FAIL);
    store_free(b.store);
}

static void self_location(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"d/lib/libd.so", .needed = "libc.so.6", .run_path = "@glibc/lib",
         .imports = IMPORT_DLINFO},
    };
    const struct judgement *j;
    struct bench b;
    size_t i;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "self-location", VERDICT_NOT_APPLICABLE);
    store_free(b.store);
    set_up(&b, more, ARRAY_LEN(more));
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "self-location", VERDICT_PASS);
    assert_int_equal(b.verdicts.after[2].failed_opens, 1 + 2 + 2); /* farm, its and d's levels */
    /* put it into the farm after all */
    b.edits.item[0].link = arena_memdup(&b.store->arena, b.edits.item[0].link,
                                        (b.edits.item[0].n_links + 1) * sizeof(struct farm_link));
    for (i = 0; i < b.edits.item[0].n_links; i++)
        if (!strcmp(b.edits.item[0].link[i].name, "libe.so"))
            break;
    b.edits.item[0].link[b.edits.item[0].n_links++] =
        (struct farm_link){"libd.so", store_path(b.store, "d/lib/libd.so")};
    j = judge(&b, METHOD_FARM_LIFTED, "self-location");
    assert_int_equal(j->verdict, VERDICT_FAIL);
    assert_string_equal(j->evidence[0].soname, "libd.so");
    assert_string_equal(j->evidence[0].before, store_path(b.store, "d/lib/libd.so"));
    store_free(b.store);
}

static void references(void **state UNUSED)
{
    static const struct store_object far = {"far/lib/libfar.so", .needed = NULL};
    const struct judgement *j;
    struct bench b;

    set_up(&b, &far, 1);
    propose(&b, METHOD_FARM_LIFTED);
    j = judge(&b, METHOD_FARM_LIFTED, "references");
    assert_int_equal(j->verdict, VERDICT_PASS);
    assert_true(str_starts(j->reason, "2 store paths are newly referenced")); /* d and e */
    assert_non_null(strstr(j->reason, "not told"));
    lead(&b, "libd.so", "far/lib/libfar.so");
    j = judge(&b, METHOD_FARM_LIFTED, "references");
    assert_int_equal(j->verdict, VERDICT_WARN);
    assert_string_equal(j->evidence[0].object, store_path(b.store, "far"));
    store_free(b.store);
}

static void size(void **state UNUSED)
{
    const struct judgement *j;
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_LIFTED);
    j = judge(&b, METHOD_FARM_LIFTED, "size");
    assert_int_equal(j->verdict, VERDICT_PASS);
    assert_true(str_starts(j->reason, "6 inodes (5 links, 1 directory;"));
    assert_non_null(strstr(j->reason, "by 3 entries")); /* d, e and the loader */
    store_free(b.store);
}

static void version_needs(void **state UNUSED)
{
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_ABSOLUTE_LIFTED);
    expect(&b, METHOD_ABSOLUTE_LIFTED, "version-needs", VERDICT_PASS);
    b.edits.item[1] = b.edits.item[--b.edits.n]; /* without the renames */
    assert_null(edits_find(&b.edits, EDIT_VERNEED, NULL));
    expect(&b, METHOD_ABSOLUTE_LIFTED, "version-needs", VERDICT_FAIL);
    store_free(b.store);
}

static void notes_are_judged_under_a_reader(void **state UNUSED)
{
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_NOTE_OWN);
    expect(&b, METHOD_NOTE_OWN, "same-libraries", VERDICT_PASS);
    assert_false(b.verdicts.fails);
    assert_true(b.verdicts.after[2].failed_opens < b.subject.trace->storm.failed_opens);
    store_free(b.store);
}

/* ---- what hosts replace */

static const struct store_object driving[] = {
    {"b/lib/libb.so.1", .needed = "libGL.so.1 libe.so libd.so",
     .run_path = "@gl/lib:@e/lib:@d/lib"},
    {"gl/lib/libGL.so.1", .needed = "libGLdispatch.so.0", .run_path = "@gl/lib"},
    {"gl/lib/libGLdispatch.so.0", .needed = NULL},
};

/* As nixpkgs has it: the driver link is in front of the run path. */
static const struct store_object link_first[] = {
    {"app/bin/app", .needed = "liba.so.1 libb.so.1",
     .run_path = "/run/opengl-driver/lib:@a/lib:@b/lib"},
    {"a/lib/liba.so.1", .needed = "libd.so", .run_path = "/run/opengl-driver/lib:@d/lib"},
    {"b/lib/libb.so.1", .needed = "libe.so libd.so",
     .run_path = "/run/opengl-driver/lib:@e/lib:@d/lib"},
    {"d/lib/libd.so", .needed = NULL},
    {"e/lib/libe.so", .needed = NULL},
};

static void override_needed(void **state UNUSED)
{
    static const char *const env[] = {"LD_LIBRARY_PATH=/run/opengl-driver/lib"};
    const struct judgement *j;
    struct bench b;

    set_up(&b, driving, ARRAY_LEN(driving));
    propose(&b, METHOD_FARM_OWN);
    expect(&b, METHOD_FARM_OWN, "override-needed", VERDICT_PASS);
    propose(&b, METHOD_FARM_LIFTED);
    j = judge(&b, METHOD_FARM_LIFTED, "override-needed");
    assert_int_equal(j->verdict, VERDICT_WARN);
    assert_string_equal(j->evidence[0].soname, "libGL.so.1");
    b.store->env = env; /* now the host does replace them */
    b.store->n_env = 1;
    store_subject(b.store, "app/bin/app", &b.subject);
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "override-needed", VERDICT_FAIL);
    store_free(b.store);
    set_up(&b, link_first, ARRAY_LEN(link_first));
    propose(&b, METHOD_FARM_OWN);
    expect(&b, METHOD_FARM_OWN, "override-needed", VERDICT_PASS);
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "override-needed", VERDICT_FAIL);
    store_free(b.store);
}

static void glvnd_switch(void **state UNUSED)
{
    struct edit *e;
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_OWN);
    expect(&b, METHOD_FARM_OWN, "glvnd-switch", VERDICT_NOT_APPLICABLE);
    store_free(b.store);
    set_up(&b, driving, ARRAY_LEN(driving));
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "glvnd-switch", VERDICT_PASS);
    propose(&b, METHOD_ABSOLUTE_LIFTED); /* these edges stay bare */
    expect(&b, METHOD_ABSOLUTE_LIFTED, "glvnd-switch", VERDICT_PASS);
    store_free(b.store);
    set_up(&b, link_first, ARRAY_LEN(link_first));
    propose(&b, METHOD_FARM_OWN);
    expect(&b, METHOD_FARM_OWN, "glvnd-switch", VERDICT_PASS);
    for (e = b.edits.item; e->kind != EDIT_RUN_PATH; e++)
        ;
    e->run_path += strlen("/run/opengl-driver/lib:"); /* the link loses its place */
    expect(&b, METHOD_FARM_OWN, "glvnd-switch", VERDICT_FAIL);
    store_free(b.store);
}

/* ---- more than a plain start */

static void secure_exec(void **state UNUSED)
{
    struct edit *e;
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "secure-exec", VERDICT_PASS);
    for (e = b.edits.item; e->kind != EDIT_RUN_PATH; e++)
        ;
    e->run_path = "$ORIGIN/../nix-support/stormlint/farm"; /* set-id starts do not expand it */
    expect(&b, METHOD_FARM_LIFTED, "same-libraries", VERDICT_PASS);
    expect(&b, METHOD_FARM_LIFTED, "secure-exec", VERDICT_FAIL);
    store_free(b.store);
}

static void hwcaps_floor(void **state UNUSED)
{
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "hwcaps-floor", VERDICT_WARN);
    assert_non_null(strstr(judge(&b, METHOD_FARM_LIFTED, "hwcaps-floor")->evidence[0].object,
                           "/glibc-hwcaps/x86-64-v3/"));
    store_free(b.store);
    b.store = store_new(); /* nothing but absolute names, and no libc: nothing is searched */
    store_add(b.store,
              &(struct store_object){"app/bin/app", .needed = "liba.so", .run_path = "@a/lib"}, 1);
    store_add(b.store, &(struct store_object){"a/lib/liba.so", .needed = NULL}, 1);
    store_subject(b.store, "app/bin/app", &b.subject);
    propose(&b, METHOD_ABSOLUTE_LIFTED);
    expect(&b, METHOD_ABSOLUTE_LIFTED, "hwcaps-floor", VERDICT_PASS);
    store_free(b.store);
}

/* ---- strings, files and data */

static void initrd(void **state UNUSED)
{
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "initrd", VERDICT_PASS);
    propose(&b, METHOD_ABSOLUTE_LIFTED);
    expect(&b, METHOD_ABSOLUTE_LIFTED, "initrd", VERDICT_WARN); /* it is not required */
    assert_string_equal(judge(&b, METHOD_ABSOLUTE_LIFTED, "initrd")->evidence[0].soname,
                        store_path(b.store, "a/lib/liba.so.1"));
    store_free(b.store);
}

static void graft_safe(void **state UNUSED)
{
    struct edit *e;
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_OWN);
    expect(&b, METHOD_FARM_OWN, "graft-safe", VERDICT_PASS);
    propose(&b, METHOD_FARM_LIFTED); /* a copy of the graph */
    expect(&b, METHOD_FARM_LIFTED, "graft-safe", VERDICT_WARN);
    propose(&b, METHOD_FARM_OWN);
    for (e = b.edits.item; e->kind != EDIT_RUN_PATH; e++)
        ;
    e->run_path = arena_printf(&b.store->arena, "%s:/nix/store/plain/lib", e->run_path);
    expect(&b, METHOD_FARM_OWN, "graft-safe", VERDICT_WARN);
    assert_string_equal(judge(&b, METHOD_FARM_OWN, "graft-safe")->evidence[0].object,
                        "/nix/store/plain/lib");
    store_free(b.store);
}

static void needs_and_maintenance(void **state UNUSED)
{
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_OWN);
    expect(&b, METHOD_FARM_OWN, "needs", VERDICT_PASS);
    expect(&b, METHOD_FARM_OWN, "maintenance", VERDICT_PASS);
    expect(&b, METHOD_FARM_OWN, "cross", VERDICT_PASS);
    propose(&b, METHOD_NOTE_OWN);
    expect(&b, METHOD_NOTE_OWN, "needs", VERDICT_WARN); /* no such loader here */
    expect(&b, METHOD_NOTE_OWN, "maintenance", VERDICT_WARN);
    b.store->policy.reader = READER_B;
    expect(&b, METHOD_NOTE_OWN, "needs", VERDICT_PASS);
    store_free(b.store);
}

static void rewrite_safety(void **state UNUSED)
{
    static const struct store_object go = {"app/bin/app", .needed = "liba.so.1",
                                           .run_path = "@a/lib", .layout = LAYOUT_GO};
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_OWN);
    expect(&b, METHOD_FARM_OWN, "rewrite-safety", VERDICT_PASS);
    store_free(b.store);
    set_up(&b, &go, 1);
    propose(&b, METHOD_FARM_OWN);
    expect(&b, METHOD_FARM_OWN, "rewrite-safety", VERDICT_FAIL);
    store_free(b.store);
}

static void budgets(void **state UNUSED)
{
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_FARM_LIFTED);
    expect(&b, METHOD_FARM_LIFTED, "size", VERDICT_PASS);
    expect(&b, METHOD_FARM_LIFTED, "references", VERDICT_PASS);
    b.store->policy.max_inodes = 3;
    expect(&b, METHOD_FARM_LIFTED, "size", VERDICT_FAIL);
    b.store->policy.max_inodes = 0;
    b.store->policy.max_bytes = 10;
    expect(&b, METHOD_FARM_LIFTED, "size", VERDICT_FAIL);
    b.store->policy.max_bytes = 0;
    b.store->policy.max_references = 1;
    expect(&b, METHOD_FARM_LIFTED, "references", VERDICT_FAIL);
    store_free(b.store);
}

static void a_policy_says_what_is_required(void **state UNUSED)
{
    static const char *only[] = {"initrd"};
    struct bench b;

    set_up(&b, NULL, 0);
    propose(&b, METHOD_ABSOLUTE_LIFTED);
    b.store->policy.required = only;
    b.store->policy.n_required = 1;
    expect(&b, METHOD_ABSOLUTE_LIFTED, "initrd", VERDICT_FAIL);
    assert_true(b.verdicts.fails);
    expect(&b, METHOD_ABSOLUTE_LIFTED, "ld-library-path", VERDICT_WARN);
    store_free(b.store);
}

static void the_table(void **state UNUSED)
{
    size_t i, k;

    for (i = 0; i < N_CRITERIA; i++) {
        assert_non_null(criteria()[i].judge);
        assert_true(criteria()[i].question[strlen(criteria()[i].question) - 1] == '?');
        for (k = 0; k < i; k++)
            assert_string_not_equal(criteria()[i].id, criteria()[k].id);
    }
    for (i = VERDICT_PASS; i <= VERDICT_NOT_APPLICABLE; i++)
        assert_int_equal(verdict_find(verdict_name((enum verdict)i)), (int)i);
    assert_int_equal(verdict_find("maybe"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_libraries),
        cmocka_unit_test(library_path),
        cmocka_unit_test(an_order_that_only_overrides_show_is_bisected),
        cmocka_unit_test(preload),
        cmocka_unit_test(duplicate_soname),
        cmocka_unit_test(hwcaps),
        cmocka_unit_test(self_location),
        cmocka_unit_test(references),
        cmocka_unit_test(size),
        cmocka_unit_test(version_needs),
        cmocka_unit_test(notes_are_judged_under_a_reader),
        cmocka_unit_test(override_needed),
        cmocka_unit_test(glvnd_switch),
        cmocka_unit_test(secure_exec),
        cmocka_unit_test(hwcaps_floor),
        cmocka_unit_test(initrd),
        cmocka_unit_test(graft_safe),
        cmocka_unit_test(needs_and_maintenance),
        cmocka_unit_test(rewrite_safety),
        cmocka_unit_test(budgets),
        cmocka_unit_test(a_policy_says_what_is_required),
        cmocka_unit_test(the_table),
    };

    return UNIT_RUN(tests);
}
