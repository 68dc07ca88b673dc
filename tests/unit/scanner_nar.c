/*
 * Archives, their narinfos and listings: what is read, and what is refused.
 */
#include "tests/unit/unit.h"

#include "base/str.h"
#include "scanner/listing.h"
#include "scanner/nar_walk.h"
#include "scanner/narinfo.h"
#include "scanner/unpack.h"
#include "tests/elf/elf_writer.h"

#include <errno.h>
#include <string.h>

/* ---- archives made of words */

static void add_string(struct str *s, const char *bytes, size_t n)
{
    char length[8] = {0};

    for (size_t i = 0; i < 8; i++)
        length[i] = (char)((uint64_t)n >> 8 * i);
    str_add_n(s, length, 8);
    str_add_n(s, bytes, n);
    str_add_n(s, "\0\0\0\0\0\0\0", -n & 7);
}

/* Words parted by blanks, "_" an empty one. */
static struct str archive(struct arena *arena, const char *words)
{
    struct str s = {.arena = arena};

    while (*words) {
        const size_t n = strcspn(words, " ");

        if (n)
            add_string(&s, words, n == 1 && *words == '_' ? 0 : n);
        words += n + (words[n] == ' ');
    }
    return s;
}

static struct package_facts *walk(const char *bytes, size_t size, size_t piece, struct err *err)
{
    struct nar_walk *w = nar_walk_new("/nix/store");
    struct nar *nar = nar_new(&nar_walk_sink, w);
    struct package_facts *f;
    int r = 0;

    nar_walk_begin(w, "package", NULL);
    nar_start(nar);
    for (size_t at = 0; at < size && r == 0; at += piece)
        r = nar_add(nar, bytes + at, size - at < piece ? size - at : piece, err);
    if (r == 0)
        r = nar_end(nar, err);
    f = nar_walk_end(w);
    if (r < 0) {
        package_facts_free(f);
        f = NULL;
    }
    nar_free(nar);
    nar_walk_free(w);
    return f;
}

#define TOP               "nix-archive-1 ( type directory "
#define ENTRY(name, node) "entry ( name " name " node ( " node " ) ) "
#define FILE_OF(text)     "type regular contents " text

static void good_archives_are_read(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct str s =
        archive(&arena, TOP ENTRY("bin", "type directory " ENTRY(
                                             "tool", "type regular executable _ contents #!/bin/sh")
                                             ENTRY("up", "type symlink target ../lib"))
                            ENTRY("lib", "type directory") ")");
    struct err err;

    (void)state;
    for (size_t piece = 1; piece <= s.len; piece += 1 + piece / 7) {
        struct package_facts *f = walk(s.text, s.len, piece, &err);

        assert_non_null(f);
        assert_string_equal(f->kind, "dir");
        assert_int_equal(f->files, 1);
        assert_int_equal(f->n_dirs, 3);
        assert_string_equal(f->dir[0].path, "bin");
        assert_memory_equal(f->dir[0].entries,
                            "stool\0"
                            "9\0lup\0../lib",
                            18);
        package_facts_free(f);
    }
}

static void elf_files_are_read(void **state)
{
    static const struct elf_dyn dyn[] = {{DT_SONAME, "liba.so.1", 0}};
    CLEANUP(arena_release) struct arena arena = {0};
    struct elf_spec spec = elf_library();
    struct str s = archive(&arena, "nix-archive-1 ( type regular contents");
    struct elf_image image;
    struct package_facts *f;
    struct err err;

    (void)state;
    spec.dynamic = dyn;
    spec.n_dynamic = ARRAY_LEN(dyn);
    spec.trailing = 20 * 1024 * 1024; /* more than is kept in memory */
    image = elf_write(&arena, &spec);
    add_string(&s, (const char *)image.bytes, image.size);
    add_string(&s, ")", 1);
    f = walk(s.text, s.len, 100000, &err);
    assert_non_null(f);
    assert_string_equal(f->kind, "file");
    assert_int_equal(f->objects, 1);
    assert_string_equal(f->dir[0].object[0].object->soname, "liba.so.1");
    assert_int_equal(f->dir[0].object[0].object->size, image.size);
    assert_int_equal(f->dir[0].object[0].object->mode, 0100444);
    package_facts_free(f);
}

