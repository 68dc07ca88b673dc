/*
 * The tables: rules and dangers; and what findings are known by.
 */
#include "linter/closure.h"
#include "linter/danger.h"
#include "linter/finding.h"

#include <string.h>

#include "tests/unit/unit.h"

static void rules_are_told_apart(void **state UNUSED)
{
    for (size_t i = 0; i < N_RULES; i++) {
        const struct rule *r = &rules()[i];

        assert_ptr_equal(rule_find(r->code), r);
        assert_ptr_equal(rule_find(r->id), r);
        assert_true(strlen(r->code) == 4 && r->code[0] == 'R');
        assert_true(i == 0 || strcmp(r[-1].code, r->code) < 0);
        assert_true(r->summary && *r->summary && r->summary[strlen(r->summary) - 1] != '.');
        assert_true(r->fix && *r->fix && r->check);
        assert_int_equal(strncmp(rule_page(r), "# ", 2), 0);
    }
    assert_null(rule_find("R999"));
}

static void severities_are_read_back(void **state UNUSED)
{
    enum severity severity;

    for (enum severity s = SEVERITY_NOTE; s <= SEVERITY_ERROR; s++) {
        assert_true(severity_find(severity_name(s), &severity));
        assert_int_equal(severity, s);
    }
    assert_false(severity_find("fatal", &severity));
}

static void dangers_match(void **state UNUSED)
{
    static const struct {
        const char *id;
        enum danger_key key;
        const char *value;
        bool matches;
    } rows[] = {
        {"glvnd", DANGER_BY_SONAME, "libGL.so.1", true},
        {"glvnd", DANGER_BY_SONAME, "libGL.so.12", false},
        {"cuda-stubs", DANGER_BY_PATH, "/nix/store/x-cuda/lib/stubs/libcuda.so", true},
        {"cuda-stubs", DANGER_BY_PATH, "/nix/store/x-cuda/lib/libcuda.so", false},
        {"driver-link", DANGER_BY_RUN_PATH, "/run/opengl-driver/lib", true},
        {"ld-preload", DANGER_BY_ENV, "LD_PRELOAD", true},
        {"musl", DANGER_BY_INTERP, "/nix/store/x-musl/lib/ld-musl-x86_64.so.1", true},
        {"jni", DANGER_BY_SYMBOL, "JNI_OnLoad", true},
        {"glibc-output", DANGER_BY_PNAME, "glibc", true},
        {"no-such", DANGER_BY_SONAME, "libGL.so.1", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(danger_is(rows[i].id, rows[i].key, rows[i].value), rows[i].matches);
}

static void dangers_follow_each_other(void **state UNUSED)
{
    const struct danger *d = danger_next(DANGER_BY_SONAME, "libnvidia-ml.so.1", NULL);
    enum danger_verdict farm = DANGER_NA;
    size_t n = 0;

    for (; d; d = danger_next(DANGER_BY_SONAME, "libnvidia-ml.so.1", d), n++)
        farm = danger_strictest(farm, d->farm);
    assert_int_equal(n, 2); /* a vendor's library, and the driver's */
    assert_int_equal(farm, DANGER_REFUSE);
    for (d = dangers(); d->id; d++)
        assert_true(d->why && danger_verdict_name(d->absolute) && danger_verdict_name(d->note));
}

static void identities_and_order(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct finding note = {.rule = rule_find("R105"), .key = "a.out:bin/a", .subject = NULL};
    struct finding late = {.rule = rule_find("R201"),
                           .severity = SEVERITY_ERROR,
                           .key = "b.out:bin/b",
                           .subject = "libx.so.1"};
    struct finding early = late;
    struct finding *list[] = {&note, &late, &early};
    struct findings findings = {list, ARRAY_LEN(list)};

    early.subject = "liba.so.1";
    findings_sort(&findings);
    assert_ptr_equal(list[0], &early);
    assert_ptr_equal(list[1], &late);
    assert_ptr_equal(list[2], &note);
    assert_string_equal(finding_identity(&late, &arena), "b.out:bin/b>libx.so.1");
    assert_string_equal(finding_identity(&note, &arena), "a.out:bin/a");
    late.standing = FINDING_KNOWN;
    assert_int_equal(findings_count(&findings, SEVERITY_ERROR), 1);
}

#define HASH "0123456789abcdfghijklmnpqrsvwxyz"

static void references_reach(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct closure c;
    struct lint_package *a, *b, *d, *unknown;

    closure_init(&c, NULL);
    closure_add_store(&c, "/nix/store");
    a = closure_add_package(&c, "/nix/store", HASH "-a-1.0");
    b = closure_add_package(&c, "/nix/store", HASH "-b-1.0");
    d = closure_add_package(&c, "/nix/store", HASH "-d-1.0-lib");
    unknown = closure_add_package(&c, "/nix/store", HASH "-u-1.0");
    a->registered = b->registered = d->registered = true;
    closure_add_reference(&c, a, b);
    closure_add_reference(&c, b, a);
    closure_add_reference(&c, b, d);
    assert_true(closure_reaches(&c, a, d));
    assert_false(closure_refers(a, d));
    assert_false(closure_reaches(&c, d, a));
    assert_false(closure_reaches(&c, a, unknown));
    assert_true(closure_reaches(&c, unknown, a)); /* nobody knows: no finding */
    assert_ptr_equal(closure_package_of(&c, "/nix/store/" HASH "-b-1.0/lib/x.so"), b);
    assert_null(closure_package_of(&c, "/nix/store/" HASH "-b"));
    assert_string_equal(d->key, "d.lib");
    assert_string_equal(closure_shown(&c, &arena,
                                      "/nix/store/" HASH "-a-1.0/lib:/usr:/nix/store/" HASH
                                      "-d-1.0-lib"),
                        "a-1.0/lib:/usr:d-1.0-lib");
    a->selected = true;
    closure_spread(&c);
    assert_true(d->selected);
    assert_false(unknown->selected);
    closure_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_told_apart), cmocka_unit_test(severities_are_read_back),
        cmocka_unit_test(dangers_match),        cmocka_unit_test(dangers_follow_each_other),
        cmocka_unit_test(identities_and_order), cmocka_unit_test(references_reach),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
