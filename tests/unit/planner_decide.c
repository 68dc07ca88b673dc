/*
 * The decision rule, branch by branch, and packages with several programs.
 */
#include "base/str.h"
#include "planner/package.h"
#include "tests/store.h"

#include <string.h>

#include "tests/unit/unit.h"

/* A chain of `n` libraries, each needing the next and having a run path of `n` directories. */
static struct store *chain(size_t n, const char *program)
{
    struct store *store = store_new();
    struct str path = {.arena = &store->arena};
    struct store_object object;
    size_t i;

    for (i = 0; i < n; i++)
        str_printf(&path, "%s@p%zu/lib", i ? ":" : "", i);
    for (i = 0; i < n; i++) {
        object = (struct store_object){
            .path = arena_printf(&store->arena, "p%zu/lib/lib%zu.so", i, i), .run_path = path.text};
        if (i + 1 < n)
            object.needed = arena_printf(&store->arena, "lib%zu.so", i + 1);
        store_add(store, &object, 1);
    }
    object = (struct store_object){program, .needed = "lib0.so", .run_path = path.text};
    store_add(store, &object, 1);
    return store;
}

static void decide_for_program(struct store *store, const char *program, struct subject *s,
                               struct decision *ret_decision)
{
    struct err err;

    store_subject(store, program, s);
    assert_int_equal(decide(s, ret_decision, &err), 0);
}

static void decide_for(struct store *store, struct subject *s, struct decision *ret_decision)
{
    decide_for_program(store, "app/bin/app", s, ret_decision);
}

static void expect(const struct decision *d, enum method method, const char *rule)
{
    if (d->chosen != method || strcmp(d->rule, rule) != 0)
        fail_msg("%s %s by %s: %s", strategy_of(d->chosen)->name,
                 scope_name(strategy_of(d->chosen)->scope), d->rule, d->reason);
    assert_int_equal(d->option[method].standing, STANDING_CHOSEN);
}

static void a_deep_graph_is_lifted(void **state UNUSED)
{
    struct store *store = chain(12, "app/bin/app");
    struct subject s;
    struct decision d;

    decide_for(store, &s, &d);
    expect(&d, METHOD_FARM_LIFTED, "lifted");
    assert_int_equal(option_failed(&d, METHOD_FARM_LIFTED), 4); /* v3: 2 levels, open and stat */
    assert_int_equal(d.option[METHOD_NOTE_OWN].standing, STANDING_NO_READER);
    assert_int_equal(d.option[METHOD_ABSOLUTE_LIFTED].standing, STANDING_FAILED);
    assert_string_equal(d.option[METHOD_ABSOLUTE_LIFTED].rule, "ld-library-path");
    assert_int_equal(d.option[METHOD_FARM_OWN].standing, STANDING_LOST);
    assert_non_null(strstr(d.option[METHOD_NONE].reason, "would keep"));
    store_free(store);
}

static void scope_own_where_lifting_saves_no_more(void **state UNUSED)
{
    static const struct store_object wide = {
        "app/bin/app", .needed = "lib4.so lib3.so lib2.so",
        .run_path = "@n0/lib:@n1/lib:@p0/lib:@p1/lib:@p2/lib:@p3/lib:@p4/lib"};
    struct store *store = chain(5, "app/bin/app");
    struct subject s;
    struct decision d;

    store_add(store, &wide, 1);
    decide_for(store, &s, &d);
    expect(&d, METHOD_FARM_OWN, "little-more");
    store_free(store);
}