static void bad_archives_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "_",
        "nix-archive-2 (",
        "nix-archive-1 ( type fifo )",
        "nix-archive-1 ( type directory",
        TOP ENTRY("b", FILE_OF("x")) ENTRY("a", FILE_OF("x")) ")",
        TOP ENTRY("a", FILE_OF("x")) ENTRY("a", FILE_OF("x")) ")",
        TOP ENTRY("..", FILE_OF("x")) ")",
        TOP ENTRY(".", FILE_OF("x")) ")",
        TOP ENTRY("_", FILE_OF("x")) ")",
        TOP ENTRY("a/b", FILE_OF("x")) ")",
        "nix-archive-1 ( type symlink target _ )",
        "nix-archive-1 ( type regular )",
        "nix-archive-1 ( type regular executable x contents y )",
        "nix-archive-1 ( type regular contents x ) (",
        TOP ") )",
    };
    CLEANUP(arena_release) struct arena arena = {0};
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const struct str s = archive(&arena, bad[i]);

        assert_null(walk(s.text ? s.text : "", s.len, 5, &err));
        assert_int_equal(err.code, EINVAL);
    }
}

static void every_cut_is_noticed(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct str s = archive(&arena, TOP ENTRY("a", FILE_OF("text")) ")");
    struct err err;

    (void)state;
    for (size_t n = 0; n < s.len; n++)
        assert_null(walk(s.text, n, s.len, &err));
    for (size_t i = 0; i < s.len; i++) { /* padding and lengths count */
        char *copy = arena_memdup(&arena, s.text, s.len);
        struct package_facts *f;

        copy[i] = (char)(copy[i] ^ 0x80);
        f = walk(copy, s.len, s.len, &err);
        package_facts_free(f); /* a changed name or text is one, too */
    }
}

static void depth_is_limited(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct str words = {.arena = &arena}, s;
    struct err err;

    (void)state;
    str_add(&words, "nix-archive-1 ( type directory ");
    for (int i = 0; i < 300; i++)
        str_add(&words, "entry ( name d node ( type directory ");
    s = archive(&arena, words.text);
    assert_null(walk(s.text, s.len, s.len, &err));
    assert_non_null(strstr(err.text, "too deeply"));
}

/* ---- narinfos */

#define HASH "0123456789abcdfghijklmnpqrsvwxyz"
#define INFO                                                                                       \
    "StorePath: /nix/store/" HASH "-x\nURL: nar/x.nar.xz\nCompression: xz\n"                       \
    "NarHash: sha256:1b8m03r63zqhnjf7l5wnldhh7c134ap5vpj0850ymkq1iyzicy5s\nNarSize: 5\n"

static int read_info(struct arena *arena, const char *text, struct narinfo *ret)
{
    struct err err;

    return narinfo_read(text, strlen(text), "/nix/store", arena, ret, &err);
}

static void narinfos_are_read(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct narinfo info;

    (void)state;
    assert_int_equal(read_info(&arena,
                               INFO
                               "References: " HASH "-z " HASH
                               "-a\nDeriver: unknown-deriver\nSomething: new\nSig: a:b\nSig: c:d",
                               &info),
                     0);
    assert_string_equal(info.base, HASH "-x");
    assert_string_equal(info.nar_hash,
                        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(info.n_references, 2);
    assert_string_equal(info.reference[0], HASH "-a");
    assert_int_equal(info.n_signatures, 2);
    assert_null(info.deriver);
}

static void bad_narinfos_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "nonsense",
        INFO, /* without References */
        INFO "References: ../x\n",
        INFO "References: \nNarSize: 6\n",
        INFO "References: \nFileSize: x\n",
        "StorePath: /gnu/store/" HASH "-x\n",
        "StorePath: /nix/store/x\n",
        "StorePath: /nix/store/" HASH "-x/y\n",
        "URL: ../x\n",
        "URL: a/../../x\n",
        "URL: /etc\n",
        "URL: file:///etc\n",
        "URL: file:etc\n",
        "URL: a/..\n",
        "URL: ..\n",
        "URL: \n",
        "URL: a b\n",
        "NarSize: -1\n",
        "NarSize: 99999999999999999999\n",
        "NarHash: md5:00\n",
        "NarHash: \n",
    };
    CLEANUP(arena_release) struct arena arena = {0};
    struct narinfo info;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(read_info(&arena, bad[i], &info), -EINVAL);
}

