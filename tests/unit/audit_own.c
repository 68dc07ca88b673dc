/*
 * Audits of what somebody maintains: which programs and findings are left, alone and in pairs.
 */
#include "tests/unit/unit.h"

#include "audit/audit.h"
#include "base/str.h"

#include <string.h>

static const char *const ANNA[] = {"@anna"}, *const BO[] = {"@bo"};
static const struct origin annas = {.maintainer = (const char **)(uintptr_t)ANNA,
                                    .n_maintainers = 1};
static const struct origin bos = {.maintainer = (const char **)(uintptr_t)BO, .n_maintainers = 1};
static const struct origin *const nobody = NULL;

/* An audit of packages, each with a program and a finding. */
static struct audit audit_of(struct arena *arena, size_t n, const char *const *key,
                             const struct origin *const *origin)
{
    struct audit a = {.package = arena_calloc(arena, n, sizeof(*a.package)),
                      .program = arena_calloc(arena, n, sizeof(*a.program)),
                      .finding = arena_calloc(arena, n, sizeof(*a.finding)),
                      .n_packages = n,
                      .n_programs = n,
                      .n_findings = n};

    for (size_t i = 0; i < n; i++) {
        a.package[i] = (struct audit_package){.key = key[i], .version = "1", .origin = origin[i]};
        a.program[i] = (struct audit_program){
            .key = arena_printf(arena, "%s:bin/p", key[i]), .exit = "ok", .origin = origin[i]};
        a.finding[i] = (struct audit_finding){.identity = arena_printf(arena, "%s:lib/x>y", key[i]),
                                              .origin = origin[i]};
    }
    return a;
}

/* Of programs, findings and packages alike, these are left. */
static void left(const struct audit *a, const char *want)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct str programs = {.arena = &arena}, findings = programs, packages = programs;

    str_add(&programs, "");
    str_add(&findings, "");
    str_add(&packages, "");
    for (size_t i = 0; i < a->n_programs; i++)
        str_printf(&programs, "%.*s ", (int)strcspn(a->program[i].key, ":"), a->program[i].key);
    for (size_t i = 0; i < a->n_findings; i++)
        str_printf(&findings, "%.*s ", (int)strcspn(a->finding[i].identity, ":>"),
                   a->finding[i].identity);
    for (size_t i = 0; i < a->n_packages; i++)
        str_printf(&packages, "%s ", a->package[i].key);
    assert_string_equal(programs.text, want);
    assert_string_equal(findings.text, want);
    assert_string_equal(packages.text, want);
}

#define A(...)                                                                                     \
    audit_of(&arena, ARRAY_LEN(((const char *[]){__VA_ARGS__})), (const char *[]){__VA_ARGS__},
#define OF(...) (const struct origin *[]){__VA_ARGS__})

static void alone(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct maintainer whose = {.name = "anna", .arena = &arena}, all = {.arena = &arena};
    struct audit a = A("a.out", "b.out", "c.out", "a.dev") OF(&annas, &bos, nobody, &annas);

    audit_keep_own(&all, &a, NULL);
    left(&a, "a.out b.out c.out a.dev ");
    assert_null(a.maintainer);
    audit_keep_own(&whose, &a, NULL);
    left(&a, "a.out a.dev ");
    assert_string_equal(a.maintainer, "anna");
    assert_int_equal(whose.n_own, 2);
    assert_int_equal(whose.n_known, 3);
}

static void one_of_two_tells(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct maintainer whose = {.name = "anna", .arena = &arena};
    struct audit old = A("a.out", "b.out", "gone.out") OF(nobody, nobody, nobody);
    struct audit new = A("a.out", "b.out", "new.out") OF(&annas, &bos, &annas);

    audit_keep_own(&whose, &old, &new);
    left(&old, "a.out ");
    left(&new, "a.out new.out ");
}

/* What changed hands is compared, not removed. */
static void given_away(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct maintainer whose = {.name = "anna", .arena = &arena};
    struct audit old = A("a.out", "b.out") OF(&annas, &bos);
    struct audit new = A("a.out", "b.out") OF(&bos, &annas);

    audit_keep_own(&whose, &old, &new);
    left(&old, "a.out b.out ");
    left(&new, "a.out b.out ");
}

/* Two packages of one key: only hers, for both audits know whose. */
static void versions(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct maintainer whose = {.name = "anna", .arena = &arena};
    struct audit old = A("a.out", "a.out") OF(&annas, &bos);
    struct audit new = A("a.out", "a.out", "a.out") OF(&bos, &annas, nobody);

    audit_keep_own(&whose, &old, &new);
    left(&old, "a.out ");
    left(&new, "a.out ");
}

/* The one of two that is gone is gone: what stays is the other one's. */
static void one_of_two_is_gone(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct maintainer whose = {.name = "anna", .arena = &arena};
    struct audit old = A("a.out", "a.out") OF(&annas, &bos);
    struct audit new = A("a.out") OF(&bos);

    audit_keep_own(&whose, &old, &new);
    left(&old, "a.out ");
    left(&new, "");
}

static void nobody_of_that_name(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct maintainer whose = {.name = "zoe", .arena = &arena};
    struct audit a = A("a.out") OF(&annas);
    struct audit empty = {0};

    audit_keep_own(&whose, &a, &empty);
    left(&a, "");
    left(&empty, "");
    assert_false(maintainer_is_known(&whose));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),
        cmocka_unit_test(one_of_two_tells),
        cmocka_unit_test(given_away),
        cmocka_unit_test(versions),
        cmocka_unit_test(one_of_two_is_gone),
        cmocka_unit_test(nobody_of_that_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