static void lifted_where_that_spares_a_directory(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"app/bin/app", .needed = "lib5.so lib4.so lib3.so lib2.so lib1.so lib0.so",
         .run_path = "@p0/lib:@p1/lib:@p2/lib:@p3/lib:@p4/lib:@p5/lib:@p6/lib"},
        {"p5/lib/lib5.so", .needed = "lib6.so", .run_path = "@p6/lib"},
    };
    struct store *store = chain(7, "app/bin/app");
    struct subject s;
    struct decision d;

    store_add(store, more, ARRAY_LEN(more));
    decide_for(store, &s, &d);
    expect(&d, METHOD_FARM_LIFTED, "lifted"); /* it spares one directory: two opens, two stats */
    store->policy.lift_saving = 5;
    decide_for(store, &s, &d);
    expect(&d, METHOD_FARM_OWN, "little-more");
    store_free(store);
}

static void nothing_where_little_would_be_saved(void **state UNUSED)
{
    struct store *store = chain(2, "app/bin/app");
    struct subject s;
    struct decision d;

    decide_for(store, &s, &d);
    expect(&d, METHOD_NONE, "not-worth-it");
    store->policy.min_saving = 1;
    decide_for(store, &s, &d);
    assert_int_not_equal(d.chosen, METHOD_NONE);
    store_free(store);
}

/* A start of "small": three names, asked for in three directories; too little by itself. */
static void add_small(struct store *store, const char *name)
{
    const struct store_object small = {arena_printf(&store->arena, "app/bin/%s", name),
                                       .needed = "lib2.so lib1.so lib0.so",
                                       .run_path = "@p0/lib:@p1/lib:@p2/lib"};

    store_add(store, &small, 1);
}

static const struct plan_object *planned(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->n_objects; i++)
        if (!strcmp(plan->object[i].path, path))
            return &plan->object[i];
    fail_msg("no '%s' in the plan", path);
    return NULL;
}

static void plan_for(struct store *store, const char *path, struct plan *ret_plan);

static void what_little_a_program_saves_is_saved_where_its_package_is_edited(void **state UNUSED)
{
    struct store *store = chain(3, "app/bin/small");
    struct plan plan;
    struct subject s;
    struct decision d;

    add_small(store, "small");
    decide_for_program(store, "app/bin/small", &s, &d);
    expect(&d, METHOD_NONE, "not-worth-it");
    assert_non_null(strstr(d.reason, "of a package's together"));
    assert_int_equal(decision_saves(&d), 0);
    decide_along(&d);
    expect(&d, METHOD_FARM_OWN, "little-more");
    assert_in_range(decision_saves(&d), 1, 19);
    plan_for(store, "app", &plan);
    assert_string_equal(planned(&plan, "bin/small")->rule, "not-worth-it");
    add_small(store, "tiny");
    add_small(store, "wee"); /* three of them save more than 20 */
    plan_for(store, "app", &plan);
    assert_int_equal(plan.n_objects, 3);
    for (size_t i = 0; i < plan.n_objects; i++) {
        assert_string_equal(plan.object[i].rule, "little-more");
        assert_string_equal(plan_chosen(&plan.object[i])->strategy, "farm");
        assert_non_null(edits_find(&plan.object[i].edits, EDIT_FARM, NULL));
    }
    store_free(store);
}

/* In a package where one program saves much, another along with it may want a farm of its own. */
static void a_program_that_goes_along_can_need_its_own_farm(void **state UNUSED)
{
    struct store *store = chain(12, "app/bin/big");
    static const struct store_object more[] = {
        {"q/lib/lib2.so", .needed = NULL},
        {"app/bin/a", .needed = "lib2.so lib1.so lib0.so",
         .run_path = "@p0/lib:@q/lib:@p1/lib:@p2/lib"},
    };
    struct plan plan;

    store_add(store, more, ARRAY_LEN(more));
    plan_for(store, "app", &plan);
    assert_string_equal(plan.object[0].path, "bin/a"); /* the order is that of paths */
    assert_string_equal(edits_find(&planned(&plan, "bin/a")->edits, EDIT_FARM, NULL)->path,
                        store_path(store, "app/" FARM_IN_PACKAGE "-a"));
    assert_string_equal(edits_find(&planned(&plan, "bin/big")->edits, EDIT_FARM, NULL)->path,
                        store_path(store, "app/" FARM_IN_PACKAGE));
    store_free(store);
}