/* ---- listings and packing */

static void names_tell_what_cannot_be_elf(void **state)
{
    static const struct {
        const char *name;
        bool executable, may;
        uint64_t size;
    } rows[] = {
        {"liba.so.1", false, true, 100},
        {"tool", true, true, 100},
        {"x.h", false, false, 100},
        {"x.h", true, true, 100},
        {"x", true, false, 3},
        {"plugin.node", false, true, 100},
        {"ls.1.gz", false, false, 100},
        {"LICENSE", false, false, 100},
        {"noext", false, true, 100},
        {"web.go", false, true, 100},
        {"normal.mod", false, true, 100},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(listing_may_be_elf(rows[i].name, rows[i].executable, rows[i].size),
                         rows[i].may);
}

static void bad_listings_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{\"version\":1}",
        "{\"version\":2,\"root\":{\"type\":\"directory\",\"entries\":{}}}",
        "{\"version\":1,\"root\":{\"type\":\"regular\"}}",
        "{\"version\":1,\"root\":{\"type\":\"regular\",\"size\":-1}}",
        "{\"version\":1,\"root\":{\"type\":\"directory\",\"entries\":{\"a/"
        "b\":{\"type\":\"regular\",\"size\":1}}}}",
        "{\"version\":1,\"root\":{\"type\":\"directory\",\"entries\":{\"\":{\"type\":\"regular\","
        "\"size\":1}}}}",
        "{\"version\":1,\"root\":{\"type\":\"symlink\",\"target\":\"a\\u0000b\"}}",
    };
    struct listing_sum sum;
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(listing_sum(bad[i], strlen(bad[i]), &sum, &err), -EINVAL);
}

static int count(void *data, const void *bytes UNUSED, size_t n, struct err *err UNUSED)
{
    *(size_t *)data += n;
    return 0;
}

static void unpacking_is_limited(void **state)
{
    /* 100,000 zeroes */
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x68, 0x4d, 0x00,
                                         0x00, 0x08, 0x00, 0x01, 0x00, 0x9c, 0x86, 0x39,
                                         0x10, 0x02, 0xdb, 0x23, 0x4e, 0xf3};
    struct unpack *u = unpack_new();
    struct err err;
    size_t n = 0;

    (void)state;
    assert_int_equal(packing_by_magic(zstd, sizeof(zstd)), PACKING_ZSTD);
    assert_int_equal(unpack_start(u, PACKING_ZSTD, 1000, &err), 0);
    assert_true(unpack_add(u, zstd, sizeof(zstd), count, &n, &err) < 0);
    assert_int_equal(err.code, EFBIG);
    assert_int_equal(unpack_start(u, PACKING_ZSTD, 100000, &err), 0);
    for (size_t i = 0; i < sizeof(zstd); i++)
        assert_int_equal(unpack_add(u, zstd + i, 1, count, &n, &err), 0);
    assert_int_equal(unpack_end(u, &err), 0);
    assert_int_equal(n, 100000);
    assert_int_equal(unpack_start(u, PACKING_XZ, 1000, &err), 0);
    assert_int_equal(unpack_add(u, "no xz at all", 12, count, &n, &err), -EINVAL);
    assert_int_equal(unpack_start(u, PACKING_XZ, 1000, &err), 0);
    assert_int_equal(unpack_end(u, &err), -EINVAL);
    assert_int_equal(unpack_start(u, packing_by_name("gzip"), 1000, &err), -EINVAL);
    unpack_free(u);
}

