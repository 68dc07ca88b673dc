#include "tests/unit/unit.h"

#include "base/json_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_strings_are_escaped(void **state UNUSED)
{
    json_auto_t *plain = json_text("liba.so"), *odd = json_text("lib\xff\n\\"),
                *none = json_text(NULL);

    assert_string_equal(json_string_value(plain), "liba.so");
    assert_string_equal(json_string_value(odd), "lib\\xff\\x0a\\x5c");
    assert_true(json_is_null(none));
}

static char *printed(const json_t *value, bool indented)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    struct err err;

    assert_int_equal(json_print(value, to, indented, &err), 0);
    (void)fclose(to);
    return text;
}

static void test_printing(void **state UNUSED)
{
    json_auto_t *object = json_object();
    json_t *list = json_array();
    char *text;

    json_put_text(object, "z", "last letter first: order is kept");
    json_put_int(object, "a", -5);
    json_push(list, json_true());
    json_put(object, "list", list);
    text = printed(object, false);
    assert_string_equal(text,
                        "{\"z\":\"last letter first: order is kept\",\"a\":-5,\"list\":[true]}\n");
    free(text);
    text = printed(object, true);
    assert_non_null(strstr(text, "\n  \"a\": -5,\n"));
    free(text);
}

/* A line is what jansson makes of the same members, whatever is in them. */
static json_t *make_item(void *data UNUSED, size_t i)
{
    json_t *item = json_object();

    json_put_int(item, "i", (int64_t)i);
    json_put_text(item, "text", "a\nb\1");
    json_put(item, "none", json_array());
    return item;
}

static char *printed_items(const json_t *frame, const struct json_items *items)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    struct err err;

    assert_int_equal(json_print_items(frame, items, to, &err), 0);
    assert_int_equal(fclose(to), 0);
    return text;
}

/* Item by item, or all at once: the same. */
static void test_printing_items(void **state UNUSED)
{
    for (size_t n = 0; n < 4; n++) {
        const struct json_items items = {make_item, NULL, n};
        json_auto_t *frame = json_object(), *whole = json_object();
        json_t *list = json_array();
        char *a, *b;

        for (size_t i = 0; i < n; i++)
            json_push(list, make_item(NULL, i));
        json_put_text(frame, "before", "\1");
        json_put_text(whole, "before", "\1");
        json_put(frame, "items", json_items(n));
        json_put(whole, "items", list);
        json_put_int(frame, "after", 1);
        json_put_int(whole, "after", 1);
        a = printed_items(frame, &items);
        b = printed(whole, true);
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
}

static void test_lines(void **state UNUSED)
{
    static const char *const texts[] = {
        "", "plain", "q\"uote", "back\\slash", "d\xc3\xa9j\xc3\xa0", "\xff\n\x7f", NULL};
    static const int64_t numbers[] = {0, 7, -1, 1234567890123, INT64_MAX, INT64_MIN};
    struct json_line line;
    char *text = NULL, *expected;
    json_t *inner = json_object(), *list = json_array();
    json_auto_t *value = json_object();
    size_t size;
    FILE *to = open_memstream(&text, &size);
    struct err err;

    json_line_begin(&line, to);
    for (int i = 0; i < 500; i++) { /* more than is gathered at once */
        char key[16];

        (void)snprintf(key, sizeof(key), "key%d", i);
        json_line_text(&line, key, texts[(size_t)i % ARRAY_LEN(texts)]);
        json_put_text(value, key, texts[(size_t)i % ARRAY_LEN(texts)]);
    }
    json_line_open(&line, "inner");
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        const char key[] = {(char)('a' + i), '\0'};

        json_line_int(&line, key, numbers[i]);
        json_put_int(inner, key, numbers[i]);
    }
    json_line_close(&line);
    json_line_open(&line, "nothing");
    json_line_close(&line);
    json_line_texts(&line, "texts", texts, 3);
    json_line_texts(&line, "none", NULL, 0);
    json_line_bool(&line, "yes", true);
    json_line_bool(&line, "no", false);
    assert_int_equal(json_line_end(&line, &err), 0);
    (void)fclose(to);
    json_put(value, "inner", inner);
    json_put(value, "nothing", json_object());
    for (size_t i = 0; i < 3; i++)
        json_push(list, json_text(texts[i]));
    json_put(value, "texts", list);
    json_put(value, "none", json_array());
    json_put(value, "yes", json_true());
    json_put(value, "no", json_false());
    expected = printed(value, false);
    assert_string_equal(text, expected);
    free(expected);
    free(text);
}

