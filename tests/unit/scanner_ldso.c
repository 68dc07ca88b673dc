/*
 * Loader files are told by their content: version, directories, files, patches.
 */
#include "tests/unit/unit.h"

#include "base/str.h"
#include "scanner/ldso.h"

#include <string.h>

static const struct ldso *look(struct arena *arena, const char *soname, const char *bytes,
                               size_t len)
{
    const struct object object = {
        .data = ELFDATA2LSB, .type = ET_DYN, .has_dynamic = true, .soname = soname};

    assert_true(str_starts(soname ? soname : "", "libfoo") || ldso_candidate(&object));
    return ldso_read(arena, &object, (const unsigned char *)bytes, len);
}

#define LOOK(arena, soname, bytes) look(arena, soname, bytes, sizeof(bytes))

static void debian(void **state)
{
    static const char bytes[] =
        "\1\2/proc/self/fd/\0x\0/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/"
        "lib/"
        "\0\0\5lib/x86_64-linux-gnu\0/etc/ld.so.cache\0glibc-ld.so.cache1.1\0/etc/ld.so.preload\0"
        "2.36\0ld.so (Debian GLIBC 2.36-9+deb12u4) stable release version 2.36.\nCopyright\0";
    CLEANUP(arena_release) struct arena arena = {0};
    const struct ldso *l = LOOK(&arena, "ld-linux-x86-64.so.2", bytes);

    (void)state;
    assert_int_equal(l->libc, LIBC_GLIBC);
    assert_string_equal(l->version, "2.36");
    assert_true(l->debian);
    assert_false(l->reads_note);
    assert_int_equal(l->n_system_dirs, 4);
    assert_string_equal(l->system_dirs[0], "/lib/x86_64-linux-gnu/");
    assert_string_equal(l->system_dirs[3], "/usr/lib/");
    assert_string_equal(l->cache, "/etc/ld.so.cache");
    assert_string_equal(l->preload, "/etc/ld.so.preload");
    assert_string_equal(l->lib, "lib/x86_64-linux-gnu");
}

/* The fix that lets set-id programs search $ORIGIN normalised, by Debian's revisions. */
static void normalising(void **state)
{
    static const struct row {
        const char *banner;
        bool normalises;
    } rows[] =
        {
            {"ld.so (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.", false},
            {"ld.so (Debian GLIBC 2.41-12) stable release version 2.41.", false},
            {"ld.so (Debian GLIBC 2.41-12+deb13u4) stable release version 2.41.", false},
            {"ld.so (Debian GLIBC 2.41-12+deb13u5) stable release version 2.41.", true},
            {"ld.so (Debian GLIBC 2.41-12+deb13u10) stable release version 2.41.", true},
            {"ld.so (Debian GLIBC 2.43-6) stable release version 2.43.", false},
            {"ld.so (Debian GLIBC 2.43-7) stable release version 2.43.", true},
            {"ld.so (Debian GLIBC 2.43-12) stable release version 2.43.", true},
            {"ld.so (GNU libc) stable release version 2.43.", false},
        },
      *row;

    (void)state;
    for_each (row, rows) {
        CLEANUP(arena_release) struct arena arena = {0};
        const char *bytes = arena_printf(&arena, "glibc-ld.so.cache1.1 /lib/ %s", row->banner);

        assert_int_equal(look(&arena, "ld-linux-x86-64.so.2", bytes, strlen(bytes) + 1)->normalises,
                         row->normalises);
    }
}

static void nixpkgs(void **state)
{
    static const char bytes[] =
        "\0/nix/store/abc-glibc-2.40-66/lib/\0\1/nix/store/abc-glibc-2.40-66/etc/ld.so.cache\0"
        "glibc-ld.so.cache1.1\0/etc/ld-nix.so.preload\0"
        "ld.so (GNU libc) stable release version 2.40.\n\0\xb6\x6c\xa8\x63";
    CLEANUP(arena_release) struct arena arena = {0};
    const struct ldso *l = LOOK(&arena, "ld-linux-x86-64.so.2", bytes);

    (void)state;
    assert_string_equal(l->version, "2.40");
    assert_false(l->debian);
    assert_true(l->reads_note);
    assert_int_equal(l->n_system_dirs, 1);
    assert_string_equal(l->system_dirs[0], "/nix/store/abc-glibc-2.40-66/lib/");
    assert_string_equal(l->cache, "/nix/store/abc-glibc-2.40-66/etc/ld.so.cache");
    assert_string_equal(l->preload, "/etc/ld-nix.so.preload");
    assert_string_equal(l->lib, "lib");
}

/* No banner before 2.33, no version anywhere: not guessed. Directories edited in place: still read.
 */
static void old_and_edited(void **state)
{
    static const char bytes[] =
        "\0/nix/var/g/0123456789/\0/nix/var/g/no-such-dir/\0/n.x/\0/n.x/lib/\0"
        "GLIBC_2.4\0glibc-ld.so.cache1.1\0/nix/ld.so.cache\0";
    CLEANUP(arena_release) struct arena arena = {0};
    const struct ldso *l = LOOK(&arena, "ld-linux.so.2", bytes);

    (void)state;
    assert_null(l->version);
    assert_null(l->source);
    assert_int_equal(l->n_system_dirs, 4);
    assert_string_equal(l->system_dirs[2], "/n.x/");
    assert_null(l->preload);
}

static void musl(void **state)
{
    static const char bytes[] =
        "\0"
        "1.2.5\0/usr/local/bin:/bin:/usr/bin\0/lib:/usr/local/lib:/usr/lib\0"
        "%.*s/etc/ld-musl-x86_64.path\0";
    CLEANUP(arena_release) struct arena arena = {0};
    const struct ldso *l = LOOK(&arena, NULL, bytes);

    (void)state;
    assert_int_equal(l->libc, LIBC_MUSL);
    assert_string_equal(l->version, "1.2.5");
    assert_int_equal(l->n_system_dirs, 3);
    assert_string_equal(l->system_dirs[1], "/usr/local/lib/");
    assert_null(l->cache);
}

static void others(void **state)
{
    static const char bytes[] = "\0libfoo.so.1\0/usr/lib/\0";
    CLEANUP(arena_release) struct arena arena = {0};

    (void)state;
    assert_null(LOOK(&arena, "libfoo.so.1", bytes));
    assert_null(LOOK(&arena, NULL, bytes));
    assert_int_equal(LOOK(&arena, "ld-uClibc.so.0", bytes)->libc, LIBC_UNKNOWN);
    assert_false(ldso_candidate(&(struct object){.type = ET_EXEC, .has_dynamic = true}));
    assert_false(ldso_candidate(
        &(struct object){.type = ET_DYN, .has_dynamic = true, .soname = "libfoo.so.1"}));
}

/* Strings without an end, at every length. */
static void cut_off(void **state)
{
    static const char bytes[] = "glibc-ld.so.cache1.1\0/lib/\0/usr/lib/\0release version 2.\0/\0//";

    (void)state;
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        CLEANUP(arena_release) struct arena arena = {0};
        const char *copy = arena_memdup(&arena, bytes, len < sizeof(bytes) ? len : sizeof(bytes));

        assert_non_null(look(&arena, "ld-linux-x86-64.so.2", copy, len < sizeof(bytes) ? len : 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debian),         cmocka_unit_test(normalising), cmocka_unit_test(nixpkgs),
        cmocka_unit_test(old_and_edited), cmocka_unit_test(musl),        cmocka_unit_test(others),
        cmocka_unit_test(cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
