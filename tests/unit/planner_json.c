/*
 * Plans as JSON: written twice alike, read back whole, refused when anything is off.
 */
#include "planner/package.h"
#include "planner/plan_json.h"
#include "tests/store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static const struct store_object deep[] = {
    {"app-1.5/bin/app", .needed = "liba.so.1 libc.so.6",
     .run_path = "@n1/lib:@n2/lib:@n3/lib:@n4/lib:@a-2/lib:@glibc/lib", .verneed = "libc.so.6"},
    {"a-2/lib/liba.so.1", .needed = "libb.so.1",
     .run_path = "@n1/lib:@n2/lib:@n3/lib:@n4/lib:@b-3/lib"},
    {"b-3/lib/libb.so.1", .needed = "libc1.so",
     .run_path = "@n1/lib:@n2/lib:@n3/lib:@n4/lib:@c/lib"},
    {"c/lib/libc1.so", .needed = "libd\\.so", .run_path = "@n1/lib:@n2/lib:@n3/lib:@n4/lib:@d/lib"},
    {"d/lib/libd\\.so", .needed = "libe.so libf.so libg.so libh.so",
     .run_path = "@n1/lib:@n2/lib:@n3/lib:@n4/lib:@e/lib"},
    {"e/lib/libe.so", .needed = NULL, .imports = IMPORT_DLADDR},
    {"e/lib/libf.so", .needed = NULL},
    {"e/lib/libg.so", .needed = NULL},
    {"e/lib/libh.so", .needed = NULL},
};

static void make_plan(struct store *store, const struct policy *policy, struct plan *ret_plan)
{
    struct subject_query query = {.world = store->world, .policy = policy};
    struct program program = {.path = store_path(store, "app-1.5/bin/app")};
    struct err err;

    store_add(store, deep, ARRAY_LEN(deep));
    assert_int_equal(package_plan(&query, &program, 1, &store->arena, ret_plan, &err), 0);
}

static char *dump(const struct plan *plan, struct store *store)
{
    json_t *json = plan_json(plan, &store->arena);
    char *text = json_dumps(json, JSON_COMPACT);

    json_decref(json);
    return text;
}