static void test_printing_to_a_full_disk(void **state UNUSED)
{
    json_auto_t *value = json_array();
    FILE *full = fopen("/dev/full", "we");
    struct err err = {0};
    int r;

    if (!full) {
        skip();
        return;
    }
    (void)setvbuf(full, NULL, _IONBF, 0);
    r = json_print(value, full, false, &err);
    (void)fclose(full);
    assert_int_equal(r, -EIO);
    assert_non_null(strstr(err.text, "cannot write"));
}

static const struct read_row {
    const char *text;
    int result;
    const char *said; /* part of the error */
} reads[] = {
    {"{\"a\": 1}", 0, NULL},
    {"[]", 0, NULL},
    {"{\"a\": 1, \"a\": 2}", -EINVAL, "duplicate"},
    {"{\"a\": 1\n,}", -EINVAL, "line 2"},
    {"", -EINVAL, "line"},
    {"{} more", -EINVAL, "line 1"},
    {"[\"\xff\"]", -EINVAL, "line 1"},
    {"[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]", -EFBIG, "limit is 40"},
};

static void test_reading(void **state UNUSED)
{
    const struct read_row *row;

    for_each (row, reads) {
        char path[] = "/tmp/stormlint-json-XXXXXX";
        const int fd = mkstemp(path);
        json_t *value = NULL;
        struct err err = {0};

        assert_true(fd >= 0);
        assert_int_equal(write(fd, row->text, strlen(row->text)), strlen(row->text));
        close(fd);
        assert_int_equal(json_read_file(path, 40, &value, &err), row->result);
        (void)unlink(path);
        if (row->result == 0) {
            assert_non_null(value);
            json_decref(value);
        } else {
            assert_null(value);
            assert_non_null(strstr(err.text, row->said));
            assert_non_null(strstr(err.text, path)); /* which file */
        }
    }
}

static void test_reading_what_is_not_there(void **state UNUSED)
{
    json_t *value = NULL;
    struct err err = {0};

    assert_int_equal(json_read_file("/no/such/file", 100, &value, &err), -ENOENT);
    assert_non_null(strstr(err.text, "'/no/such/file'"));
}

/* What a writer makes of a document and what jansson does: the same bytes. */
static void test_writing(void **state UNUSED)
{
    static const char *const odd[] = {
        "",
        "plain",
        "a \"quote\"",
        "back\\slash",
        "new\nline",
        "\xff\xfe",
        "gr\xc3\xbc\xc3\x9f",
        "\x7f",
        "/slash/",
        "\xed\xa0\x80",
        "\x01"
        "1",
    };

    for (int indented = 0; indented < 2; indented++) {
        struct json_writer w = {.indented = indented};
        json_auto_t *object = json_object();
        json_t *list = json_array(), *inner = json_object();
        char *want, *got = NULL;
        const char *const *text;
        size_t size = 0;
        FILE *to = open_memstream(&got, &size);
        struct err err;

        json_write_begin(&w, NULL, '{');
        json_write_begin(&w, "list", '[');
        for_each (text, odd) {
            json_write_text(&w, NULL, *text);
            json_push(list, json_text(*text));
        }
        json_write_int(&w, NULL, INT64_MIN);
        json_push(list, json_integer(INT64_MIN));
        json_write_begin(&w, NULL, '[');
        json_write_end(&w);
        json_push(list, json_array());
        json_write_end(&w);
        json_put(object, "list", list);
        json_write_text(&w, "none", NULL);
        json_put_text(object, "none", NULL);
        json_put_text(inner, "k\"", "v\xff");
        json_put(inner, "yes", json_true());
        json_put(inner, "real", json_real(0.5));
        json_put(inner, "empty", json_object());
        json_put(object, "inner", json_incref(inner));
        json_write_value(&w, "inner", inner);
        json_write_end(&w);
        assert_int_equal(json_write_print(&w, to, &err), 0);
        (void)fclose(to);
        want = printed(object, indented);
        assert_string_equal(got, want);
        free(w.text);
        free(got);
        free(want);
    }
}

static void test_writing_to_a_full_disk(void **state UNUSED)
{
    FILE *full = fopen("/dev/full", "we");
    struct json_writer w = {0};
    struct err err = {0};
    int r;

    if (!full) {
        skip();
        return;
    }
    (void)setvbuf(full, NULL, _IONBF, 0);
    json_write_int(&w, NULL, 1);
    r = json_write_print(&w, full, &err);
    (void)fclose(full);
    free(w.text);
    assert_int_equal(r, -EIO);
    assert_non_null(strstr(err.text, "cannot write"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings_are_escaped),
        cmocka_unit_test(test_printing),
        cmocka_unit_test(test_printing_items),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_printing_to_a_full_disk),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_reading_what_is_not_there),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_writing_to_a_full_disk),
    };

    return UNIT_RUN(tests);
}
