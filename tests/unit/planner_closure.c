/*
 * Closure notes: what is in them, what is left out and why, and the gates before them.
 */
#include "base/str.h"
#include "planner/closure.h"
#include "tests/store.h"

#include <string.h>

#include "tests/unit/unit.h"

static const struct store_object plain[] = {
    {"app/bin/app", .needed = "liba.so libc.so.6", .run_path = "@e/lib:@a/lib:@glibc/lib"},
    {.path = "e/lib/libempty.so"},
    {"a/lib/liba.so", .needed = "libb.so libc.so.6", .run_path = "@e/lib:@b/lib:@glibc/lib"},
    {"b/lib/libb.so", .needed = "libc.so.6", .run_path = "@glibc/lib"},
};

enum { MORE_MAX = 4 };

/* What is added to the ordinary program; "@a" in texts is a package, as in store_object. */
struct noted {
    const char *what;
    struct store_object more[MORE_MAX];
    const char *rows[6];  /* "requester name list"; NULL ends them */
    const char *left_out; /* of the first that is left out, or NULL */
    const char *plugin;   /* by the policy; NULL: none */
};

static const struct noted notes[] = {
    {"plain",
     {{0}},
     {". liba.so =@a/lib/liba.so", ". libc.so.6 =@glibc/lib/libc.so.6",
      "@a/lib/liba.so libb.so =@b/lib/libb.so"},
     NULL,
     NULL},
    {"a directory outside the store stays in front",
     {{"app/bin/app", .needed = "liba.so libc.so.6", .run_path = "/run/d:@a/lib:@glibc/lib"}},
     {". liba.so ?/run/d:=@a/lib/liba.so", ". libc.so.6 ?/run/d:=@glibc/lib/libc.so.6",
      "@a/lib/liba.so libb.so =@b/lib/libb.so"},
     NULL,
     NULL},
    {"a package that is not there may come, a directory in one that is, not",
     {{"app/bin/app", .needed = "liba.so libc.so.6",
       .run_path = "@gone/lib:@e/lib64:@a/lib:@glibc/lib"}},
     {". liba.so ?@gone/lib:=@a/lib/liba.so", ". libc.so.6 ?@gone/lib:=@glibc/lib/libc.so.6",
      "@a/lib/liba.so libb.so =@b/lib/libb.so"},
     NULL,
     NULL},
    {"a library's own place is known, the program's is not",
     {{"app/bin/app", .needed = "liba.so libc.so.6", .run_path = "$ORIGIN/x:@a/lib:@glibc/lib"},
      {"a/lib/liba.so", .needed = "libb.so", .run_path = "$ORIGIN:@b/lib"}},
     {"@a/lib/liba.so libb.so =@b/lib/libb.so"},
     "its run path depends on where the program lies",
     NULL},
    {"builds for CPUs are searched",
     {{"b/lib/glibc-hwcaps/x86-64-v3/libb.so", .needed = "libc.so.6", .soname = "libb.so"}},
     {". liba.so =@a/lib/liba.so", ". libc.so.6 =@glibc/lib/libc.so.6"},
     "it has builds for some CPUs",
     NULL},
    {"a name that is not the soname",
     {{"b/lib/libb.so", .needed = "libc.so.6", .soname = "libother.so"}},
     {". liba.so =@a/lib/liba.so", ". libc.so.6 =@glibc/lib/libc.so.6",
      "@a/lib/liba.so libb.so =@b/lib/libb.so"},
     NULL,
     NULL},
    {"a name that is not the soname, with versions",
     {{"b/lib/libb.so", .needed = "libc.so.6", .soname = "libother.so", .verneed = "libb.so"}},
     {". liba.so =@a/lib/liba.so", ". libc.so.6 =@glibc/lib/libc.so.6"},
     "its DT_SONAME is another name than the one that versions are wanted from",
     NULL},
    {"a library outside the store",
     {{"/opt/b/libb.so", .soname = "libb.so"},
      {"a/lib/liba.so", .needed = "libb.so", .run_path = "/opt/b"}},
     {". liba.so =@a/lib/liba.so", ". libc.so.6 =@glibc/lib/libc.so.6"},
     "it lies outside the store, where it may be replaced",
     NULL},
    {"the default directory",
     {{"a/lib/liba.so", .needed = "libb.so libm.so", .run_path = "@b/lib"},
      {.path = "glibc/lib/libm.so"}},
     {". liba.so =@a/lib/liba.so", ". libc.so.6 =@glibc/lib/libc.so.6",
      "@a/lib/liba.so libb.so =@b/lib/libb.so", "@a/lib/liba.so libm.so =@glibc/lib/libm.so"},
     NULL,
     NULL},
    {"a plugin and what it brings",
     {{"a/lib/liba.so", .needed = "libb.so", .run_path = "@b/lib:@p/lib", .constant = "libp.so"},
      {"p/lib/libp.so", .needed = "libb.so libq.so", .run_path = "@e/lib:@q/lib"},
      {.path = "q/lib/libq.so"}},
     {". liba.so =@a/lib/liba.so", ". libc.so.6 =@glibc/lib/libc.so.6",
      "@a/lib/liba.so libb.so =@b/lib/libb.so", "@a/lib/liba.so libp.so =@p/lib/libp.so",
      "@p/lib/libp.so libq.so =@q/lib/libq.so"},
     NULL,
     NULL},
    {"plugins of the program's package, told by a pattern",
     {{"app/lib/m1/one.so", .needed = "libb.so libq.so", .run_path = "@e/lib:@q/lib"},
      {"app/lib/m1/two.so", .needed = "libq.so", .run_path = "@e/lib:@q/lib"},
      {"app/lib/m1/three", .needed = "libq.so", .run_path = "@q/lib"},
      {.path = "q/lib/libq.so"}},
     {". liba.so =@a/lib/liba.so", ". libc.so.6 =@glibc/lib/libc.so.6",
      "@a/lib/liba.so libb.so =@b/lib/libb.so", "@app/lib/m1/one.so libq.so =@q/lib/libq.so",
      "@app/lib/m1/two.so libq.so =@q/lib/libq.so"},
     NULL,
     "lib/m*/*.so"},
    {"a plugin by name, for a library",
     {{"a/lib/liba.so", .needed = "libb.so", .run_path = "@b/lib:@p/lib"},
      {"p/lib/libp.so", .needed = "libb.so", .run_path = "@e/lib"}},
     {". liba.so =@a/lib/liba.so", ". libc.so.6 =@glibc/lib/libc.so.6",
      "@a/lib/liba.so libb.so =@b/lib/libb.so", "@a/lib/liba.so libp.so =@p/lib/libp.so"},
     NULL,
     "libp.so@liba.so"},
    {"a plugin that is nowhere",
     {{0}},
     {". liba.so =@a/lib/liba.so", ". libc.so.6 =@glibc/lib/libc.so.6",
      "@a/lib/liba.so libb.so =@b/lib/libb.so"},
     NULL,
     "libnowhere.so"},
};

