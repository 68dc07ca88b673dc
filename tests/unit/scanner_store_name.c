/*
 * Names of store paths taken apart, and what in a store is no package.
 */
#include "tests/unit/unit.h"

#include "scanner/store_name.h"

#define HASH "0123456789abcdfghijklmnpqrsvwxyz"

static void names(void **state)
{
    static const struct {
        const char *base, *deriver, *hash, *name, *pname, *version, *output;
    } rows[] = {
        {HASH "-glibc-2.41", NULL, HASH, "glibc-2.41", "glibc", "2.41", "out"},
        {HASH "-openssl-3.0.1-dev", NULL, HASH, "openssl-3.0.1", "openssl", "3.0.1", "dev"},
        {HASH "-gtk+3-3.24.1-bin", NULL, HASH, "gtk+3-3.24.1", "gtk+3", "3.24.1", "bin"},
        {HASH "-perl-dev", NULL, HASH, "perl-dev", "perl-dev", "", "out"},
        {HASH "-perl-dev", HASH "-perl.drv", HASH, "perl", "perl", "", "dev"},
        {HASH "-foo-1.2-special", HASH "-foo-1.2.drv", HASH, "foo-1.2", "foo", "1.2", "special"},
        {HASH "-foo-1.2-dev", HASH "-foo-1.2-dev.drv", HASH, "foo-1.2-dev", "foo", "1.2-dev",
         "out"},
        {HASH "-foo-1.2", HASH "-bar-9.drv", HASH, "foo-1.2", "foo", "1.2", "out"},
        {HASH "-python3.12-numpy-1.26", NULL, HASH, "python3.12-numpy-1.26", "python3.12-numpy",
         "1.26", "out"},
        {HASH "-builder.sh", NULL, HASH, "builder.sh", "builder.sh", "", "out"},
        {"zlib-1.3-" HASH, NULL, HASH, "zlib-1.3", "zlib", "1.3", "out"},
        {"plain", NULL, NULL, "plain", "plain", "", "out"},
        {"-", NULL, NULL, "-", "-", "", "out"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct store_name n;

        store_name_parse(&arena, rows[i].base, rows[i].deriver, &n);
        if (rows[i].hash)
            assert_string_equal(n.hash, rows[i].hash);
        else
            assert_null(n.hash);
        assert_string_equal(n.name, rows[i].name);
        assert_string_equal(n.pname, rows[i].pname);
        assert_string_equal(n.version, rows[i].version);
        assert_string_equal(n.output, rows[i].output);
    }
}

static void internals(void **state)
{
    (void)state;
    assert_true(store_name_is_internal(".links"));
    assert_true(store_name_is_internal(HASH "-foo.drv"));
    assert_true(store_name_is_internal(HASH "-foo.lock"));
    assert_false(store_name_is_internal(HASH "-foo"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(internals)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
