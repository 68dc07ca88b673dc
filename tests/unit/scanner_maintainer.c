/*
 * Who is meant by the name of a maintainer, and what is said when nobody is.
 */
#include "tests/unit/unit.h"

#include "scanner/maintainer.h"

#include <string.h>

static const char *const ANNA[] = {"@Anna", "Bo B. <bo@example.org>", "only@example.org", "cleo",
                                   "Zo\xc3\xab"};
static const struct origin origin = {.attribute = "viewer",
                                     .maintainer = (const char **)(uintptr_t)ANNA,
                                     .n_maintainers = ARRAY_LEN(ANNA)};
static const struct origin nobodys = {.attribute = "orphan"};

static void names(void **state UNUSED)
{
    static const struct {
        const char *name;
        bool is;
    } rows[] = {
        // clang-format off
        {"Anna", true}, {"@Anna", true}, {"anna", true}, {"@ANNA", true},
        {"Bo B.", true}, {"bo b.", true}, {"bo@example.org", true}, {"Bo B. <bo@example.org>", true},
        {"only@example.org", true}, {"cleo", true}, {"@cleo", true}, {"Zo\xc3\xab", true},
        {"ann", false}, {"annaa", false}, {"@@anna", false}, {"Bo", false}, {"Bo B. ", false},
        {"bo@example.org>", false}, {"<bo@example.org>", false}, {"bo", false}, {"example.org", false},
        {"", false}, {"@", false}, {"viewer", false},
        // clang-format on
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct maintainer m = {.name = rows[i].name};

        if (origin_is_of(&origin, rows[i].name) != rows[i].is)
            fail_msg("'%s' is%s meant", rows[i].name, rows[i].is ? " not" : "");
        assert_int_equal(maintainer_wants(&m, &origin), rows[i].is);
        assert_false(maintainer_wants(&m, &nobodys));
        assert_false(maintainer_wants(&m, NULL));
    }
}

static void without_a_name_all_is_wanted(void **state UNUSED)
{
    const struct maintainer m = {0};

    assert_true(maintainer_wants(&m, &origin));
    assert_true(maintainer_wants(&m, NULL));
    assert_true(maintainer_has(&m, "/nix/store/h-viewer/bin/viewer"));
}

static void addresses_are_left_out(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};

    assert_string_equal(origin_public(&origin, &arena),
                        "viewer: maintained by @Anna, Bo B., only@example.org, cleo, Zo\xc3\xab");
    assert_string_equal(origin_public(&nobodys, &arena), "orphan: nobody maintains it");
    assert_string_equal(origin_text(&origin, &arena),
                        "viewer: maintained by @Anna, Bo B. <bo@example.org>, only@example.org, "
                        "cleo, Zo\xc3\xab");
}

/* What is said after a look at some packages has these words in it. */
static void says(const char *name, const struct origin *const *seen, size_t n, bool known,
                 const char *words)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct maintainer m = {.name = name, .arena = &arena};

    for (size_t i = 0; i < n; i++)
        maintainer_see(&m, seen[i]);
    assert_int_equal(maintainer_is_known(&m), known);
    if (!strstr(maintainer_none(&m), words))
        fail_msg("'%s' is not in: %s", words, maintainer_none(&m));
}

static void why_there_is_nothing(void **state UNUSED)
{
    const struct origin *const all[] = {&origin, NULL, &nobodys, &origin};

    says("anna", NULL, 0, false, "scan --meta");
    says("anna", all + 1, 1, false, "scan --meta");
    says("anna", all + 2, 1, false, "as packages.json spells it");
    says("anna", all, 4, true, "'anna' maintains 2 packages here, and nothing of the kind");
    says("anna", all, 1, true, "is in it");
    says("nn", all, 4, false, "is it @Anna?");
    says("o", all, 4, false, "is it Bo B., only@example.org, cleo?");
    says("example", all, 4, false, "is it only@example.org?");
    says("zz\x01", all, 4, false, "'zz\\x01' maintains no package here");
}

static void packages_are_told_apart(void **state UNUSED)
{
    static const char *const own[] = {"/s/a", "/s/a-b", "/t/x/y"};
    const struct maintainer m = {
        .name = "anna", .package = (const char **)(uintptr_t)own, .n_packages = ARRAY_LEN(own)};
    static const struct {
        const char *path;
        bool has;
    } rows[] = {{"/s/a", true},      {"/s/a/bin/p", true}, {"/s/a-b/bin/p", true},
                {"/t/x/y/z", true},  {"/s", false},        {"/s/a-", false},
                {"/s/a-c/p", false}, {"/s/ab/p", false},   {"/t/x/p", false},
                {"/u/s/a/p", false}, {"/", false}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (maintainer_has(&m, rows[i].path) != rows[i].has)
            fail_msg("'%s'", rows[i].path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(without_a_name_all_is_wanted),
        cmocka_unit_test(addresses_are_left_out),
        cmocka_unit_test(why_there_is_nothing),
        cmocka_unit_test(packages_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
