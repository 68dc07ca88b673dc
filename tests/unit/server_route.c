#include "tests/unit/unit.h"

#include "base/str.h"
#include "server/api.h"
#include "server/service.h"

#include <errno.h>
#include <string.h>

/* ---- the table */

static void test_rows_are_complete(void **state UNUSED)
{
    json_auto_t *description = openapi_json();
    const json_t *schemas = json_object_get(json_object_get(description, "components"), "schemas");
    size_t n;
    const struct route *table = routes(&n);

    for (size_t i = 0; i < n; i++) {
        const struct route *r = &table[i];

        assert_non_null(r->method);
        assert_int_equal(r->pattern[0], '/');
        assert_non_null(r->id);
        assert_non_null(r->tag);
        assert_true(strlen(r->summary) > 5);
        assert_non_null(r->handle);
        assert_true(r->schema || r->type || r->flags & ROUTE_WRITE);
        assert_true(!r->schema || json_object_get(schemas, r->schema));
        assert_true(!r->body_schema || json_object_get(schemas, r->body_schema));
        assert_true(!r->body_max == !r->body_schema);
        assert_true(!(r->flags & ROUTE_WRITE) == !strcmp(r->method, "GET"));
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(r->id, table[k].id);
            assert_false(!strcmp(r->method, table[k].method) &&
                         !strcmp(r->pattern, table[k].pattern));
        }
    }
}

static void test_parameters_are_described(void **state UNUSED)
{
    size_t n;
    const struct route *table = routes(&n);

    for (size_t i = 0; i < n; i++)
        for (const struct param *p = table[i].params; p && p->name; p++) {
            const struct argument usual = {p->name, p->usual};
            const char *name;
            struct err err;

            assert_true(strlen(p->summary) > 5);
            assert_true(p->kind != PARAM_NUMBER || p->max > p->min);
            if (p->usual && !table[i].params->required)
                assert_int_equal(route_check(&table[i], &usual, 1, &name, &err), 0);
            for (const struct param *q = table[i].params; q < p; q++)
                assert_string_not_equal(p->name, q->name);
        }
}

static void test_everything_is_described(void **state UNUSED)
{
    json_auto_t *description = openapi_json();
    const json_t *paths = json_object_get(description, "paths");
    size_t n, operations = 0, described = 0;
    const struct route *table = routes(&n);
    const char *key;
    json_t *path;

    for (size_t i = 0; i < n; i++)
        described += !(table[i].flags & ROUTE_PAGE);
    json_object_foreach ((json_t *)(uintptr_t)paths, key, path)
        operations += json_object_size(path);
    assert_int_equal(operations, described);
}

static void test_metrics_are_named(void **state UNUSED)
{
    for (size_t i = 0; i < N_SERVICE_METRICS; i++) {
        const struct metric *m = &service_metrics_table[i];

        assert_non_null(m->name);
        assert_true(strlen(m->help) > 3);
        assert_int_equal(str_ends(m->name, "_total"), m->kind == METRIC_COUNTER);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(m->name, service_metrics_table[k].name);
    }
}

/* ---- finding */