static void expect_round_trip(struct store *store, const struct plan *plan, const char *strategy)
{
    char *first = dump(plan, store), *second;
    json_t *json = json_loads(first, JSON_REJECT_DUPLICATES, NULL);
    struct plan back;
    struct err err;

    assert_non_null(json);
    if (plan_parse(json, "test", &store->arena, &back, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(back.object[0].strategy, strategy);
    assert_int_equal(back.object[0].edits.n, plan->object[0].edits.n);
    second = dump(&back, store);
    assert_string_equal(first, second);
    json_decref(json);
    free(first);
    free(second);
}

static void every_strategy_survives_a_round_trip(void **state UNUSED)
{
    static const struct {
        const char *strategy;
        struct policy policy;
    } rows[] = {
        {"farm", {.overrides = true}},
        {"absolute", {.absolute = true}},
        {"note", {.reader = READER_B, .lift_saving = 1000}},
        {"none", {.overrides = true, .min_saving = 1000}},
    };
    size_t i;

    for (i = 0; i < ARRAY_LEN(rows); i++) {
        struct store *store = store_new();
        struct policy policy = rows[i].policy;
        struct plan plan;

        policy.name = "test";
        policy.store = store->policy.store;
        policy.n_stores = store->policy.n_stores;
        make_plan(store, &policy, &plan);
        expect_round_trip(store, &plan, rows[i].strategy);
        store_free(store);
    }
}

static void equal_facts_give_equal_bytes(void **state UNUSED)
{
    struct store *a = store_new(), *b = store_new();
    struct plan one, two;
    char *first, *second;

    make_plan(a, &a->policy, &one);
    make_plan(b, &b->policy, &two);
    first = dump(&one, a);
    second = dump(&two, b);
    assert_string_equal(first, second);
    free(first);
    free(second);
    store_free(a);
    store_free(b);
}

/* No hash of a store path outside of what is evidence, and of reasons. */
static void edits_are_told_without_hashes(void **state UNUSED)
{
    struct store *store = store_new();
    struct plan plan;
    json_t *json, *object;
    char *text;

    make_plan(store, &store->policy, &plan);
    json = plan_json(&plan, &store->arena);
    object = json_array_get(json_object_get(json, "objects"), 0);
    text = json_dumps(json_object_get(object, "edits"), JSON_COMPACT);
    assert_non_null(strstr(text, "/nix/store/*-app-1.5/nix-support/stormlint/farm"));
    assert_non_null(strstr(text, "/nix/store/*-e/lib:")); /* the directory behind the farm */
    assert_null(strstr(text, store_path(store, "a-2")));
    free(text);
    text = json_dumps(json_object_get(object, "expect"), JSON_COMPACT);
    assert_null(strstr(text, store_path(store, "a-2")));
    assert_non_null(strstr(text, "/nix/store/*-a-2/lib"));
    free(text);
    json_decref(json);
    store_free(store);
}

/* One change to a good plan, as text, and what the refusal says. */
static const struct {
    const char *from, *to, *says;
} refusals[] = {
    {"\"stormlint-plan/1\"", "\"stormlint-plan/2\"", "schema"},
    {"\"schema\":\"stormlint-plan/1\",", "", "schema"},
    {"\"cpu\":\"x86-64-v3\",\"objects\"", "\"cpu\":3,\"objects\"", "the plan"},
    {"\"cpu\":\"x86-64-v3\",\"objects\"", "\"cpu\":\"x86-64-v3\",\"more\":1,\"objects\"", "more"},
    {"\"output\":\"out\"", "\"output\":null", "key"},
    {"\"stores\":[", "\"shops\":[", "stores"},
    {"\"strategy\":\"farm\",\"scope\":\"lifted\",\"rule\"",
     "\"strategy\":\"farm\",\"scope\":\"own\",\"rule\"", "chosen option"},
    {"\"standing\":\"chosen\"", "\"standing\":\"lost\"", "exactly one"},
    {"\"standing\":\"lost\"", "\"standing\":\"forgotten\"", "standing: no such word"},
    {"\"strategy\":\"note\",\"scope\":\"closure\"", "\"strategy\":\"note\",\"scope\":\"lifted\"",
     "no such strategy and scope"},
    {"\"edit\":\"needed\"", "\"edit\":\"wanted\"", "no such kind"},
    {"\"edit\":\"run-path\"", "\"edit\":\"needed\"", "do not fit"},
    {"\"run_path\":\"/nix/store/*", "\"run_path\":\"/nix/store/+", "do not tell the same"},
    {"\"verdict\":\"pass\"", "\"verdict\":\"fine\"", "verdict"},
    {"\"failed_opens\":", "\"failed_opens\":-", "counts"},
    {"\"failed_stats\":", "\"failed_stat\":", "counts"},
    {"\"left_out\":0", "\"left_out\":-1", "verdict"},
    {"\"libraries\":", "\"libraries\":-", "count"},
    {"\"notes\":[", "\"notes\":[7,", "strings"},
    {"\"soname\":null", "\"soname\":[]", "string or null"},
    {"\"liba.so.1\":\"/nix", "\"../a.so.1\":\"/nix", "names inside the farm"},
    {"\"libb.so.1\":\"/nix", "\"liba.so.0\":\"/nix", "sorted"},
};

static char *replace_last(const char *text, const char *from, const char *to, struct store *store)
{
    const char *at = NULL, *next;

    for (next = strstr(text, from); next; next = strstr(next + 1, from))
        at = next;
    if (!at)
        fail_msg("the plan has no %s", from);
    return arena_printf(&store->arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void anything_off_is_refused(void **state UNUSED)
{
    struct store *store = store_new();
    struct plan plan, back;
    char *text;
    size_t i;

    make_plan(store, &store->policy, &plan);
    text = dump(&plan, store);
    for (i = 0; i < ARRAY_LEN(refusals); i++) {
        /* the first telling of strategy and scope is the object's, the last of edits evidence */
        char *broken = replace_last(text, refusals[i].from, refusals[i].to, store);
        json_t *json = json_loads(broken, JSON_REJECT_DUPLICATES, NULL);
        struct err err = {0};

        if (strstr(refusals[i].says, "chosen option")) {
            json_t *object;

            json_decref(json);
            json = json_loads(text, 0, NULL);
            object = json_array_get(json_object_get(json, "objects"), 0);
            json_object_set_new(object, "scope", json_string("own"));
        }
        if (!json)
            fail_msg("%s -> %s is no JSON", refusals[i].from, refusals[i].to);
        if (plan_parse(json, "test", &store->arena, &back, &err) == 0)
            fail_msg("accepted: %s -> %s", refusals[i].from, refusals[i].to);
        if (!strstr(err.text, refusals[i].says))
            fail_msg("%s -> %s: '%s' does not say '%s'", refusals[i].from, refusals[i].to, err.text,
                     refusals[i].says);
        json_decref(json);
    }
    free(text);
    store_free(store);
}

/* Whatever is written can be read: nobody wants to learn only when applying that it cannot. */
static void a_plan_of_any_size_is_read_back(void **state UNUSED)
{
    enum { NOTES = 70, NOTE = 1 << 20 };
    struct store *store = store_new();
    char path[] = "/tmp/plan-XXXXXX";
    FILE *to = fdopen(mkstemp(path), "w");
    struct plan plan, back;
    const char **note = arena_calloc(&store->arena, NOTES, sizeof(*note));
    struct err err = {0};
    json_t *json;
    int r;

    assert_non_null(to);
    make_plan(store, &store->policy, &plan);
    for (size_t i = 0; i < NOTES; i++)
        note[i] = memset(arena_calloc(&store->arena, NOTE + 1, 1), 'n', NOTE);
    plan.object[0].note = note;
    plan.object[0].n_notes = NOTES;
    json = plan_json(&plan, &store->arena);
    assert_int_equal(json_print(json, to, true, &err), 0);
    assert_int_equal(fclose(to), 0);
    json_decref(json);
    r = plan_read(path, &store->arena, &back, &err);
    unlink(path);
    if (r < 0)
        fail_msg("%s", err.text);
    assert_int_equal(back.object[0].n_notes, NOTES);
    store_free(store);
}

static void policies_are_read_strictly(void **state UNUSED)
{
    static const struct {
        const char *text, *says; /* says NULL: accepted */
    } rows[] = {
        {"{\"schema\": \"stormlint-policy/1\"}", NULL},
        {"{\"schema\": \"stormlint-policy/1\", \"cpu\": \"x86-64-v4\", \"overrides\": false,"
         " \"stores\": [\"/opt/spack\"], \"allowed_references\": [\"/opt/spack/x\"]}",
         NULL},
        {"{\"schema\": \"stormlint-policy/2\"}", "expected 'stormlint-policy/1'"},
        {"{\"cpu\": \"x86-64-v4\"}", "schema"},
        {"{\"schema\": \"stormlint-policy/1\", \"overrid\": true}", "overrid"},
        {"{\"schema\": \"stormlint-policy/1\", \"reader\": \"maybe\"}", "none of none"},
        {"{\"schema\": \"stormlint-policy/1\", \"min_saving\": -1}", "none below zero"},
        {"{\"schema\": \"stormlint-policy/1\", \"stores\": [\"nix\"]}", "absolute paths"},
        {"[]", "schema"},
        {"{\"schema\": \"stormlint-policy/1\", \"based_on\": \"resolver\", \"max_inodes\": 9,"
         " \"required\": [\"dlopen\"], \"rules\": [{\"id\": \"x\", \"match\": {\"soname\":"
         " [\"libx.so.*\"]}, \"absolute\": \"bare\", \"why\": \"w\"}], \"packages\": [{\"pname\":"
         " \"a*\", \"strategy\": \"none\", \"reason\": \"r\"}]}",
         NULL},
        {"{\"schema\": \"stormlint-policy/1\", \"based_on\": \"nobody\"}", "is no policy"},
        {"{\"schema\": \"stormlint-policy/1\", \"rules\": [{\"id\": \"x\", \"match\": {\"colour\":"
         " [\"red\"]}, \"why\": \"w\"}]}",
         "colour"},
        {"{\"schema\": \"stormlint-policy/1\", \"packages\": [{\"pname\": \"a\"}]}", "packages[0]"},
        {"{\"schema\": \"stormlint-policy/1\", \"packages\": [{\"pname\": \"a\", \"strategy\":"
         " \"frm\", \"reason\": \"r\"}]}",
         "no strategy 'frm'"},
        {"{\"schema\": \"stormlint-policy/1\", \"packages\": [{\"pname\": \"a\", \"strategy\":"
         " \"farm\", \"scope\": \"closure\", \"reason\": \"r\"}]}",
         "no strategy 'farm closure'"},
        {"{\"schema\": \"stormlint-policy/1\", \"required\": [\"ld-librarypath\"]}",
         "no criterion 'ld-librarypath'"},
        {"{\"schema\": \"stormlint-policy/1\", \"cpu\": \"z80\"}", "no CPU of that name"},
        {"{\"schema\": \"stormlint-policy/1\", \"min_percent\": 101}", "100 or less"},
        {"{\"schema\": \"stormlint-policy/1\", \"based_on\": 1}", "is no policy"},
    };
    CLEANUP(arena_release) struct arena arena = {0};
    size_t i;

    for (i = 0; i < ARRAY_LEN(rows); i++) {
        char path[] = "/tmp/policy-XXXXXX";
        struct policy policy;
        struct err err = {0};
        int fd = mkstemp(path), r;

        assert_true(fd >= 0);
        assert_int_equal(write(fd, rows[i].text, strlen(rows[i].text)), strlen(rows[i].text));
        close(fd);
        r = policy_read(path, &arena, &policy, &err);
        unlink(path);
        if ((r == 0) != (rows[i].says == NULL) || (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("%s: %s", rows[i].text, err.text);
    }
}

/* A directory is the same with a slash at its end: a store that nothing lies in would be none. */
static void policies_take_final_slashes(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    json_t *json =
        json_loads("{\"schema\": \"stormlint-policy/1\", \"stores\": [\"/opt/spack//\"]}", 0, NULL);
    struct policy policy;
    struct err err = {0};

    assert_int_equal(policy_parse(json, "here", &arena, &policy, &err), 0);
    json_decref(json);
    assert_string_equal(policy_package(&policy, &arena, "/opt/spack/x/lib"), "/opt/spack/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_survives_a_round_trip),
        cmocka_unit_test(equal_facts_give_equal_bytes),
        cmocka_unit_test(edits_are_told_without_hashes),
        cmocka_unit_test(anything_off_is_refused),
        cmocka_unit_test(a_plan_of_any_size_is_read_back),
        cmocka_unit_test(policies_are_read_strictly),
        cmocka_unit_test(policies_take_final_slashes),
    };

    return UNIT_RUN(tests);
}
