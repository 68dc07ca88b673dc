/*
 * Roots, libraries, whole packages: what is no program, and what is planned with it.
 */
#include "planner/compare.h"
#include "planner/cost.h"
#include "planner/package.h"
#include "planner/plan_json.h"
#include "tests/store.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

static const struct store_object parts[] = {
    {"host/bin/host", .needed = "libc.so.6", .run_path = "@glibc/lib"},
    {"plug/lib/plugins/deep.so", .soname = "", .needed = "liba.so libb.so libc.so.6",
     .run_path = "@n0/lib:@n1/lib:@n2/lib:@n3/lib:@n4/lib:@a/lib:@b/lib:@glibc/lib"},
    {"plug/lib/libplug.so", .needed = "libb.so liba.so libx.so",
     .run_path = "@n0/lib:@n1/lib:@n2/lib:@n3/lib:@n4/lib:@n5/lib:@n6/lib:@n7/lib:@n8/lib:@n9/lib:"
                 "@b/lib:@a/lib:@x/lib:@glibc/lib"},
    {"plug/lib/plugins/plain.so", .soname = "", .needed = "libc.so.6", .run_path = "@glibc/lib"},
    {"plug/lib/plugins/lost.so", .soname = "", .needed = "libb.so", .run_path = "@b/lib"},
    {"a/lib/liba.so", .needed = "libx.so liby.so",
     .run_path = "@n0/lib:@n1/lib:@n2/lib:@n3/lib:@x/lib:@y/lib"},
    {"b/lib/libb.so", .needed = "libz.so libw.so",
     .run_path = "@n0/lib:@n1/lib:@n2/lib:@n3/lib:@z/lib:@w/lib"},
    {"x/lib/libx.so", .needed = NULL},
    {"y/lib/liby.so", .needed = NULL},
    {"z/lib/libz.so", .needed = NULL},
    {"w/lib/libw.so", .needed = NULL},
};

static struct store *make(void)
{
    struct store *store = store_new();

    store_add(store, parts, ARRAY_LEN(parts));
    return store;
}

static void plan_package(struct store *store, const struct name_set *needed, struct plan *ret_plan)
{
    const struct subject_query query = {
        .world = store->world, .policy = &store->policy, .all_objects = true, .needed = needed};
    struct program *program;
    struct err err = {0};
    size_t n;

    assert_int_equal(
        package_programs(&query, store_path(store, "@plug"), &store->arena, &program, &n, &err), 0);
    if (package_plan(&query, program, n, &store->arena, ret_plan, &err) < 0)
        fail_msg("%s", err.text);
}

/* What is left out of a plan must not be left out in silence. */
static void a_package_too_large_is_refused(void **state UNUSED)
{
    struct store *store = store_new();
    const struct subject_query query = {
        .world = store->world, .policy = &store->policy, .all_objects = true};
    struct program *program;
    struct err err = {0};
    size_t n, i;

    for (i = 0; i <= MAX_PLAN_OBJECTS; i++) {
        const struct store_object object = {
            arena_printf(&store->arena, "plug/lib/plugins/p%zu.so", i), .soname = "",
            .needed = "liba.so"};

        store_add(store, &object, 1);
    }
    assert_int_equal(
        package_programs(&query, store_path(store, "@plug"), &store->arena, &program, &n, &err),
        -E2BIG);
    assert_non_null(strstr(err.text, "more than 10000 programs, plugins and libraries"));
    store_free(store);
}

static const struct plan_object *find(const struct plan *plan, const char *path)
{
    size_t i;

    for (i = 0; i < plan->n_objects; i++)
        if (!strcmp(plan->object[i].path, path))
            return &plan->object[i];
    return NULL;
}

static void a_plugin_is_lifted_and_keeps_its_interpreter_to_itself(void **state UNUSED)
{
    struct store *store = make();
    const struct plan_object *o;
    const struct edit *e;
    struct plan plan;

    plan_package(store, NULL, &plan);
    o = find(&plan, "lib/plugins/deep.so");
    assert_non_null(o);
    assert_string_equal(o->kind, "root");
    assert_string_equal(o->strategy, "farm");
    assert_string_equal(o->scope, "lifted");
    assert_null(o->expect.interp);
    assert_null(o->soname);
    e = edits_find(&o->edits, EDIT_NEEDED, NULL);
    assert_string_equal(store_join(store, e->needed, e->n_needed),
                        "liba.so libb.so libc.so.6 libx.so liby.so libz.so libw.so "
                        "ld-linux-x86-64.so.2");
    assert_int_equal(plan_level(plan_chosen(o), plan.cpu)->after.failed_opens, 2);
    store_free(store);
}

static void a_library_gets_scope_own_or_nothing(void **state UNUSED)
{
    struct store *store = make();
    const struct plan_object *o;
    struct plan plan;

    plan_package(store, NULL, &plan);
    o = find(&plan, "lib/libplug.so");
    assert_non_null(o);
    assert_string_equal(o->kind, "library");
    assert_string_equal(o->strategy, "farm");
    assert_string_equal(o->scope, "own");
    assert_string_equal(o->soname, "libplug.so");
    assert_null(edits_find(&o->edits, EDIT_NEEDED, NULL));
    o = find(&plan, "lib/plugins/plain.so");
    assert_string_equal(o->strategy, "none");
    assert_non_null(strstr(o->reason, "libc's family"));
    assert_null(find(&plan, "lib/plugins/lost.so")); /* no loader in its run path */
    store_free(store);
}

