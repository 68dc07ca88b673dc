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

/* Indexes of shards are joined years and versions later: who belongs where may not change. */
static void shards_stay(void **state)
{
    static const struct {
        const char *base;
        unsigned shard;
    } rows[] = {
        {"0123456789abcdfghijklmnpqrsvwxyz-foo-1.0", 731},
        {"zyxwvsrqpnmlkjihgfdcba9876543210-bar", 708},
        {"no-hash", 563},
    };
    unsigned counts[5] = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(store_name_shard(rows[i].base, 1000), rows[i].shard);
    assert_int_equal(store_name_shard("0123456789abcdfghijklmnpqrsvwxyz-other", 1000),
                     store_name_shard(rows[0].base, 1000));
    for (unsigned i = 0; i < 1000; i++) {
        CLEANUP(arena_release) struct arena a = {0};
        const unsigned shard =
            store_name_shard(arena_printf(&a, "%032u-x", i * 7919), ARRAY_LEN(counts));

        assert_in_range(shard, 1, ARRAY_LEN(counts));
        counts[shard - 1]++;
    }
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        assert_in_range(counts[i], 150, 250);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(internals),
                                       cmocka_unit_test(shards_stay)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
