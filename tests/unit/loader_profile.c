#include "tests/unit/unit.h"

#include "loader/profile.h"

#include <string.h>

static struct profile profile_of(struct arena *arena, enum libc libc, const char *version,
                                 const char *path)
{
    struct ldso ldso = {.libc = libc, .version = version};
    struct object object = {
        .class = ELFCLASS64, .data = ELFDATA2LSB, .machine = EM_X86_64, .ldso = &ldso};
    struct profile profile;
    struct cpu cpu;
    struct err err;

    assert_int_equal(cpu_find("x86-64-v3", &cpu, &err), 0);
    profile_make(arena, &object, "/lib64/ld-linux-x86-64.so.2", path, &cpu, &profile);
    return profile;
}

static const struct version_row {
    enum libc libc;
    const char *in_file, *path;
    int version;
    bool assumed;
} versions[] = {
    {LIBC_GLIBC, "2.36", "/lib/ld.so", 36, false},
    {LIBC_GLIBC, "2.41.1", "/lib/ld.so", 41, false},
    {LIBC_GLIBC, NULL, "/nix/store/h-glibc-2.40-66/lib/ld-linux-x86-64.so.2", 40, false},
    {LIBC_GLIBC, "2.38", "/nix/store/h-glibc-2.40-66/lib/ld-linux-x86-64.so.2", 38, false},
    {LIBC_GLIBC, NULL, "/lib/x86_64-linux-gnu/ld-2.31.so", 31, false},
    {LIBC_GLIBC, NULL, "/lib/ld-linux-x86-64.so.2", 42, true},
    {LIBC_GLIBC, NULL, "/lib/ld-2.so", 42, true},
    {LIBC_MUSL, "1.2.5", "/lib/ld-musl-x86_64.so.1", 10205, false},
    {LIBC_MUSL, NULL, "/nix/store/h-musl-1.2.3/lib/ld-musl-x86_64.so.1", 10203, false},
    {LIBC_MUSL, NULL, "/lib/ld-musl-x86_64.so.1", 10205, true},
};

static void test_where_the_version_comes_from(void **state UNUSED)
{
    const struct version_row *row;

    for_each (row, versions) {
        CLEANUP(arena_release) struct arena arena = {0};
        const struct profile p = profile_of(&arena, row->libc, row->in_file, row->path);

        assert_int_equal(p.version, row->version);
        assert_int_equal(p.assumed != NULL, row->assumed);
    }
}

/* What the versions change in the list of sub-directories: docs/loader.md, 11 and 12. */
static void test_sub_directories(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct profile old = profile_of(&arena, LIBC_GLIBC, "2.31", "/lib/ld.so");
    const struct profile both = profile_of(&arena, LIBC_GLIBC, "2.36", "/lib/ld.so");
    const struct profile new = profile_of(&arena, LIBC_GLIBC, "2.37", "/lib/ld.so");

    assert_int_equal(old.n_levels, 0);
    assert_int_equal(old.n_caps, 8);
    assert_string_equal(old.caps[0], "tls/x86_64/x86_64/");
    assert_int_equal(both.n_levels, 2);
    assert_int_equal(both.n_caps, 10);
    assert_string_equal(both.caps[0], "glibc-hwcaps/x86-64-v3/");
    assert_int_equal(new.n_caps, 3);
    assert_string_equal(new.caps[2], "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_the_version_comes_from),
        cmocka_unit_test(test_sub_directories),
    };

    return UNIT_RUN(tests);
}
