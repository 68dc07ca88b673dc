/*
 * Storms: ranked worst first, added up without overflow.
 */
#include "loader/storm.h"

#include "tests/unit/unit.h"

static void worst_first_then_by_path(void **state UNUSED)
{
    struct storm_row row[] = {
        {.program = "/d", .storm = {.failed_opens = 1}},
        {.program = "/b", .storm = {.failed_opens = 2, .failed_stats = 3}},
        {.program = "/c", .storm = {.opens = 99}},
        {.program = "/a", .storm = {.failed_opens = 5}},
        {.program = "/e", .storm = {.failed_opens = UINT32_MAX, .failed_stats = 1}},
    };
    static const char *const expected[] = {"/e", "/a", "/b", "/d", "/c"};

    storm_rank(row, ARRAY_LEN(row));
    for (size_t i = 0; i < ARRAY_LEN(row); i++)
        assert_string_equal(row[i].program, expected[i]);
    storm_rank(NULL, 0);
}

static void sums_do_not_wrap(void **state UNUSED)
{
    struct storm sum = {.opens = UINT32_MAX - 1, .objects = 2};

    storm_add(&sum, &(struct storm){.opens = 7, .objects = 3, .directories = 4});
    assert_int_equal(sum.opens, UINT32_MAX);
    assert_int_equal(sum.objects, 5);
    assert_int_equal(sum.directories, 4);
}

static void a_row_repeats_its_trace(void **state UNUSED)
{
    const char *assumption[] = {"something"};
    const struct trace trace = {.program = "/p",
                                .storm = {.opens = 3},
                                .dlopen = {.stats = 4},
                                .exit = EXIT_MISSING,
                                .exit_text = "missing: x",
                                .assumption = assumption,
                                .n_assumptions = 1};
    const struct storm_row row = storm_row(&trace);

    assert_string_equal(row.program, "/p");
    assert_int_equal(row.storm.opens, 3);
    assert_int_equal(row.dlopen.stats, 4);
    assert_int_equal(row.exit, EXIT_MISSING);
    assert_string_equal(row.exit_text, "missing: x");
    assert_true(row.assumed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worst_first_then_by_path),
        cmocka_unit_test(sums_do_not_wrap),
        cmocka_unit_test(a_row_repeats_its_trace),
    };

    return UNIT_RUN(tests);
}