static void add(struct store *store, const struct store_object *more)
{
    store_add(store, plain, ARRAY_LEN(plain));
    for (size_t i = 0; i < MORE_MAX && more[i].path; i++)
        store_add(store, &more[i], 1);
}

/* "@a/lib" with the package's store path. */
static const char *expanded(struct store *store, const char *text)
{
    struct str out = {.arena = &store->arena};

    for (; *text; text++)
        if (*text == '@') {
            const size_t len = strcspn(text, "/");

            str_add(&out, store_path(store, arena_strndup(&store->arena, text, len + 1)));
            text += len; /* the slash came with the path */
        } else {
            str_add_n(&out, text, 1);
        }
    return out.text;
}

static void compare(struct store *store, const struct noted *c, const struct closure_made *made)
{
    const char *at = (const char *)made->note.bytes, *end = at + made->note.size;
    size_t i = 0;

    assert_string_equal(at, "1");
    while (*at) /* run path and needed names are compared below */
        at += strlen(at) + 1;
    for (at++; at < end && *at; i++) {
        const char *name = at + strlen(at) + 1, *list = name + strlen(name) + 1;
        const char *row = arena_printf(&store->arena, "%s %s %s", at, name, list);

        if (!c->rows[i] || strcmp(row, expanded(store, c->rows[i])) != 0)
            fail_msg("%s: '%s', expected '%s'", c->what, row,
                     c->rows[i] ? expanded(store, c->rows[i]) : "nothing");
        at = list + strlen(list) + 1;
    }
    if (c->rows[i])
        fail_msg("%s: no row '%s'", c->what, c->rows[i]);
    assert_ptr_equal(at + 1, end);
    assert_int_equal(made->n_rows, i);
    if (!str_same(c->left_out, made->n_left_out ? made->left_out[0].why : NULL))
        fail_msg("%s: left out: %s", c->what, made->left_out[0].why);
}

