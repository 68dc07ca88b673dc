/*
 * Whole stores: settled as they should be, the same plans however many threads there are.
 *
 *	user -> l -> x a1 .. a6		x asks where it is, so that it stays out of l's farm
 *	busy -> a1 .. a6 l		has l's names already, and would only pay for the farm
 */
#include "tests/unit/unit.h"

#include "base/str.h"
#include "planner/plan_json.h"
#include "planner/whole.h"
#include "tests/disk_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LIBRARIES = 6 };

#define LIB_A "/store/" DISK_HASH
#define DIRS                                                                                       \
    LIB_A "x-x-1/lib:" LIB_A "a-a1-1/lib:" LIB_A "b-a2-1/lib:" LIB_A "c-a3-1/lib:" LIB_A           \
          "d-a4-1/lib:" LIB_A "f-a5-1/lib:" LIB_A "g-a6-1/lib:/store/" DISK_LIBC "/lib"
#define NEEDS                                                                                      \
    {DT_NEEDED, "liba1.so", 0}, {DT_NEEDED, "liba2.so", 0}, {DT_NEEDED, "liba3.so", 0},            \
        {DT_NEEDED, "liba4.so", 0}, {DT_NEEDED, "liba5.so", 0},                                    \
    {                                                                                              \
        DT_NEEDED, "liba6.so", 0                                                                   \
    }

static struct disk_store *store;
static struct policy policy;

static void add(const char *path, struct elf_spec spec, const struct elf_dyn *dynamic, size_t n)
{
    spec.dynamic = dynamic;
    spec.n_dynamic = n;
    disk_store_elf(store, path, &spec);
}

static void add_libraries(void)
{
    static const char *const imports[] = {"dladdr"};
    const struct elf_dyn l[] = {{DT_SONAME, "libl.so", 0},
                                {DT_NEEDED, "libx.so", 0},
                                NEEDS,
                                {DT_NEEDED, "libc.so.6", 0},
                                {DT_RUNPATH, DIRS, 0}};
    struct elf_spec spec = elf_library();

    add(DISK_HASH "m-l-1/lib/libl.so", spec, l, ARRAY_LEN(l));
    for (int i = 0; i < LIBRARIES; i++) {
        const char *name = arena_printf(&store->arena, "liba%d.so", i + 1);
        const struct elf_dyn a[] = {{DT_SONAME, name, 0}};

        add(arena_printf(&store->arena, DISK_HASH "%c-a%d-1/lib/%s", "abcdfg"[i], i + 1, name),
            spec, a, 1);
    }
    spec.imports = imports;
    spec.n_imports = 1;
    add(DISK_HASH "x-x-1/lib/libx.so", spec, (const struct elf_dyn[]){{DT_SONAME, "libx.so", 0}},
        1);
}

static int set_up(void **state UNUSED)
{
    static struct policy_package pin = {
        .pname = "busy", .strategy = "none", .reason = "for the test"};
    const struct elf_dyn user[] = {{DT_NEEDED, "libl.so", 0},
                                   {DT_NEEDED, "libc.so.6", 0},
                                   {DT_RUNPATH, LIB_A "m-l-1/lib:/store/" DISK_LIBC "/lib", 0}};
    const struct elf_dyn busy[] = {NEEDS,
                                   {DT_NEEDED, "libl.so", 0},
                                   {DT_NEEDED, "libc.so.6", 0},
                                   {DT_RUNPATH, DIRS ":" LIB_A "m-l-1/lib", 0}};
    struct db *db = NULL;
    struct err err;
    int r;

    store = disk_store_new();
    (void)disk_store_fill(store);
    add_libraries();
    add(DISK_HASH "p-user-1/bin/user", elf_program("/store/" DISK_LIBC "/lib/ld-linux-x86-64.so.2"),
        user, ARRAY_LEN(user));
    add(DISK_HASH "q-busy-1/bin/busy", elf_program("/store/" DISK_LIBC "/lib/ld-linux-x86-64.so.2"),
        busy, ARRAY_LEN(busy));
    policy = *policy_default();
    policy.min_saving = 1;
    policy.package = &pin;
    policy.n_packages = 1;
    r = disk_store_index(store, &db, &err);
    db_close(db);
    return r;
}

static int tear_down(void **state UNUSED)
{
    disk_store_free(store);
    return 0;
}

static void plan(unsigned n_threads, struct whole *ret_whole)
{
    const struct whole_query query = {
        .db = store->db, .policy = &policy, .n_threads = n_threads, .plans = WHOLE_LINES};
    struct err err;

    if (whole_plan(&query, ret_whole, &err) < 0)
        fail_msg("%s", err.text);
}

static int keep_text(void *data, const struct whole_package *package, const char *text, size_t len,
                     struct err *err)
{
    struct str *all = data;
    json_t *json = json_loadb(text, len, 0, NULL);
    struct plan plan;
    int r;

    str_printf(all, "%s\n", package->path);
    str_add_n(all, text, len);
    assert_int_equal(text[len - 1], '\n');
    r = plan_parse(json, package->path, all->arena, &plan, err); /* which finds contradictions */
    json_decref(json);
    return r;
}

static const struct whole_program *program_of(const struct whole *whole, const char *name)
{
    for (size_t i = 0; i < whole->n_packages; i++)
        for (size_t k = 0; k < whole->package[i].n_programs; k++)
            if (!strcmp(str_base(whole->package[i].program[k].path), name))
                return &whole->package[i].program[k];
    fail_msg("no program '%s'", name);
    return NULL;
}

