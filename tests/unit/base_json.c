#include "tests/unit/unit.h"

#include "base/json.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings_are_escaped),       cmocka_unit_test(test_printing),
        cmocka_unit_test(test_printing_to_a_full_disk),   cmocka_unit_test(test_reading),
        cmocka_unit_test(test_reading_what_is_not_there),
    };

    return UNIT_RUN(tests);
}
