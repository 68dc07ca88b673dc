#include "tests/unit/unit.h"

#include "base/str.h"

#include <string.h>

static const struct escape_row {
    const char *bytes, *shown;
} escapes[] = {
    {"", ""},
    {"libc.so.6", "libc.so.6"},
    {"a b", "a b"},
    {"line\n", "line\\x0a"},
    {"back\\slash", "back\\x5cslash"},
    {"\\x41", "\\x5cx41"}, /* bytes that look like an escape */
    {"\x7f", "\\x7f"},
    {"\x01\x1b[0m", "\\x01\\x1b[0m"},
    {"f\xc3\xbcr", "f\xc3\xbcr"},        /* two bytes */
    {"\xe2\x82\xac", "\xe2\x82\xac"},    /* three */
    {"\xe2\x80\xae", "\\xe2\\x80\\xae"}, /* from right to left */
    {"\xe2\x80\xad"
     "a",
     "\\xe2\\x80\\xad"
     "a"},
    {"\xd8\x9c", "\\xd8\\x9c"},
    {"\xd8\x9b", "\xd8\x9b"},
    {"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},      /* of no width */
    {"\xf0\x9f\x8c\xa9", "\xf0\x9f\x8c\xa9"}, /* four */
    {"\xc3", "\\xc3"},                        /* cut off */
    {"\xe2\x82", "\\xe2\\x82"},
    {"\xf0\x9f\x8c", "\\xf0\\x9f\\x8c"},
    {"\xc3(", "\\xc3("},
    {"\xc0\xaf", "\\xc0\\xaf"}, /* overlong slash */
    {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
    {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* surrogate */
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond U+10FFFF */
    {"\xc2\x85", "\\xc2\\x85"},                   /* C1 control */
    {"\x80\xff", "\\x80\\xff"},
    {"\xef\xbf\xbd", "\xef\xbf\xbd"},
    {"\xef\xbf\xbe", "\\xef\\xbf\\xbe"}, /* U+FFFE */
};

static void test_escape_rows(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct escape_row *row;

    for_each (row, escapes) {
        assert_string_equal(str_escape(&arena, row->bytes), row->shown);
        assert_string_equal(str_unescape(&arena, row->shown), row->bytes);
    }
}

static void test_what_needs_nothing_is_not_copied(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *text = "/nix/store/x";

    assert_ptr_equal(str_escape(&arena, text), text);
}

/* Every pair of bytes, and every byte among others, comes back. */
static void test_round_trip(void **state UNUSED)
{
    for (unsigned a = 1; a < 256; a++) {
        CLEANUP(arena_release) struct arena arena = {0};

        for (unsigned b = 1; b < 256; b++) {
            const char text[] = {'x', (char)a, (char)b, 'y', (char)a, '\0'};
            const char *shown = str_escape(&arena, text);

            assert_string_equal(str_unescape(&arena, shown), text);
        }
    }
}

static void test_part_of_a_buffer(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};

    assert_string_equal(str_escape_n(&arena, "abcdef", 3), "abc");
    assert_string_equal(str_escape_n(&arena, "a\0b", 3), "a\\x00b");
    assert_string_equal(str_escape_n(&arena, "\xc3\xbc", 1), "\\xc3");
}

static void test_unescape_leaves_the_rest(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};

    assert_string_equal(str_unescape(&arena, "\\x4"), "\\x4");
    assert_string_equal(str_unescape(&arena, "\\xzz\\"), "\\xzz\\");
    assert_string_equal(str_unescape(&arena, "\\x4A\\x4a"), "JJ");
}

static void test_join(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};

    assert_string_equal(str_join(&arena, "/a", "b"), "/a/b");
    assert_string_equal(str_join(&arena, "/a/", "b"), "/a/b");
    assert_string_equal(str_join(&arena, "/", "b"), "/b");
    assert_string_equal(str_normal(&arena, "/a//./b/../c"), "/a/c/");
    assert_string_equal(str_normal(&arena, "/../.."), "/");
    assert_string_equal(str_join(&arena, "", "b"), "b");
    assert_string_equal(str_join(&arena, "/a", "/b"), "/b");
}

static void test_small_ones(void **state UNUSED)
{
    assert_true(str_starts("libc.so", "lib"));
    assert_true(str_starts("lib", ""));
    assert_false(str_starts("li", "lib"));
    assert_true(str_ends("libc.so", ".so"));
    assert_false(str_ends("so", ".so"));
    assert_true(str_same(NULL, NULL));
    assert_false(str_same(NULL, ""));
    assert_true(str_same("a", "a"));
    assert_string_equal(str_base("/a/b"), "b");
    assert_string_equal(str_base("/a/"), "");
    assert_string_equal(str_base("b"), "b");
}

static void test_growing(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct str text = {.arena = &arena};

    for (int i = 0; i < 1000; i++)
        str_printf(&text, "%03d", i);
    str_add_n(&text, "\0z", 2);
    assert_int_equal(text.len, 3002);
    assert_memory_equal(text.text + 2997, "999\0z", 6);
}

static void test_markup(void **state UNUSED)
{
    static const struct escape_row rows[] = {
        {"", ""},
        {"libz.so.1", "libz.so.1"},
        {"<a href='x'>", "&lt;a href=&#39;x&#39;&gt;"},
        {"&amp;", "&amp;amp;"},
        {"\"\x01\\", "&quot;\\x01\\x5c"},
        {"f\xc3\xbcr", "f\xc3\xbcr"},
    };
    CLEANUP(arena_release) struct arena arena = {0};
    struct str str = {.arena = &arena};
    const struct escape_row *row;

    for_each (row, rows)
        assert_string_equal(str_markup(&arena, row->bytes), row->shown);
    str_add_markup(&str, "\\x01<"); /* escaped before: not again */
    assert_string_equal(str.text, "\\x01&lt;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escape_rows),
        cmocka_unit_test(test_what_needs_nothing_is_not_copied),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_part_of_a_buffer),
        cmocka_unit_test(test_unescape_leaves_the_rest),
        cmocka_unit_test(test_markup),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_small_ones),
        cmocka_unit_test(test_growing),
    };

    return UNIT_RUN(tests);
}
