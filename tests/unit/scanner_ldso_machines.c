#include "tests/unit/unit.h"

#include "scanner/ldso.h"

#include <string.h>

/* Bytes as they stand in a loader's read-only data: strings, each with its NUL. */
#define FILE_OF(...)                                                                               \
    (const char *const[])                                                                          \
    {                                                                                              \
        "\x01", __VA_ARGS__, "glibc-ld.so.cache1.1", "stable release version 2.40.", NULL          \
    }

#define OUT    "/nix/store/qwq5x0zdmf7xxk1a5zs3cf7rzyl3cq4c-glibc-2.40-66"
#define LIBGCC "/nix/store/xmlzfrpdr5slzlyqrd4sbfv8b1dzjpl1-xgcc-14.3.0-libgcc"

/* What a loader's list of directories looks like, by who built it and for which machine. */
static const struct row {
    const char *soname, *const *strings;
    const char *dirs[5];
    const char *lib, *cache;
    bool debian;
} rows[] = {
    {"ld-linux-x86-64.so.2",
     FILE_OF(OUT "/lib/", "x", OUT "/etc/ld.so.cache", "/etc/ld-nix.so.preload"),
     {OUT "/lib/"},
     "lib",
     OUT "/etc/ld.so.cache",
     false},
    /* nixpkgs names libgcc's directory as one more trusted one */
    {"ld-linux-aarch64.so.1",
     FILE_OF("/proc/self/fd/", "x", OUT "/lib/", LIBGCC "/lib/", "x", OUT "/etc/ld.so.cache"),
     {OUT "/lib/", LIBGCC "/lib/"},
     "lib",
     OUT "/etc/ld.so.cache",
     false},
    {"ld-linux-armhf.so.3",
     FILE_OF("/lib/arm-linux-gnueabihf/", "/usr/lib/arm-linux-gnueabihf/", "/lib/", "/usr/lib/",
             "lib/arm-linux-gnueabihf", "/etc/ld.so.cache", "ld.so (Debian GLIBC 2.40-1)"),
     {"/lib/arm-linux-gnueabihf/", "/usr/lib/arm-linux-gnueabihf/", "/lib/", "/usr/lib/"},
     "lib/arm-linux-gnueabihf",
     "/etc/ld.so.cache",
     true},
    {"ld64.so.2",
     FILE_OF("/lib64/", "/usr/lib64/", "/etc/ld.so.cache"),
     {"/lib64/", "/usr/lib64/"},
     "lib64",
     "/etc/ld.so.cache",
     false},
    {"ld-linux-riscv64-lp64d.so.1",
     FILE_OF("/lib64/lp64d/", "/usr/lib64/lp64d/", "/etc/ld.so.cache"),
     {"/lib64/lp64d/", "/usr/lib64/lp64d/"},
     "lib64/lp64d",
     "/etc/ld.so.cache",
     false},
};

static void test_directories(void **state UNUSED)
{
    const struct row *row;

    for_each (row, rows) {
        CLEANUP(arena_release) struct arena arena = {0};
        const struct object object = {.soname = row->soname};
        const struct ldso *ldso;
        unsigned char bytes[1024];
        size_t len = 0, n = 0;

        for (const char *const *s = row->strings; *s; len += strlen(*s++) + 1)
            memcpy(bytes + len, *s, strlen(*s) + 1);
        ldso = ldso_read(&arena, &object, bytes, len);
        assert_non_null(ldso);
        assert_int_equal(ldso->libc, LIBC_GLIBC);
        assert_string_equal(ldso->version, "2.40");
        for (; row->dirs[n]; n++)
            assert_string_equal(ldso->system_dirs[n], row->dirs[n]);
        assert_int_equal(ldso->n_system_dirs, n);
        assert_string_equal(ldso->lib, row->lib);
        assert_string_equal(ldso->cache, row->cache);
        assert_int_equal(ldso->debian, row->debian);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directories),
    };

    return UNIT_RUN(tests);
}
