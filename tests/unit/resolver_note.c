/*
 * The two notes as bytes: what is accepted, and what a search in them finds.
 */
#include "base/base.h"
#include "resolver/note.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

/* A copy that ends where the note ends, so that a byte too far is noticed by sanitizers. */
static char *exact(const char *bytes, size_t size)
{
    char *copy = malloc(size ? size : 1);

    assert_non_null(copy);
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

/* A string's own zero is the second of the two at the end. */
#define NOTE(text) text, sizeof(text)

static const struct closure_row {
    const char *what;
    const char *bytes;
    size_t size;
    bool valid;
} closures[] = {
    {"a row", NOTE("1\0/a:/b\0libx.so\0\0.\0libx.so\0=/a/libx.so\0"), true},
    {"no run path", NOTE("1\0\0libx.so\0\0.\0libx.so\0=/a/libx.so\0"), true},
    {"no needed names", NOTE("1\0/a\0\0.\0libx.so\0=/a/libx.so\0"), true},
    {"no rows", NOTE("1\0/a\0libx.so\0\0"), true},
    {"nothing", "", 0, false},
    {"zeros", "\0\0", 2, false},
    {"three zeros", "\0\0\0", 3, false},
    {"another version", NOTE("2\0/a\0libx.so\0\0.\0libx.so\0=/a/libx.so\0"), false},
    {"version and more", NOTE("10\0/a\0libx.so\0\0"), false},
    {"only a version", NOTE("1\0"), false},
    {"needed names do not end", NOTE("1\0/a\0libx.so\0"), false},
    {"one zero at the end", "1\0/a\0libx.so\0\0.\0libx.so\0=/a/libx.so", 35, false},
};

static void opens(void **state UNUSED)
{
    const struct closure_row *row;

    for_each (row, closures) {
        char *bytes = exact(row->bytes, row->size);
        struct closure_note closure;

        if (closure_open(&closure, bytes, row->size) != row->valid)
            fail_msg("%s", row->what);
        free(bytes);
    }
}

struct list {
    const char *const *text;
};

static const char *next(void *data)
{
    struct list *list = data;

    return *list->text ? *list->text++ : NULL;
}

static void is_for(void **state UNUSED)
{
    static const char bytes[] = "1\0/a:/b\0libx.so\0liby.so\0\0.\0libx.so\0=/a/libx.so\0";
    static const struct {
        const char *run_path;
        const char *needed[4];
        bool same;
    } rows[] = {
        {"/a:/b", {"libx.so", "liby.so"}, true},
        {"/a", {"libx.so", "liby.so"}, false},
        {NULL, {"libx.so", "liby.so"}, false},
        {"/a:/b", {"libx.so"}, false},
        {"/a:/b", {"liby.so", "libx.so"}, false},
        {"/a:/b", {"libx.so", "liby.so", "libz.so"}, false},
        {"/a:/b", {NULL}, false},
    };
    struct closure_note closure;

    assert_true(closure_open(&closure, bytes, sizeof(bytes)));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct list list = {rows[i].needed};

        assert_int_equal(closure_is_for(&closure, rows[i].run_path, next, &list), rows[i].same);
    }
}

static void finds(void **state UNUSED)
{
    static const char bytes[] = "1\0\0\0.\0a\0=/1\0/x\0b\0=/2\0.\0b\0=/3\0/x\0c\0\0/y\0a\0=/4\0";
    char *copy = exact(bytes, sizeof(bytes));
    struct closure_note closure;

    assert_true(closure_open(&closure, copy, sizeof(bytes)));
    /* in order, out of order, round the end, twice the same */
    assert_string_equal(rows_find(&closure.rows, ".", "a"), "=/1");
    assert_string_equal(rows_find(&closure.rows, "/x", "b"), "=/2");
    assert_string_equal(rows_find(&closure.rows, "/y", "a"), "=/4");
    assert_string_equal(rows_find(&closure.rows, ".", "b"), "=/3");
    assert_string_equal(rows_find(&closure.rows, ".", "a"), "=/1");
    assert_string_equal(rows_find(&closure.rows, ".", "a"), "=/1");
    assert_null(rows_find(&closure.rows, "/x", "c")); /* an empty list */
    assert_null(rows_find(&closure.rows, "/y", "b"));
    assert_null(rows_find(&closure.rows, "/z", "a"));
    free(copy);
}

/* Rows that are cut off are not rows. */
static void finds_nothing_in_pieces(void **state UNUSED)
{
    static const char three[] = "1\0\0\0.\0a\0";
    static const char two[] = "a\0=/1\0b\0";
    struct closure_note closure;
    struct rows rows;

    assert_true(closure_open(&closure, three, sizeof(three)));
    assert_null(rows_find(&closure.rows, ".", "a"));
    assert_true(resolution_open(&rows, two, sizeof(two)));
    assert_string_equal(rows_find(&rows, NULL, "a"), "=/1");
    assert_null(rows_find(&rows, NULL, "b"));
    assert_false(resolution_open(&rows, "\0\0", 2));
    assert_false(resolution_open(&rows, "ab\0", 3));
    rows = (struct rows){0};
    assert_null(rows_find(&rows, NULL, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens),
        cmocka_unit_test(is_for),
        cmocka_unit_test(finds),
        cmocka_unit_test(finds_nothing_in_pieces),
    };

    return UNIT_RUN(tests);
}