static void nothing_where_nothing_is_safe(void **state UNUSED)
{
    static const struct store_object filter = {"p3/lib/lib3.so", .needed = "lib4.so",
                                               .run_path = "@p4/lib", .filter = "lib5.so"};
    struct store *store = chain(12, "app/bin/app");
    struct subject s;
    struct decision d;

    store_add(store, &filter, 1);
    decide_for(store, &s, &d);
    expect(&d, METHOD_NONE, "nothing-safe");
    assert_non_null(strstr(d.reason, "DT_FILTER"));
    assert_int_equal(d.option[METHOD_FARM_LIFTED].standing, STANDING_GATED);
    assert_string_equal(d.option[METHOD_FARM_LIFTED].rule, "filter");
    store_free(store);
}

static void absolute_only_on_request(void **state UNUSED)
{
    struct store *store = chain(12, "app/bin/app");
    struct subject s;
    struct decision d;

    store->policy.overrides = false;
    decide_for(store, &s, &d);
    expect(&d, METHOD_FARM_LIFTED, "lifted");
    assert_non_null(strstr(d.option[METHOD_ABSOLUTE_LIFTED].reason, "only when the policy asks"));
    store->policy.absolute = true;
    decide_for(store, &s, &d);
    expect(&d, METHOD_ABSOLUTE_LIFTED, "absolute-asked");
    assert_int_equal(option_failed(&d, METHOD_ABSOLUTE_LIFTED), 0);
    store_free(store);
}

static void notes_where_the_target_reads_them(void **state UNUSED)
{
    static const struct store_object wide = {
        "app/bin/app", .needed = "lib4.so lib3.so lib2.so",
        .run_path = "@n0/lib:@n1/lib:@p0/lib:@p1/lib:@p2/lib:@p3/lib:@p4/lib"};
    struct store *store = chain(5, "app/bin/app");
    struct subject s;
    struct decision d;

    store->policy.reader = READER_B;
    store_add(store, &wide, 1);
    decide_for(store, &s, &d);
    expect(&d, METHOD_NOTE_OWN, "reader-there");
    store_free(store);
    store = chain(12, "app/bin/app"); /* a deep graph: lifting saves far more */
    store->policy.reader = READER_B;
    decide_for(store, &s, &d);
    expect(&d, METHOD_FARM_LIFTED, "lifted");
    store_free(store);
}

static void scope_own_where_a_wrapper_replaces_driver_libraries(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"p7/lib/lib7.so", .needed = "libEGL.so.1 lib8.so", .run_path = "@egl/lib:@p8/lib"},
        {"egl/lib/libEGL.so.1", .needed = NULL, .run_path = "@p1/lib:/run/opengl-driver/lib"},
        {"app/bin/app", .needed = "lib11.so lib0.so lib5.so lib6.so",
         .run_path = "@n0/lib:@n1/lib:@n2/lib:@n3/lib:@n4/lib:@n5/lib:@n6/lib:@p5/lib:@p6/lib:"
                     "@p11/lib:@p0/lib"},
    };
    static const char *const env[] = {"X=1", "LD_LIBRARY_PATH=/run/opengl-driver/lib"};
    struct store *store = chain(12, "app/bin/app");
    struct subject s;
    struct decision d;

    store_add(store, more, ARRAY_LEN(more));
    decide_for(store, &s, &d);
    expect(&d, METHOD_FARM_LIFTED, "lifted");
    store->env = env;
    store->n_env = ARRAY_LEN(env);
    decide_for(store, &s, &d);
    expect(&d, METHOD_FARM_OWN, "drivers");
    store_free(store);
}