/* Every machine's libraries have plans: the loader in their run path is known by its name. */
static void the_loaders_of_all_machines_are_known(void **state UNUSED)
{
    static const struct {
        uint16_t machine;
        const char *loader;
    } rows[] = {
        {EM_AARCH64, "ld-linux-aarch64.so.1"},
        {EM_RISCV, "ld-linux-riscv64-lp64d.so.1"},
        {EM_PPC64, "ld64.so.2"},
        {EM_S390, "ld64.so.1"},
        {EM_LOONGARCH, "ld-linux-loongarch-lp64d.so.1"},
        {EM_RISCV, "ld-musl-riscv64.so.1"},
        {EM_PPC64, "ld-musl-powerpc64le.so.1"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct store *store = store_new();
        const struct store_object objects[] = {
            {arena_printf(&store->arena, "libc/lib/%s", rows[i].loader),
             .machine = rows[i].machine},
            {"z/lib/libz.so", .machine = rows[i].machine},
            {"plug/lib/libplug.so", .needed = "libz.so", .run_path = "@z/lib:@libc/lib",
             .machine = rows[i].machine},
        };
        struct plan plan;

        store_add(store, objects, ARRAY_LEN(objects));
        plan_package(store, NULL, &plan);
        if (plan.n_objects != 1 || !strcmp(plan.key.system, "unknown"))
            fail_msg("%s: %zu objects, %s", rows[i].loader, plan.n_objects, plan.key.system);
        store_free(store);
    }
}

/* Nothing is known of who loads it, and a plan of nothing would say that nothing is to be done. */
static void libraries_that_lead_to_no_loader_have_no_plan(void **state UNUSED)
{
    static const struct store_object lost[] = {
        {"lost/lib/liblost.so", .needed = "libb.so", .run_path = "@b/lib"},
        {"lost/lib/plugins/lost.so", .soname = "", .needed = "liblost.so", .run_path = "@lost/lib"},
    };
    struct store *store = make();
    const struct subject_query query = {
        .world = store->world, .policy = &store->policy, .all_objects = true};
    struct plan plan = {.cpu = "untouched"};
    struct program *program;
    struct err err = {0};
    size_t n;

    store_add(store, lost, ARRAY_LEN(lost));
    assert_int_equal(
        package_programs(&query, store_path(store, "@lost"), &store->arena, &program, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(package_plan(&query, program, n, &store->arena, &plan, &err), -ENODATA);
    assert_non_null(strstr(err.text, "as far as can be told"));
    assert_int_equal(package_plan(&query, NULL, 0, &store->arena, &plan, &err), -ENODATA);
    assert_string_equal(plan.cpu, "untouched");
    store_free(store);
}

static void one_farm_serves_an_output(void **state UNUSED)
{
    struct store *store = make();
    const struct edit *one, *other;
    struct plan plan;

    plan_package(store, NULL, &plan);
    one = edits_find(&find(&plan, "lib/plugins/deep.so")->edits, EDIT_FARM, NULL);
    other = edits_find(&find(&plan, "lib/libplug.so")->edits, EDIT_FARM, NULL);
    assert_string_equal(one->path, other->path);
    store_free(store);
}

static void what_somebody_needs_is_no_root(void **state UNUSED)
{
    static const char *names[] = {"deep.so"};
    const struct name_set needed = {names, 1};
    struct store *store = make();
    struct plan plan;

    plan_package(store, &needed, &plan);
    assert_string_equal(find(&plan, "lib/plugins/deep.so")->kind, "library");
    assert_string_equal(find(&plan, "lib/libplug.so")->kind, "root");
    store_free(store);
}

static void a_root_in_its_own_closure_is_not_lifted(void **state UNUSED)
{
    static const struct store_object cycle = {"a/lib/liba.so",
                                              .needed = "libdeep.so libx.so liby.so",
                                              .run_path = "@plug/lib/plugins:@x/lib:@y/lib"};
    static const struct store_object deep = {
        "plug/lib/plugins/libdeep.so", .needed = "liba.so libb.so libc.so.6",
        .run_path = "@n0/lib:@n1/lib:@n2/lib:@n3/lib:@n4/lib:@a/lib:@b/lib:@glibc/lib"};
    struct store *store = make();
    const struct plan_object *o;
    struct plan plan;
    size_t i;

    store_add(store, &cycle, 1);
    store_add(store, &deep, 1);
    plan_package(store, NULL, &plan);
    o = find(&plan, "lib/plugins/libdeep.so");
    assert_string_not_equal(o->scope, "lifted");
    for (i = 0; i < o->n_options; i++)
        if (!strcmp(o->option[i].scope, "lifted") && !strcmp(o->option[i].strategy, "farm"))
            assert_string_equal(o->option[i].rule, "needed-by-others");
    store_free(store);
}

/* ---- pinned packages, users' rules */

static void the_policy_pins_a_package(void **state UNUSED)
{
    static struct policy_package pins[] = {
        {.pname = "pl*", .strategy = "farm", .scope = "own", .reason = "asked for"}};
    struct store *store = make();
    const struct plan_object *o;
    struct plan plan;

    store->policy.package = pins;
    store->policy.n_packages = 1;
    plan_package(store, NULL, &plan);
    o = find(&plan, "lib/plugins/deep.so");
    assert_string_equal(o->rule, "pinned");
    assert_string_equal(o->scope, "own");
    pins[0] = (struct policy_package){.pname = "plug", .strategy = "none", .reason = "hands off"};
    plan_package(store, NULL, &plan);
    o = find(&plan, "lib/plugins/deep.so");
    assert_string_equal(o->strategy, "none");
    assert_non_null(strstr(o->reason, "hands off"));
    store_free(store);
}

static void a_users_rule_leaves_a_name_out(void **state UNUSED)
{
    static const char *const names[] = {"libx.so", NULL};
    static const struct danger rules[] = {
        {.id = "site", .soname = names, .farm = DANGER_BARE, .why = "the site replaces it"}, {0}};
    struct store *store = make();
    const struct plan_object *o;
    const struct edit *farm;
    struct plan plan;
    size_t i;
    bool fired = false;

    store->policy.danger = rules;
    plan_package(store, NULL, &plan);
    o = find(&plan, "lib/plugins/deep.so");
    farm = edits_find(&o->edits, EDIT_FARM, NULL);
    for (i = 0; i < farm->n_links; i++)
        assert_string_not_equal(farm->link[i].name, "libx.so");
    for (i = 0; i < o->n_rulings; i++)
        fired |= !strcmp(o->ruling[i].rule, "site") && !strcmp(o->ruling[i].what, "libx.so");
    assert_true(fired);
    store_free(store);
}

/* ---- comparing and costs */

static void the_articles_shapes(void **state UNUSED)
{
    const struct article *a;

    for (a = articles(); a->name; a++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct subject_query query = {.policy = policy_default()};
        struct comparison c;
        struct subject s;
        struct err err;
        uint32_t built, own, lifted, all;

        assert_int_equal(article_world(a, &arena, &query.world, &query.program, &err), 0);
        assert_int_equal(subject_init(&s, &query, &arena, &err), 0);
        assert_int_equal(subject_libraries(&s), a->n_libraries);
        assert_int_equal(compare_methods(&s, NULL, true, &c, &err), 0);
        built = c.row[METHOD_NONE].after.failed_opens;
        own = c.row[METHOD_FARM_OWN].after.failed_opens;
        lifted = c.row[METHOD_FARM_LIFTED].after.failed_opens;
        all = c.row[c.n_rows - 1].after.failed_opens;
        /* both follow from what the shape was derived from, as far as averages hold */
        assert_true(built * 5 > a->built * 4 && built * 5 < a->built * 6);
        assert_true(own * 5 > a->leaf_farm * 4 && own * 5 < a->leaf_farm * 6);
        /* these are predictions */
        assert_string_equal(c.row[c.n_rows - 1].name, "farms for all");
        assert_true(c.row[c.n_rows - 1].known && all < own / 2 && all >= lifted);
        assert_int_equal(lifted, 2);
        assert_true(c.row[c.n_rows - 1].inodes > c.row[METHOD_FARM_OWN].inodes);
        assert_true(c.row[c.n_rows - 1].bytes > c.row[METHOD_FARM_OWN].bytes);
        subject_release(&s);
        article_close(query.world);
    }
}

static void probes_have_a_price(void **state UNUSED)
{
    struct calibration c;
    struct err err;

    assert_true(probe_cost("local") > 0 && probe_cost("nfs") > probe_cost("local"));
    assert_true(probe_cost("2.5") == 2.5);
    assert_true(probe_cost("") < 0 && probe_cost("much") < 0 && probe_cost("-1") < 0);
    assert_int_equal(calibrate("/tmp", 100, &c, &err), 0);
    assert_true(c.median_us > 0 && c.n >= 100);
    assert_true(calibrate("/no/such/directory", 100, &c, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loaders_of_all_machines_are_known),
        cmocka_unit_test(a_package_too_large_is_refused),
        cmocka_unit_test(a_plugin_is_lifted_and_keeps_its_interpreter_to_itself),
        cmocka_unit_test(a_library_gets_scope_own_or_nothing),
        cmocka_unit_test(libraries_that_lead_to_no_loader_have_no_plan),
        cmocka_unit_test(one_farm_serves_an_output),
        cmocka_unit_test(what_somebody_needs_is_no_root),
        cmocka_unit_test(a_root_in_its_own_closure_is_not_lifted),
        cmocka_unit_test(the_policy_pins_a_package),
        cmocka_unit_test(a_users_rule_leaves_a_name_out),
        cmocka_unit_test(the_articles_shapes),
        cmocka_unit_test(probes_have_a_price),
    };

    return UNIT_RUN(tests);
}