static void test_matching(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const struct row {
        const char *method, *path;
        const char *id; /* NULL: none */
        const char *first, *allow;
    } rows[] =
        {
            {"GET", "/api/v1/summary", "summary", NULL, NULL},
            {"HEAD", "/api/v1/summary", "summary", NULL, NULL},
            {"GET", "/api/v1/programs/x", "program", "x", NULL},
            {"GET", "/api/v1/programs/%2Fnix%2Fx", "program", "/nix/x", NULL},
            {"GET", "/api/v1/programs/x/plan", "program_plan", "x", NULL},
            {"GET", "/api/v1/programs/", NULL, NULL, ""},
            {"GET", "/api/v1/programs//plan", NULL, NULL, ""},
            {"GET", "/api/v1/programs/%00", NULL, NULL, ""},
            {"GET", "/api/v1/programs/%", NULL, NULL, ""},
            {"GET", "/api/v1/programs/x/y", NULL, NULL, ""},
            {"GET", "/api/v1/audits/latest/programs", "audit_programs", "latest", NULL},
            {"PUT", "/api/v1/summary", NULL, NULL, "GET, HEAD"},
            {"POST", "/api/v1/audits", "post_audit", NULL, NULL},
            {"PATCH", "/api/v1/audits", NULL, NULL, "GET, HEAD, POST"},
            {"GET", "/", "start", NULL, NULL},
            {"GET", "/app.js", "file", "app.js", NULL},
            {"GET", "/views/program.js", "file", "views/program.js", NULL},
            {"GET", "/api/v1/nothing", NULL, NULL, ""},
            {"POST", "/app.js", NULL, NULL, ""},
        },
      *row;

    for_each (row, rows) {
        const char *segment[ROUTE_SEGMENTS_MAX] = {0}, *allow = "?";
        const struct route *r = route_find(&arena, row->method, row->path, segment, &allow);

        if (!r != !row->id || (r && strcmp(r->id, row->id) != 0))
            fail_msg("%s %s: %s", row->method, row->path, r ? r->id : "no route");
        if (row->first)
            assert_string_equal(segment[0], row->first);
        if (row->allow)
            assert_string_equal(allow, row->allow);
    }
}

/* ---- URLs */

static void test_escapes(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const struct row {
        const char *text, *plain; /* NULL: broken */
        bool plus;
    } rows[] =
        {
            {"a%20b", "a b", false}, {"a+b", "a+b", false}, {"a+b", "a b", true},
            {"%2f%2F", "//", false}, {"%", NULL, false},    {"%2", NULL, false},
            {"%zz", NULL, false},    {"%00", NULL, false},  {"", "", false},
            {"%ff", "\xff", false},  {"%%20", NULL, false}, {"%2%20", NULL, false},
        },
      *row;

    for_each (row, rows) {
        const char *got = url_unescape(&arena, row->text, strlen(row->text), row->plus);

        if (!str_same(got, row->plain))
            fail_msg("'%s' gives '%s'", row->text, got ? got : "nothing");
    }
    assert_string_equal(url_escape(&arena, "a b/\xff~"), "a%20b%2F%FF~");
    assert_null(url_unescape(&arena, "a%20", 3, false)); /* the length counts */
}

static void test_queries(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct argument *a;
    struct err err;
    size_t n;

    assert_int_equal(url_query(&arena, "a=1&b=x%3Dy+z&&c&d=&=e", &a, &n, &err), 0);
    assert_int_equal(n, 5);
    assert_string_equal(a[1].name, "b");
    assert_string_equal(a[1].value, "x=y z");
    assert_string_equal(a[2].value, "");
    assert_string_equal(a[4].name, "");
    assert_int_equal(url_query(&arena, "", &a, &n, &err), 0);
    assert_int_equal(n, 0);
    assert_int_equal(url_query(&arena, "a=%", &a, &n, &err), -EINVAL);
}

static void test_cursors(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const char *const texts[] = {"", "a", "ab", "abc", "abcd", "17\n/nix/store/x\xff"};
    const char *const *text;

    for_each (text, texts)
        assert_string_equal(url_unpack(&arena, url_pack(&arena, *text)), *text);
    assert_null(url_unpack(&arena, "A"));
    assert_null(url_unpack(&arena, "AA")); /* a zero byte */
    assert_null(url_unpack(&arena, "a b="));
}

static void test_secrets(void **state UNUSED)
{
    assert_true(secret_equal("secret", "secret"));
    assert_false(secret_equal("secret", "secre"));
    assert_false(secret_equal("secret", "secrets"));
    assert_false(secret_equal("secret", "secretsecret"));
    assert_false(secret_equal("secret", ""));
    assert_false(secret_equal("", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_complete),
        cmocka_unit_test(test_parameters_are_described),
        cmocka_unit_test(test_everything_is_described),
        cmocka_unit_test(test_metrics_are_named),
        cmocka_unit_test(test_matching),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_cursors),
        cmocka_unit_test(test_secrets),
    };

    return UNIT_RUN(tests);
}