static void notes_say_where_libraries_are(void **state UNUSED)
{
    const struct noted *c;

    for_each (c, notes) {
        struct store *store = store_new();
        struct closure_made made;
        struct subject s;
        struct err err;

        add(store, c->more);
        if (c->plugin) {
            store->policy.plugins = &c->plugin;
            store->policy.n_plugins = 1;
        }
        store_subject(store, "app/bin/app", &s);
        assert_int_equal(closure_make(&s, &made, &err), 0);
        assert_non_null(made.note.bytes);
        compare(store, c, &made);
        store_free(store);
    }
}

/* A policy may come from anybody: what its patterns cost is bounded. */
static void plugins_are_bounded(void **state UNUSED)
{
    enum { MANY = 1500 };
    static const char *pattern[MANY];
    struct store *store = store_new();
    struct subject s;

    add(store, notes[0].more);
    for (size_t i = 0; i < MANY; i++)
        pattern[i] = i % 2 ? "/*/*/*/*/*/*" : "*/*";
    store->policy.plugins = pattern;
    store->policy.n_plugins = MANY;
    store_subject(store, "app/bin/app", &s);
    assert_in_range(s.n_dlopens, 1, 1024);
    store_free(store);
}

/* ---- gates */

static const struct shut {
    const char *gate;
    struct store_object more[MORE_MAX];
    const char *names; /* part of the reason */
} cases[] = {
    {"resolver-machine",
     {{"app/bin/app", .needed = "libc.so.6", .run_path = "@glibc/lib"}},
     "x86-64 and aarch64"},
    {"class-machine",
     {{"app/bin/app", .needed = "libc.so.6", .run_path = "@glibc/lib"}},
     "another class or machine"},
    {"audit-taken",
     {{"app/bin/app", .needed = "libc.so.6", .run_path = "@glibc/lib", .audit = "@m/lib/m.so"}},
     "m.so"},
    {"sanitizer",
     {{"b/lib/libb.so", .needed = "libasan.so.8", .run_path = "@san/lib"},
      {.path = "san/lib/libasan.so.8"}},
     "libasan.so.8"},
    {"interpreter",
     {{"b/lib/libb.so", .needed = "libpython3.13.so.1.0", .run_path = "@py/lib"},
      {.path = "py/lib/libpython3.13.so.1.0"}},
     "libpython3.13.so.1.0"},
    {"static-tls",
     {{"b/lib/libb.so", .needed = "libc.so.6", .run_path = "@glibc/lib",
       .layout = LAYOUT_STATIC_TLS, .tls_size = 513}},
     "libb.so"},
    {"static-tls",
     {{"b/lib/libb.so", .needed = "libc.so.6", .run_path = "@glibc/lib:@p/lib",
       .layout = LAYOUT_STATIC_TLS, .tls_size = 250, .constant = "libp.so"},
      {"p/lib/libp.so", .layout = LAYOUT_STATIC_TLS, .tls_size = 260}},
     "libp.so"},
    {"soname-differs",
     {{"b/lib/libb.so", .needed = "libc.so.6", .soname = "libother.so", .verneed = "libb.so"}},
     "libother.so"},
};

/* Policies of these names: the program itself is said to be for something else. */
static const char other_machine[] = "another machine", other_order[] = "another byte order";

static const struct gate *shut_for(struct store *store, const char **ret_reason)
{
    struct subject s;

    store_subject(store, "app/bin/app", &s);
    if (store->policy.name == other_machine || store->policy.name == other_order) {
        struct object *other = arena_memdup(&store->arena, s.object, sizeof(*other));

        if (store->policy.name == other_machine)
            other->machine = EM_RISCV;
        else
            other->data = ELFDATA2MSB;
        s.object = other;
    }
    return gate_shut(&s, METHOD_NOTE_CLOSURE, ret_reason);
}

static void gates_are_shut_for_what_they_ask_about(void **state UNUSED)
{
    const struct shut *c;

    for_each (c, cases) {
        struct store *store = store_new();
        const struct gate *gate;
        const char *reason;

        store->policy.reader_saving = 0;
        if (strcmp(c->gate, "resolver-machine") == 0)
            store->policy.name = other_machine;
        if (strcmp(c->gate, "class-machine") == 0)
            store->policy.name = other_order;
        add(store, c->more);
        gate = shut_for(store, &reason);
        if (!gate || strcmp(gate->id, c->gate) != 0)
            fail_msg("%s: %s", c->gate, gate ? gate->id : "all are open");
        if (!strstr(reason, c->names))
            fail_msg("%s: %s", c->gate, reason);
        store_free(store);
    }
}