static void what_makes_one_worse_is_taken_back(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct whole_program *busy;
    struct str all = {.arena = &arena};
    struct whole whole;
    struct err err;

    plan(0, &whole);
    busy = program_of(&whole, "busy");
    assert_false(whole_is_worse(busy));
    assert_memory_equal(&busy->whole, &busy->before, sizeof(busy->before));
    assert_true(program_of(&whole, "user")->own.failed_opens <
                program_of(&whole, "user")->before.failed_opens);
    if (whole_tell(&whole, keep_text, &all, &err) < 0)
        fail_msg("%s", err.text);
    assert_non_null(strstr(all.text,
                           "\"rule\":\"worse-for-others\",\"reason\":\"with it '/store/" DISK_HASH
                           "q-busy-1/bin/busy' would fail more calls"));
    assert_null(strstr(all.text, "\"whole_closure\":null,\"expect\":{\"needed\":[\"libl.so\""));
    whole_release(&whole);
}

static void threads_make_no_difference(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct str text[2] = {{.arena = &arena}, {.arena = &arena}};
    struct whole_sum sum[2];
    struct err err;

    for (unsigned i = 0; i < 2; i++) {
        struct whole whole;

        plan(i * 3, &whole);
        assert_int_equal(whole_tell(&whole, keep_text, &text[i], &err), 0);
        sum[i] = whole_sum(&whole, WHOLE_ALL);
        whole_release(&whole);
    }
    assert_string_equal(text[0].text, text[1].text);
    assert_int_equal(sum[0].failed_opens, sum[1].failed_opens);
    assert_int_equal(sum[0].median, sum[1].median);
}

static void tell_maintainers(void)
{
    struct db *db = NULL;
    struct err err;

    if (db_open(store->db, DB_WRITE, &db, &err) < 0 ||
        db_exec(db,
                "INSERT INTO origin VALUES ('user-1', 'user', '[\"@anna\"]', NULL), "
                "('busy-1', 'busy', '[\"@bo\"]', NULL)",
                &err) < 0)
        fail_msg("%s", err.text);
    db_close(db);
}

/* As in the plan of everything, but for what others' packages would do to it. */
static void one_maintainers_are_planned_alone(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct maintainer whose = {.name = "anna", .arena = &arena};
    const struct whole_query query = {
        .db = store->db, .policy = &policy, .plans = WHOLE_NO_PLANS, .whose = &whose};
    const struct whole_program *alone, *among;
    struct whole own, all;
    struct err err;

    tell_maintainers();
    plan(0, &all);
    if (whole_plan(&query, &own, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(own.n_packages, 1);
    assert_int_equal(own.n_programs, 1);
    alone = program_of(&own, "user");
    among = program_of(&all, "user");
    assert_memory_equal(&alone->before, &among->before, sizeof(alone->before));
    assert_memory_equal(&alone->own, &among->own, sizeof(alone->own));
    assert_memory_equal(&alone->whole, &alone->own, sizeof(alone->own));
    assert_string_equal(alone->strategy, among->strategy);
    whole_release(&own);
    whole_release(&all);
}

static void without_a_place_for_plans_nothing_is_planned(void **state UNUSED)
{
    struct whole_query query = {.db = store->db, .policy = &policy, .plans = WHOLE_LINES};
    struct whole whole;
    struct err err;

    assert_int_equal(setenv("TMPDIR", "/nowhere/at-all", 1), 0);
    assert_int_equal(whole_plan(&query, &whole, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no temporary file in '/nowhere/at-all'"));
    query.plans = WHOLE_NO_PLANS; /* numbers need none */
    assert_int_equal(whole_plan(&query, &whole, &err), 0);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    whole_release(&whole);
}

/* What a note saves a program is saved in every column, if loaders read notes. */
static void loaders_are_what_the_policy_says(void **state UNUSED)
{
    static struct policy_package pin = {
        .pname = "*", .strategy = "note", .scope = "own", .reason = "for the test"};
    const struct policy usual = policy;
    const struct whole_program *user;
    struct whole whole;

    policy.reader = READER_B;
    policy.package = &pin;
    plan(0, &whole);
    user = program_of(&whole, "user");
    assert_string_equal(user->strategy, "note");
    assert_true(user->alone.failed_opens < user->before.failed_opens);
    assert_int_equal(user->own.failed_opens, user->alone.failed_opens);
    assert_true(user->whole.failed_opens <= user->own.failed_opens);
    whole_release(&whole);
    policy = usual;
}

/* So is what only a policy knows to be dlopened. */
static void plugins_of_the_policy_count(void **state UNUSED)
{
    static const char *plugin[] = {"libnowhere.so"};
    const struct policy usual = policy;

    for (size_t n = 0; n < 2; n++) {
        const struct whole_program *user;
        struct whole whole;

        policy.plugins = plugin;
        policy.n_plugins = n;
        plan(0, &whole);
        user = program_of(&whole, "user");
        assert_int_equal(user->before_dlopen.failed_opens > 0, n);
        assert_int_equal(user->own_dlopen.failed_opens > 0, n);
        assert_int_equal(user->whole_dlopen.failed_opens > 0, n);
        whole_release(&whole);
    }
    policy = usual;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loaders_are_what_the_policy_says),
        cmocka_unit_test(plugins_of_the_policy_count),
        cmocka_unit_test(what_makes_one_worse_is_taken_back),
        cmocka_unit_test(threads_make_no_difference),
        cmocka_unit_test(one_maintainers_are_planned_alone),
        cmocka_unit_test(without_a_place_for_plans_nothing_is_planned),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