/* What ends exactly where a block of output does: nothing more is waited for. */
static void unpacking_ends_at_a_block(void **state)
{
    /* 262,144 zeroes, each */
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x54, 0x00, 0x00,
                                         0x10, 0x00, 0x00, 0x01, 0x00, 0xfb, 0xff, 0x39, 0xc0,
                                         0x02, 0x03, 0x00, 0x10, 0x00, 0x40, 0x27, 0x0f, 0xa6},
                               brotli[] = {0x5b, 0xff, 0xff, 0x83, 0x7f, 0x02, 0x20,
                                           0x1e, 0x0b, 0x04, 0x72, 0xef, 0x07, 0x00},
                               xz[] = {0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22,
                                       0xde, 0x36, 0x02, 0x00, 0x21, 0x01, 0x16, 0x00, 0x00, 0x00,
                                       0x74, 0x2f, 0xe5, 0xa3, 0xe3, 0xff, 0xff, 0x00, 0x6a, 0x5d,
                                       0x00, 0x00, 0x6f, 0xfd, 0xff, 0xff, 0xa3, 0xb7, 0xff, 0x47,
                                       0x3e, 0x48, 0x15, 0x72, 0x39, 0x61, 0x51, 0xb8, 0x92, 0x28,
                                       0xe6, 0xa3, 0x86, 0x07, 0xf9, 0xee, 0xe4, 0x1e, 0x82, 0xd3,
                                       0x2f, 0xc5, 0x3a, 0x3c, 0x01, 0x4b, 0xb1, 0x7e, 0xc9, 0x8a,
                                       0x8a, 0x4d, 0x2f, 0xa3, 0x0d, 0xd9, 0x7f, 0xa6, 0xe3, 0x8c,
                                       0x23, 0x11, 0x53, 0xe0, 0x59, 0x18, 0xc5, 0x75, 0x8a, 0xe2,
                                       0x77, 0xf8, 0xb6, 0x94, 0x7f, 0x0c, 0x6a, 0xc0, 0xde, 0x74,
                                       0x49, 0x64, 0xe2, 0xe9, 0x5c, 0x53, 0xb2, 0x04, 0xd8, 0xf7,
                                       0x44, 0x0c, 0xab, 0x5f, 0x0d, 0x6d, 0x46, 0xe9, 0xe5, 0xc3,
                                       0x76, 0x88, 0xb7, 0x96, 0x57, 0xac, 0xb6, 0x4d, 0xe1, 0x69,
                                       0x1d, 0x6f, 0xab, 0xfc, 0xeb, 0x3a, 0x00, 0x00, 0x00, 0x00,
                                       0x22, 0xea, 0x0e, 0xe2, 0x00, 0x01, 0x82, 0x01, 0x80, 0x80,
                                       0x10, 0x00, 0x54, 0xf7, 0xe3, 0xeb, 0x3e, 0x30, 0x0d, 0x8b,
                                       0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a};
    static const struct {
        enum packing packing;
        const unsigned char *bytes;
        size_t n;
    } packed[] = {{PACKING_ZSTD, zstd, sizeof(zstd)},
                  {PACKING_BROTLI, brotli, sizeof(brotli)},
                  {PACKING_XZ, xz, sizeof(xz)}},
      *p;
    struct unpack *u = unpack_new();
    struct err err;
    size_t n;

    (void)state;
    for_each (p, packed) {
        n = 0;
        assert_int_equal(unpack_start(u, p->packing, 262144, &err), 0);
        assert_int_equal(unpack_add(u, p->bytes, p->n, count, &n, &err), 0);
        assert_int_equal(unpack_end(u, &err), 0);
        assert_int_equal(n, 262144);
        n = 0;
        assert_int_equal(unpack_start(u, p->packing, 262144, &err), 0);
        for (size_t i = 0; i < p->n; i++)
            assert_int_equal(unpack_add(u, p->bytes + i, 1, count, &n, &err), 0);
        assert_int_equal(unpack_end(u, &err), 0);
        assert_int_equal(n, 262144);
        assert_int_equal(unpack_add(u, "x", 1, count, &n, &err), -EINVAL);
        assert_int_equal(unpack_start(u, p->packing, 262143, &err), 0);
        assert_int_equal(unpack_add(u, p->bytes, p->n, count, &n, &err), -EFBIG);
        assert_int_equal(unpack_start(u, p->packing, 262144, &err), 0);
        assert_int_equal(unpack_add(u, p->bytes, p->n - 1, count, &n, &err), 0);
        assert_int_equal(unpack_end(u, &err), -EINVAL);
        assert_int_equal(unpack_start(u, p->packing, 262144, &err), 0);
        assert_int_equal(unpack_end(u, &err), -EINVAL);
    }
    unpack_free(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_archives_are_read),
        cmocka_unit_test(elf_files_are_read),
        cmocka_unit_test(bad_archives_are_refused),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(narinfos_are_read),
        cmocka_unit_test(bad_narinfos_are_refused),
        cmocka_unit_test(names_tell_what_cannot_be_elf),
        cmocka_unit_test(bad_listings_are_refused),
        cmocka_unit_test(unpacking_is_limited),
        cmocka_unit_test(unpacking_ends_at_a_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