static void requests_open_them(void **state UNUSED)
{
    struct store *store = store_new();
    const char *reason;

    add(store, cases[4].more);
    store->policy.reader_saving = 0;
    store->policy.interpreters = true;
    assert_null(shut_for(store, &reason));
    store->policy.reader_saving = 30;
    assert_string_equal(shut_for(store, &reason)->id, "not-worth-it");
    store_free(store);
}

static void set_loader_version(struct store *store, const char *version)
{
    const char *path = store_path(store, "glibc/lib/ld-linux-x86-64.so.2");
    struct place at = world_walk(store->world, NULL, path);
    struct object *loader = arena_memdup(&store->arena, at.node->object, sizeof(*loader));
    struct ldso *ldso = arena_memdup(&store->arena, loader->ldso, sizeof(*ldso));
    struct err err;

    ldso->version = version;
    loader->ldso = ldso;
    assert_int_equal(overlay_object(store->world, path, loader, &err), 0);
}

static void old_glibc_is_left_alone(void **state UNUSED)
{
    struct store *store = store_new();
    const char *reason;

    add(store, cases[0].more);
    store->policy.reader_saving = 0;
    set_loader_version(store, "2.34");
    assert_string_equal(shut_for(store, &reason)->id, "glibc-too-old");
    set_loader_version(store, "2.35");
    assert_null(shut_for(store, &reason));
    store_free(store);
}

/* ---- as a strategy */

static const char reader[] = "/nix/store/00000000000000000000000000000000-r/lib/r.so";

static void propose(struct store *store, struct edits *edits, const char **why_not)
{
    struct subject *s = arena_alloc(&store->arena, sizeof(*s));
    struct err err;

    *why_not = NULL;
    store_subject(store, "app/bin/app", s);
    assert_int_equal(strategy_propose(strategy_of(METHOD_NOTE_CLOSURE), s, edits, why_not, &err),
                     0);
}

static void a_note_is_made_once(void **state UNUSED)
{
    struct store *store = store_new();
    const char *why_not;
    struct edits edits;
    struct err err;

    add(store, notes[0].more);
    propose(store, &edits, &why_not);
    assert_string_equal(why_not, "the policy names no resolver");
    store->policy.resolver = reader;
    propose(store, &edits, &why_not);
    assert_int_equal(edits.n, 1);
    assert_string_equal(edits.item[0].audit, reader);
    assert_int_equal(edits_apply(&edits, store->world, &store->arena, &err), 0);
    propose(store, &edits, &why_not);
    assert_string_equal(why_not, "it has this very note already");
    store_add(store, &(struct store_object){"e/lib/liba.so", .needed = "libc.so.6"}, 1);
    propose(store, &edits, &why_not);
    assert_non_null(strstr(why_not, "says something else"));
    store->policy.renew = true;
    propose(store, &edits, &why_not);
    assert_null(why_not);
    assert_int_equal(edits.n, 1);
    store_free(store);
}

/* The start with it: no failed call, the same files. */
static void the_note_is_chosen_where_the_resolver_is(void **state UNUSED)
{
    struct store *store = store_new();
    struct decision d;
    struct subject s;
    struct err err;

    add(store, notes[0].more);
    store->policy.resolver = reader;
    store->policy.reader_saving = 0;
    store->policy.min_saving = 1;
    store_subject(store, "app/bin/app", &s);
    assert_int_equal(decide(&s, &d, &err), 0);
    assert_int_equal(d.chosen, METHOD_NOTE_CLOSURE);
    assert_string_equal(d.rule, "resolver-there");
    assert_int_equal(option_failed(&d, METHOD_NOTE_CLOSURE), 0);
    assert_false(d.option[METHOD_NOTE_CLOSURE].verdicts.fails);
    store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_say_where_libraries_are),
        cmocka_unit_test(plugins_are_bounded),
        cmocka_unit_test(gates_are_shut_for_what_they_ask_about),
        cmocka_unit_test(requests_open_them),
        cmocka_unit_test(old_glibc_is_left_alone),
        cmocka_unit_test(a_note_is_made_once),
        cmocka_unit_test(the_note_is_chosen_where_the_resolver_is),
    };

    return UNIT_RUN(tests);
}
