/*
 * Each gate: open for an ordinary program, shut for the one thing it asks about.
 */
#include "base/str.h"
#include "tests/store.h"

#include <string.h>

#include "tests/unit/unit.h"

static const struct store_object plain[] = {
    {"app/bin/app", .needed = "liba.so.1 libc.so.6", .run_path = "@a/lib:@glibc/lib",
     .verneed = "libc.so.6"},
    {"a/lib/liba.so.1", .needed = "libb.so libc.so.6", .run_path = "@b/lib:@glibc/lib"},
    {"b/lib/libb.so", .needed = "libc.so.6", .run_path = "@glibc/lib"},
};

/* What is added to the ordinary program, and which gate that shuts, with what in its reason. */
struct shut {
    const char *gate;
    enum method method;
    struct store_object object[3];
    const char *names; /* part of the reason */
};

static const struct shut cases[] = {
    {"not-dynamic",
     METHOD_FARM_LIFTED,
     {{"app/bin/app", .needed = NULL, .soname = "x", .layout = LAYOUT_STATIC_PIE}},
     NULL},
    {"loader-or-libc",
     METHOD_FARM_OWN,
     {{"app/bin/app", .needed = "liba.so.1", .run_path = "@a/lib", .soname = "libc.so.6"}},
     "libc.so.6"},
    {"layout",
     METHOD_FARM_LIFTED,
     {{"app/bin/app", .needed = "liba.so.1", .run_path = "@a/lib", .layout = LAYOUT_GO}},
     "Go"},
    {"layout",
     METHOD_NOTE_OWN,
     {{"app/bin/app", .needed = "liba.so.1", .run_path = "@a/lib", .trailing = 4097}},
     "4097"},
    {"already-edited",
     METHOD_FARM_LIFTED,
     {{"app/bin/app", .needed = "liba.so.1", .run_path = "@app/nix-support/stormlint/farm:@a/lib"}},
     "stormlint/farm"},
    {"unresolved",
     METHOD_FARM_LIFTED,
     {{"b/lib/libb.so", .needed = "libnowhere.so"}},
     "libnowhere.so"},
    {"filter",
     METHOD_FARM_LIFTED,
     {{"b/lib/libb.so", .needed = "libc.so.6", .filter = "libc.so.6"}},
     "DT_FILTER"},
    {"rpath",
     METHOD_FARM_OWN,
     {{"b/lib/libb.so", .needed = "libc.so.6", .rpath = "@glibc/lib"}},
     "libb.so"},
    {"relative-run-path",
     METHOD_FARM_LIFTED,
     {{"app/bin/app", .needed = "liba.so.1", .run_path = "@a/lib:rel"}},
     "rel"},
    {"relative-run-path",
     METHOD_ABSOLUTE_OWN,
     {{"app/bin/app", .needed = "liba.so.1", .run_path = "@a/lib:"}},
     "empty"},
    {"needed-token",
     METHOD_FARM_LIFTED,
     {{"b/lib/libb.so", .needed = "$ORIGIN/libq.so"}, {"b/lib/libq.so", .needed = NULL}},
     "$ORIGIN"},
    {"outside-store",
     METHOD_FARM_LIFTED,
     {{"a/lib/liba.so.1", .needed = "libb.so libc.so.6", .run_path = "/run/x:@b/lib:@glibc/lib"}},
     "/run/x"},
    {"outside-store",
     METHOD_ABSOLUTE_LIFTED,
     {{"a/lib/liba.so.1", .needed = "libb.so libc.so.6", .run_path = "/run/x:@b/lib:@glibc/lib"}},
     "/run/x"},
    {"levels-differ",
     METHOD_FARM_LIFTED,
     {{"b/lib/glibc-hwcaps/x86-64-v3/libb.so", .needed = "libc.so.6 libmore.so",
       .soname = "libb.so", .run_path = "@more/lib"},
      {"more/lib/libmore.so", .needed = NULL}},
     "x86-64-v1"},
    {"soname-differs",
     METHOD_ABSOLUTE_LIFTED,
     {{"b/lib/libb.so", .needed = "libc.so.6", .soname = "libother.so"}},
     "libother.so"},
    {"soname-differs",
     METHOD_ABSOLUTE_LIFTED,
     {{"b/lib/libb.so", .needed = "libc.so.6", .soname = ""}},
     "missing"},
    {"hwcaps-variant",
     METHOD_ABSOLUTE_LIFTED,
     {{"b/lib/glibc-hwcaps/x86-64-v2/libb.so", .needed = "libc.so.6", .soname = "libb.so"}},
     "libb.so"},
    {"rule", /* a driver of some vendor among the needed names is a defect */
     METHOD_FARM_LIFTED,
     {{"b/lib/libb.so", .needed = "libGLX_acme.so.0", .run_path = "@gl/lib"},
      {"gl/lib/libGLX_acme.so.0", .needed = NULL}},
     "libGLX_acme.so.0"},
};

