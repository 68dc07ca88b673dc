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

static struct profile profile_for(struct arena *arena, uint16_t machine, uint8_t class,
                                  const char *cpu_name)
{
    struct ldso ldso = {.libc = LIBC_GLIBC, .version = "2.36"};
    struct object object = {.class = class, .data = ELFDATA2LSB, .machine = machine, .ldso = &ldso};
    struct profile profile;
    struct cpu cpu;
    struct err err;

    assert_int_equal(cpu_find(cpu_name, &cpu, &err), 0);
    profile_make(arena, &object, "/lib/ld.so", "/lib/ld.so", &cpu, &profile);
    return profile;
}

/* First of all sub-directories, their number, and what differs by machine: docs/loader.md, 11. */
static const struct machine_row {
    uint16_t machine;
    uint8_t class;
    const char *cpu, *first;
    size_t n_caps;
    const char *vdso, *platform;
    bool assumed, from_source;
} machines[] = {
    {EM_AARCH64, ELFCLASS64, "aarch64", "tls/aarch64/atomics/", 8, "linux-vdso.so.1", "aarch64",
     false, false},
    {EM_AARCH64, ELFCLASS64, "aarch64-v8.0", "tls/aarch64/", 4, "linux-vdso.so.1", "aarch64", false,
     false},
    {EM_AARCH64, ELFCLASS64, "x86-64-v4", "tls/aarch64/atomics/", 8, "linux-vdso.so.1", "aarch64",
     true, false},
    {EM_386, ELFCLASS32, "i686", "tls/i686/sse2/", 8, "linux-gate.so.1", "i686", false, false},
    {EM_386, ELFCLASS32, "x86-64-v3:intel", "tls/i686/sse2/", 8, "linux-gate.so.1", "i686", false,
     false},
    {EM_ARM, ELFCLASS32, "armv7", "tls/v7l/neon/vfp/", 16, "linux-vdso.so.1", "v7l", false, false},
    {EM_RISCV, ELFCLASS64, "riscv64", "tls/", 2, "linux-vdso.so.1", NULL, false, false},
    {EM_PPC64, ELFCLASS64, "powerpc64le-power9", "glibc-hwcaps/power9/", 17, "linux-vdso64.so.1",
     "power9", false, false},
    {EM_S390, ELFCLASS64, "s390x-z15", "glibc-hwcaps/z15/", 515, "linux-vdso64.so.1", "z15", false,
     true},
    {EM_LOONGARCH, ELFCLASS64, "loongarch64", "tls/loongarch/", 4, "linux-vdso.so.1", "loongarch",
     false, true},
};

static void test_machines(void **state UNUSED)
{
    const struct machine_row *row;

    for_each (row, machines) {
        CLEANUP(arena_release) struct arena arena = {0};
        const struct profile p = profile_for(&arena, row->machine, row->class, row->cpu);

        assert_string_equal(p.caps[0], row->first);
        assert_int_equal(p.n_caps, row->n_caps);
        assert_string_equal(p.vdso, row->vdso);
        assert_true(row->platform ? !strcmp(p.platform, row->platform) : !p.platform);
        assert_int_equal(p.assumed != NULL, row->assumed);
        assert_int_equal(p.from_source != NULL, row->from_source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_the_version_comes_from),
        cmocka_unit_test(test_sub_directories),
        cmocka_unit_test(test_machines),
    };

    return UNIT_RUN(tests);
}