static void an_override_that_lifting_would_reorder_is_seen(void **state UNUSED)
{
    /* the wrapper's lib5 needs libnew before lib6: as built libnew comes first */
    static const struct store_object more[] = {
        {"w/lib/lib5.so", .needed = "libnew.so lib6.so", .run_path = "@w/lib:@p6/lib"},
        {"w/lib/libnew.so", .needed = NULL},
    };
    struct store *store = chain(12, "app/bin/app");
    const char *env[1];
    struct subject s;
    struct decision d;

    store_add(store, more, ARRAY_LEN(more));
    env[0] = arena_printf(&store->arena, "LD_LIBRARY_PATH=%s", store_path(store, "w/lib"));
    store->env = env;
    store->n_env = 1;
    decide_for(store, &s, &d);
    assert_int_equal(d.option[METHOD_FARM_LIFTED].standing, STANDING_FAILED);
    assert_string_equal(d.option[METHOD_FARM_LIFTED].rule, "same-libraries");
    assert_non_null(strstr(d.option[METHOD_FARM_LIFTED].reason, "wrapper"));
    store_free(store);
}

static void own_is_what_is_left_when_lifting_is_gated(void **state UNUSED)
{
    /* another load list on better CPUs */
    static const struct store_object more[] = {
        {"p7/lib/glibc-hwcaps/x86-64-v3/lib7.so", .needed = "lib9.so lib8.so",
         .run_path = "@p9/lib:@p8/lib"},
        {"app/bin/app", .needed = "lib11.so lib0.so lib5.so lib6.so",
         .run_path = "@n0/lib:@n1/lib:@n2/lib:@n3/lib:@n4/lib:@n5/lib:@n6/lib:@p5/lib:@p6/lib:"
                     "@p11/lib:@p0/lib"},
    };
    struct store *store = chain(12, "app/bin/app");
    struct subject s;
    struct decision d;

    store_add(store, more, ARRAY_LEN(more));
    decide_for(store, &s, &d);
    expect(&d, METHOD_FARM_OWN, "left");
    assert_string_equal(d.option[METHOD_FARM_LIFTED].rule, "levels-differ");
    store_free(store);
}

static void musl_is_lifted_too(void **state UNUSED)
{
    struct store *store = chain(12, "app/bin/app");
    const char *path = store_path(store, "glibc/lib/ld-linux-x86-64.so.2");
    struct object *loader = arena_memdup(
        &store->arena, world_object(store->world, world_walk(store->world, NULL, path).node),
        sizeof(*loader));
    struct ldso musl = {.libc = LIBC_MUSL, .version = "1.2.5", .lib = "lib"};
    struct subject s;
    struct decision d;
    struct err err;

    loader->ldso = &musl;
    assert_int_equal(overlay_object(store->world, path, loader, &err), 0);
    decide_for(store, &s, &d);
    expect(&d, METHOD_FARM_LIFTED, "lifted");
    assert_int_equal(option_failed(&d, METHOD_FARM_LIFTED), 0); /* no levels, no stats */
    assert_string_equal(d.option[METHOD_ABSOLUTE_LIFTED].rule, "musl");
    assert_string_equal(d.option[METHOD_NOTE_OWN].rule, "musl");
    store_free(store);
}

/* ---- packages */

static void plan_for(struct store *store, const char *path, struct plan *ret_plan)
{
    struct subject_query query = {.world = store->world, .policy = &store->policy};
    struct program *program;
    struct err err;
    size_t n;

    assert_int_equal(
        package_programs(&query, store_path(store, path), &store->arena, &program, &n, &err), 0);
    assert_int_equal(package_plan(&query, program, n, &store->arena, ret_plan, &err), 0);
}