static const struct gate *shut_for(struct store *store, enum method method, const char **ret_reason)
{
    struct subject s;

    store_subject(store, "app/bin/app", &s);
    return gate_shut(&s, method, ret_reason);
}

static void all_open_for_an_ordinary_program(void **state UNUSED)
{
    struct store *store = store_new();
    const struct gate *gate;
    const char *reason;
    int method;

    store->policy.reader_saving = 0;
    store_add(store, plain, ARRAY_LEN(plain));
    for (method = METHOD_FARM_OWN; method < N_METHODS; method++) {
        gate = shut_for(store, (enum method)method, &reason);
        if (gate)
            fail_msg("%s is shut: %s", gate->id, reason);
    }
    store_free(store);
}

static void each_is_shut_for_what_it_asks_about(void **state UNUSED)
{
    const struct shut *c;
    const struct gate *gate;
    const char *reason = NULL;
    size_t i;

    for_each (c, cases) {
        struct store *store = store_new();

        store_add(store, plain, ARRAY_LEN(plain));
        for (i = 0; i < ARRAY_LEN(c->object) && c->object[i].path; i++)
            store_add(store, &c->object[i], 1);
        if (!strcmp(c->gate, "not-dynamic")) {
            /* a library in the program's place has no loader */
            static const struct store_object library = {.path = "app/lib/app"};

            store_add(store, &library, 1);
            store_add(store, &(struct store_object){"app/bin/app", .link = "@app/lib/app"}, 1);
        }
        gate = shut_for(store, c->method, &reason);
        if (!gate)
            fail_msg("%s is open", c->gate);
        if (strcmp(gate->id, c->gate) != 0)
            fail_msg("%s is shut instead of %s: %s", gate->id, c->gate, reason);
        if (c->names && !strstr(reason, c->names))
            fail_msg("%s: '%s' does not name %s", c->gate, reason, c->names);
        store_free(store);
    }
}

static void a_directory_that_all_pass_is_no_reason(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"app/bin/app", .needed = "liba.so.1", .run_path = "/run/x:@a/lib"},
        {"a/lib/liba.so.1", .needed = "libb.so", .run_path = "/run/x:@b/lib"},
        {"b/lib/libb.so", .needed = NULL},
    };
    struct store *store = store_new();
    const char *reason;

    store_add(store, more, ARRAY_LEN(more));
    assert_null(shut_for(store, METHOD_FARM_LIFTED, &reason));
    assert_string_equal(shut_for(store, METHOD_ABSOLUTE_LIFTED, &reason)->id, "outside-store");
    store_free(store);
}

static void a_directory_behind_the_hit_is_no_reason(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"a/lib/liba.so.1", .needed = "libb.so", .run_path = "@b/lib:/run/x:@glibc/lib"},
    };
    struct store *store = store_new();
    const char *reason;

    store_add(store, plain, ARRAY_LEN(plain));
    store_add(store, more, 1);
    assert_null(shut_for(store, METHOD_FARM_LIFTED, &reason));
    store_free(store);
}

static void references_that_a_derivation_forbids(void **state UNUSED)
{
    struct store *store = store_new();
    const char *list[2], *reason;

    store_add(store, plain, ARRAY_LEN(plain));
    list[0] = store_path(store, "b");
    store->policy.disallowed = list;
    store->policy.n_disallowed = 1;
    assert_string_equal(shut_for(store, METHOD_FARM_LIFTED, &reason)->id, "references");
    assert_null(shut_for(store, METHOD_FARM_OWN, &reason)); /* asks for a and glibc only */
    store->policy.n_disallowed = 0;
    list[0] = store_path(store, "a");
    list[1] = store_path(store, "glibc");
    store->policy.allowed = list;
    store->policy.n_allowed = 2;
    assert_string_equal(shut_for(store, METHOD_FARM_LIFTED, &reason)->id, "references");
    assert_null(shut_for(store, METHOD_FARM_OWN, &reason));
    store_free(store);
}

static void loaders_outside_the_store_unknown_or_old(void **state UNUSED)
{
    static const struct {
        const char *gate;
        enum method method;
        struct ldso ldso;
        const char *place; /* of the loader */
    } rows[] = {
        {"foreign-loader",
         METHOD_FARM_LIFTED,
         {.libc = LIBC_GLIBC, .version = "2.41"},
         "/lib/ld.so"},
        {"unknown-loader", METHOD_FARM_LIFTED, {.libc = LIBC_UNKNOWN}, NULL},
        {"old-glibc", METHOD_ABSOLUTE_OWN, {.libc = LIBC_GLIBC, .version = "2.27"}, NULL},
        {"musl", METHOD_ABSOLUTE_OWN, {.libc = LIBC_MUSL, .version = "1.2.5"}, NULL},
    };
    size_t i;

    for (i = 0; i < ARRAY_LEN(rows); i++) {
        struct store *store = store_new();
        const char *path =
            rows[i].place ? rows[i].place : store_path(store, "glibc/lib/ld-linux-x86-64.so.2");
        const struct gate *gate;
        const char *reason;
        struct object *app, *loader;
        struct ldso ldso = rows[i].ldso;
        struct place at;
        struct err err;

        store_add(store, plain, ARRAY_LEN(plain));
        at = world_walk(store->world, NULL, store_path(store, "glibc/lib/ld-linux-x86-64.so.2"));
        loader = arena_memdup(&store->arena, at.node->object, sizeof(*loader));
        ldso.system_dirs = loader->ldso->system_dirs;
        ldso.n_system_dirs = 1;
        loader->ldso = &ldso;
        assert_int_equal(overlay_file(store->world, path, loader, &err), 0);
        at = world_walk(store->world, NULL, store_path(store, "app/bin/app"));
        app = arena_memdup(&store->arena, at.node->object, sizeof(*app));
        app->interp = path;
        assert_int_equal(overlay_file(store->world, store_path(store, "app/bin/app"), app, &err),
                         0);
        gate = shut_for(store, rows[i].method, &reason);
        if (!gate)
            fail_msg("%s is open", rows[i].gate);
        assert_string_equal(gate->id, rows[i].gate);
        store_free(store);
    }
}

