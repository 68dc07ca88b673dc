/*
 * Spills: what goes in comes out, and a full or missing directory is named.
 */
#include "tests/unit/unit.h"

#include "base/spill.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void what_goes_in_comes_out(void **state UNUSED)
{
    CLEANUP(spill_closep) struct spill *spill = NULL;
    uint64_t first, second;
    char text[8] = "";
    struct err err;

    assert_int_equal(spill_open(&spill, &err), 0);
    assert_int_equal(spill_add(spill, "one", 3, &first, &err), 0);
    assert_int_equal(spill_add(spill, "three", 5, &second, &err), 0);
    assert_int_equal(spill_read(spill, second, text, 5, &err), 0);
    assert_string_equal(text, "three");
    assert_int_equal(spill_read(spill, first, text, 3, &err), 0);
    assert_memory_equal(text, "one", 3);
    assert_int_equal(spill_read(spill, second, text, 6, &err), -EIO); /* more than there is */
}

static void a_missing_directory_is_named(void **state UNUSED)
{
    struct spill *spill = NULL;
    struct err err;

    assert_int_equal(setenv("TMPDIR", "/nowhere/at-all", 1), 0);
    assert_int_equal(spill_open(&spill, &err), -ENOENT);
    assert_non_null(strstr(err.text, "'/nowhere/at-all' (TMPDIR names another directory)"));
    assert_null(spill);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

static void a_full_one_too(void **state UNUSED)
{
    CLEANUP(spill_closep) struct spill *spill = NULL;
    static const char megabyte[1 << 20];
    struct rlimit old, limit;
    uint64_t at = 7;
    struct err err;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = (struct rlimit){sizeof(megabyte) + 512, old.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(spill_open(&spill, &err), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(spill_add(spill, megabyte, sizeof(megabyte), &at, &err), 0);
    assert_int_equal(at, 0);
    assert_int_equal(spill_add(spill, megabyte, sizeof(megabyte), &at, &err), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_non_null(strstr(err.text, "cannot grow beyond 1 MiB"));
    assert_non_null(strstr(err.text, "TMPDIR"));
    assert_int_equal(at, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(a_missing_directory_is_named),
        cmocka_unit_test(a_full_one_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