static void programs_of_a_package_share_a_farm(void **state UNUSED)
{
    struct store *store = chain(12, "app-1.5/bin/one");
    struct store_object two = {"app-1.5/bin/two", .needed = "lib2.so"};
    struct plan plan;

    two.run_path =
        world_object(store->world,
                     world_walk(store->world, NULL, store_path(store, "app-1.5/bin/one")).node)
            ->runpath;
    store_add(store, &two, 1);
    plan_for(store, "app-1.5", &plan);
    assert_string_equal(plan.key.pname, "app");
    assert_string_equal(plan.key.version, "1.5");
    assert_string_equal(plan.key.output, "out");
    assert_string_equal(plan.key.system, "x86_64-linux");
    assert_int_equal(plan.n_objects, 2);
    assert_string_equal(plan.object[0].path, "bin/one");
    assert_string_equal(plan.object[1].path, "bin/two");
    assert_string_equal(edits_find(&plan.object[0].edits, EDIT_FARM, NULL)->path,
                        edits_find(&plan.object[1].edits, EDIT_FARM, NULL)->path);
    store_free(store);
}

static void a_name_that_means_two_files_needs_two_farms(void **state UNUSED)
{
    struct store *store = chain(12, "app/bin/one");
    struct store_object more[] = {
        {"app/bin/two", .needed = "lib2.so", .run_path = NULL},
        {"q/lib/lib2.so", .needed = "lib3.so", .run_path = NULL},
    };
    const char *run_path =
        world_object(store->world,
                     world_walk(store->world, NULL, store_path(store, "app/bin/one")).node)
            ->runpath;
    struct plan plan;

    more[0].run_path = arena_printf(&store->arena, "@q/lib:%s", run_path);
    more[1].run_path = run_path;
    store_add(store, more, ARRAY_LEN(more));
    plan_for(store, "app", &plan);
    assert_int_equal(plan.n_objects, 2);
    assert_string_equal(edits_find(&plan.object[0].edits, EDIT_FARM, NULL)->path,
                        store_path(store, "app/" FARM_IN_PACKAGE));
    assert_string_equal(edits_find(&plan.object[1].edits, EDIT_FARM, NULL)->path,
                        store_path(store, "app/" FARM_IN_PACKAGE "-two"));
    store_free(store);
}

static void hashes_are_left_out(void **state UNUSED)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"/nix/store/0123456789abcdfghijklmnpqrsvwxyz-x-1/lib:/run/y",
         "/nix/store/*-x-1/lib:/run/y"},
        {"/run/y:/nix/store/0123456789abcdfghijklmnpqrsvwxyz-x", "/run/y:/nix/store/*-x"},
        {"/gnu/store/zlib-1.2-0123456789abcdfghijklmnpqrsvwxyz/lib", "/gnu/store/zlib-1.2-*/lib"},
        {"/nix/store/short-x/lib", "/nix/store/short-x/lib"},
        {"/nix/store", "/nix/store"},
        {"libz.so.1", "libz.so.1"},
        {"", ""},
    };
    CLEANUP(arena_release) struct arena arena = {0};
    size_t i;

    for (i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(hash_free(policy_default(), &arena, rows[i].text), rows[i].expected);
    assert_null(hash_free(policy_default(), &arena, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deep_graph_is_lifted),
        cmocka_unit_test(scope_own_where_lifting_saves_no_more),
        cmocka_unit_test(lifted_where_that_spares_a_directory),
        cmocka_unit_test(nothing_where_little_would_be_saved),
        cmocka_unit_test(what_little_a_program_saves_is_saved_where_its_package_is_edited),
        cmocka_unit_test(a_program_that_goes_along_can_need_its_own_farm),
        cmocka_unit_test(nothing_where_nothing_is_safe),
        cmocka_unit_test(absolute_only_on_request),
        cmocka_unit_test(notes_where_the_target_reads_them),
        cmocka_unit_test(scope_own_where_a_wrapper_replaces_driver_libraries),
        cmocka_unit_test(an_override_that_lifting_would_reorder_is_seen),
        cmocka_unit_test(own_is_what_is_left_when_lifting_is_gated),
        cmocka_unit_test(musl_is_lifted_too),
        cmocka_unit_test(programs_of_a_package_share_a_farm),
        cmocka_unit_test(a_name_that_means_two_files_needs_two_farms),
        cmocka_unit_test(hashes_are_left_out),
    };

    return UNIT_RUN(tests);
}
