/*
 * Closure files: what two versions of Nix wrote of one closure is one closure (tests/closures/), and
 * what is none is refused with a sentence.
 */
#include "tests/unit/unit.h"

#include "base/str.h"
#include "scanner/closure_file.h"
#include "scanner/nar_hash.h"

#include <errno.h>
#include <string.h>

#define SSL      "9lzj1m7dnwa8gfa8kmfklmap3vlmh9rz-libssl3t64-3.5.9-1"
#define ZSTD     "k356bi9idw5crnrzq4yykl09nxdzsfdr-libzstd1-1.5.7+dfsg"
#define ZLIB     "k8mi2nacl3jnn0vzh1sca2mbf720gn9q-zlib1g-1.3.dfsg+really1.3.1"
#define LIBC     "sbrdqh6phlqi8ry6bwd1sr22kfkm0spr-glibc-2.41"
#define SSL_HASH "sha256:53885c73dcd7cc9045d2043d241038b2821843ddf495ab72de9a3f280bc17546"

static const struct recorded {
    const char *file, *format;
    bool refers, hashed, derived, is_sized;
} recorded[] = {
    {"nix-2.8.attrs.json", "attributes", true, true, false, true},
    {"nix-2.26.attrs.json", "attributes", true, true, false, true},
    {"nix-2.8.path-info.json", "path-info-0", true, true, true, true},
    {"nix-2.26.path-info.json", "path-info-1", true, true, true, true},
    {"nix-2.33.path-info-2.json", "path-info-2", true, true, true, true},
    {"nix-2.34.path-info-3.json", "path-info-2", true, true, true, true},
    {"nix-2.8.dump-db", "registration", true, true, true, true},
    {"nix-2.26.dump-db", "registration", true, true, true, true},
    {"closure-info.registration", "registration", true, true, false, true},
    {"nix-2.8.graph", "graph", true, false, false, false},
    {"nix-2.26.graph", "graph", true, false, false, false},
    {"nix-2.8.requisites", "list", false, false, false, false},
    {"nix-2.26.requisites", "list", false, false, false, false},
    {"nix-2.8.path-info.table", "list", false, false, false, false},
    {"nix-2.26.path-info.table", "list", false, false, false, false},
    {"closure-info.store-paths", "list", false, false, false, false},
    {"paths.json", "paths", false, false, false, false},
};

static const struct closure_path *find(const struct closure_file *file, const char *base)
{
    for (size_t i = 0; i < file->n_paths; i++)
        if (!strcmp(str_base(file->path[i].path), base))
            return &file->path[i];
    fail_msg("%s: no '%s'", file->format, base);
    return NULL;
}

static void check_references(const struct recorded *row, const struct closure_file *file)
{
    static const char *const ssl[] = {SSL, ZSTD, ZLIB, LIBC};
    const struct closure_path *p = find(file, SSL);

    assert_int_equal(p->n_references, row->refers ? 4 : 0);
    for (size_t i = 0; i < p->n_references; i++)
        assert_string_equal(p->reference[i], ssl[i]);
    assert_int_equal(find(file, ZLIB)->n_references, row->refers ? 1 : 0);
    assert_int_equal(find(file, LIBC)->n_references, 0);
}