static void legacy_hwcaps_are_left_alone(void **state UNUSED)
{
    static const struct store_object more[] = {
        {"b/lib/tls/libb.so", .needed = "libc.so.6", .soname = "libb.so"},
    };
    struct store *store = store_new();
    struct place at;
    struct object *loader;
    struct ldso ldso;
    const struct gate *gate;
    const char *reason;
    struct err err;

    store_add(store, plain, ARRAY_LEN(plain));
    store_add(store, more, 1);
    at = world_walk(store->world, NULL, store_path(store, "glibc/lib/ld-linux-x86-64.so.2"));
    loader = arena_memdup(&store->arena, at.node->object, sizeof(*loader));
    ldso = *loader->ldso;
    ldso.version = "2.36";
    loader->ldso = &ldso;
    assert_int_equal(overlay_object(store->world,
                                    store_path(store, "glibc/lib/ld-linux-x86-64.so.2"), loader,
                                    &err),
                     0);
    gate = shut_for(store, METHOD_FARM_LIFTED, &reason);
    assert_non_null(gate);
    assert_string_equal(gate->id, "legacy-hwcaps");
    store_free(store);
}

/* Whoever plans a store of others must come to an end. */
static void starts_beyond_any_are_not_planned(void **state UNUSED)
{
    enum { MANY = 2001 };
    struct store *store = store_new();
    struct str needed = {.arena = &store->arena};
    const struct gate *gate;
    const char *reason;

    for (int i = 0; i < MANY; i++) {
        const char *name = arena_printf(&store->arena, "lib%d.so", i);

        store_add(
            store,
            &(struct store_object){arena_printf(&store->arena, "a/lib/%s", name), .needed = NULL},
            1);
        str_printf(&needed, "%s%s", i ? " " : "", name);
    }
    store_add(store,
              &(struct store_object){"app/bin/app", .needed = needed.text, .run_path = "@a/lib"},
              1);
    gate = shut_for(store, METHOD_FARM_LIFTED, &reason);
    assert_non_null(gate);
    assert_string_equal(gate->id, "too-large");
    assert_non_null(strstr(reason, "beyond 2000 or 131072 nothing is planned"));
    store_free(store);
}

/* The table and the tests: no gate without a question, no two of one id, none untested. */
static void every_gate_has_a_case(void **state UNUSED)
{
    static const char *const elsewhere[] = {
        "references", "foreign-loader", "unknown-loader", "old-glibc", "musl", "legacy-hwcaps",
        "too-large", "needed-by-others", /* planner_roots.c */
        /* planner_closure.c */
        "resolver-machine", "glibc-too-old", "audit-taken", "sanitizer", "class-machine",
        "interpreter", "not-worth-it", "static-tls"};
    const struct gate *g, *other;
    const struct shut *c;
    const char *const *id;

    for (g = gates(); g->id; g++) {
        bool tested = false;

        for_each (c, cases)
            tested |= !strcmp(c->gate, g->id);
        for_each (id, elsewhere)
            tested |= !strcmp(*id, g->id);
        if (!tested)
            fail_msg("no case for %s", g->id);
        assert_true(g->methods != 0 && g->question[strlen(g->question) - 1] == '?');
        for (other = gates(); other != g; other++)
            assert_string_not_equal(other->id, g->id);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_open_for_an_ordinary_program),
        cmocka_unit_test(each_is_shut_for_what_it_asks_about),
        cmocka_unit_test(a_directory_that_all_pass_is_no_reason),
        cmocka_unit_test(a_directory_behind_the_hit_is_no_reason),
        cmocka_unit_test(references_that_a_derivation_forbids),
        cmocka_unit_test(loaders_outside_the_store_unknown_or_old),
        cmocka_unit_test(legacy_hwcaps_are_left_alone),
        cmocka_unit_test(starts_beyond_any_are_not_planned),
        cmocka_unit_test(every_gate_has_a_case),
    };

    return UNIT_RUN(tests);
}
