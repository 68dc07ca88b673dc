#include "tests/unit/unit.h"

#include "server/field.h"

static void tags(void **state UNUSED)
{
    static const struct row {
        const char *list;
        bool has;
    } rows[] =
        {
            {NULL, false},
            {"", false},
            {"a", false},
            {"\"a", false},
            {"\"a\"", true},
            {"W/\"a\"", true},
            {"\"a-gz\"", true},
            {"\"a-g\"", false},
            {"\"ab\"", false},
            {"\"b\", \"a\"", true},
            {"\"b\",\"\", W/\"a-gz\"", true},
        },
      *row;

    for_each (row, rows)
        assert_int_equal(field_names_tag(row->list, "a"), row->has);
}

static void encodings(void **state UNUSED)
{
    static const struct row {
        const char *list;
        bool takes;
    } rows[] =
        {
            {NULL, false},
            {"", false},
            {",,", false},
            {"gzip", true},
            {"deflate, GZIP", true},
            {"gzip2", false},
            {"*", true},
            {"gzip;q=0", false},
            {"gzip; q=0.000, br;q=1", false},
            {"gzip;q=0.001", true},
            {"br;q=0, gzip ;q=1.0", true},
            {"gzip;", true},
        },
      *row;

    for_each (row, rows)
        assert_int_equal(field_takes_gzip(row->list), row->takes);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(tags),
        cmocka_unit_test(encodings),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