static void test_recorded(void **state UNUSED)
{
    const struct recorded *row;

    for_each (row, recorded) {
        CLEANUP(arena_release) struct arena arena = {0};
        const char *path = str_join(&arena, "tests/closures", row->file);
        struct closure_file file;
        const struct closure_path *p;
        struct err err;

        if (closure_file_read(path, "/nix/store", &arena, &file, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(file.format, row->format);
        assert_int_equal(file.n_paths, 4);
        assert_int_equal(file.refers, row->refers);
        check_references(row, &file);
        p = find(&file, SSL);
        assert_string_equal(p->path, "/nix/store/" SSL);
        if (row->hashed)
            assert_string_equal(p->nar_hash, SSL_HASH);
        else
            assert_null(p->nar_hash);
        if (row->derived)
            assert_string_equal(p->deriver,
                                "jygb4ylj7f34q7ls1x7xds5r9dp61hrk-libssl3t64-3.5.9-1.drv");
        else
            assert_null(p->deriver);
        assert_int_equal(p->nar_size, row->is_sized ? 8253880 : 0);
    }
}

static void test_spack(void **state UNUSED)
{
    static const char *const files[] = {"spack-0.20.index.json", "spack-0.16.index.json"};
    const char *const *name;

    for_each (name, files) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct closure_file file;
        const struct closure_path *p;
        struct err err;

        if (closure_file_read(str_join(&arena, "tests/closures", *name),
                              "/opt/spack/linux-debian12-x86_64/gcc-12.2.0", &arena, &file,
                              &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(file.format, "spack");
        assert_int_equal(file.n_paths, 3);
        assert_int_equal(file.n_left_out, 2); /* /usr, and one removed */
        p = find(&file, "libpng-1.6.37-xiqcscbbnejahfh7lppxgmvtxmpbbf3y");
        assert_int_equal(p->n_references, 1); /* zlib; cmake only builds */
        assert_string_equal(p->reference[0], "zlib-1.2.13-h3kmcs2ts3wpz3ffbbb3kqrsq2mfdxd2");
    }
}

static const struct refused {
    const char *text;
    int error;
    const char *says;
} refused[] = {
    {"", -EINVAL, "is empty"},
    {"\n\n  ", -EINVAL, "is empty"},
    {"[]", -EINVAL, "empty array"},
    {"{}", -EINVAL, "nix-store -qR"},
    {"hello\n", -EINVAL, "begins with 'hello"},
    {"digraph G {\n}", -EINVAL, "is no closure"},
    {"{\"a\":1,\"a\":2}", -EINVAL, "line 1"},
    {"[1]", -EINVAL, "is no closure"},
    {"[\"/nix/store/" LIBC "\", 1]", -EINVAL, "no absolute path"},
    {"[{\"narHash\":\"x\"}]", -EINVAL, "\"path\""},
    {"[{\"path\":\"/nix/store/" LIBC "\"}]", -EINVAL, "\"references\""},
    {"[{\"path\":\"/nix/store/" LIBC "\",\"valid\":false}]", -EINVAL, "not valid"},
    {"{\"/nix/store/" LIBC "\":null}", -EINVAL, "not valid"},
    {"{\"/gnu/store/" LIBC "\":{\"references\":[]}}", -EINVAL, "--store"},
    {"{\"/nix/store/../x\":{\"references\":[]}}", -EINVAL, "no store path"},
    {"{\"/nix/store/" LIBC "\":{\"references\":[1]}}", -EINVAL, "no text"},
    {"{\"version\":2,\"storeDir\":\"/other\",\"info\":{}}", -EINVAL, "/other"},
    {"{\"exportReferencesGraph\":{\"g\":[]}}", -EINVAL, "\"g\""},
    {"{\"database\":{\"installs\":{}}}", -EINVAL, "Spack"},
    {"/nix/store/" LIBC "\nrelative\n", -EINVAL, "line 2"},
    {"/nix/store/" LIBC "\n\n2\n/nix/store/" LIBC "\n", -EINVAL, "ends amidst"},
    {"/nix/store/" LIBC "\n\n99999999\n", -EINVAL, "number of references"},
    {"/nix/store/" LIBC "\nhash\n5\n\n0\nx", -EINVAL, "store path is expected"},
    {"/nix/store/" LIBC "\nhash\n5\n\n0\n/nix/store/x\nhash\n-1\n", -EINVAL, "NAR size"},
    {"/etc/passwd\n\n0\n", -EINVAL, "not in store"},
};

static void test_refused(void **state UNUSED)
{
    const struct refused *row;

    for_each (row, refused) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct closure_file file;
        struct err err = {0};
        const int r = closure_file_parse("f", row->text, strlen(row->text), "/nix/store", &arena,
                                         &file, &err);

        if (r != row->error || !strstr(err.text, row->says))
            fail_msg("'%s': %d, '%s'", row->text, r, err.text);
    }
}

static void test_zero_bytes_and_long_lines(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *line = arena_alloc(&arena, 6000);
    struct closure_file file;
    struct err err;

    assert_int_equal(closure_file_parse("f", "/a\0b", 4, "/nix/store", &arena, &file, &err),
                     -EINVAL);
    memset(line, 'x', 5999);
    line[0] = '/';
    assert_int_equal(closure_file_parse("f", line, 5999, "/nix/store", &arena, &file, &err),
                     -EINVAL);
    assert_non_null(strstr(err.text, "too long"));
    assert_int_equal(closure_file_read("/nowhere/f", "/nix/store", &arena, &file, &err), -ENOENT);
}

static void test_hashes(void **state UNUSED)
{
    static const struct {
        const char *from, *to;
    } rows[] = {
        {NULL, NULL},
        {"", NULL},
        {SSL_HASH, SSL_HASH},
        {"53885C73dcd7cc9045d2043d241038b2821843ddf495ab72de9a3f280bc17546", SSL_HASH},
        {"sha256:0ikmq45jhgwsvrrap5glvm1ii0mj70828g84s92r1k6pvirmr22k",
         "sha256:53885c73dcd7cc9045d2043d241038b2821843ddf495ab72de9a3f280bc17546"},
        {"sha256-U4hcc9zXzJBF0gQ9JBA4soIYQ930laty3po/KAvBdUY=", SSL_HASH},
        {"sha256-U4hcc9zXzJBF0gQ9JBA4soIYQ930laty3po/KAvBdU!=",
         "sha256-U4hcc9zXzJBF0gQ9JBA4soIYQ930laty3po/KAvBdU!="},
        {"sha512:abc", "sha512:abc"},
    };
    CLEANUP(arena_release) struct arena arena = {0};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = nar_hash_text(&arena, rows[i].from);

        if (!str_same(got, rows[i].to))
            fail_msg("'%s': '%s'", rows[i].from, got ? got : "NULL");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded), cmocka_unit_test(test_spack),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_zero_bytes_and_long_lines),
        cmocka_unit_test(test_hashes),
    };

    return UNIT_RUN(tests);
}
