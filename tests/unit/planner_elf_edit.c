#include "planner/elf_edit.h"
#include "scanner/elf_read.h"
#include "tests/elf/elf_writer.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

enum { SEED_MAX = 65536 };

static const char *const two[] = {"libb.so", "liba.so"};
static const char *const four[] = {"libb.so", "liba.so", "libc.so.6", "libd.so"};

static const struct elf_dyn dynamic[] = {
    {DT_NEEDED, "liba.so", 0},
    {DT_NEEDED, "libb.so", 0},
    {DT_RUNPATH, "/store/a/lib:/store/b/lib", 0},
};

static struct elf_spec program(void)
{
    struct elf_spec spec = elf_program("/lib64/ld-linux-x86-64.so.2");

    spec.dynamic = dynamic;
    spec.n_dynamic = ARRAY_LEN(dynamic);
    spec.spare_dynamic = 2;
    return spec;
}

static const struct object *read_back(struct arena *arena, const struct elf_edited *edited)
{
    const struct object *object;
    struct err err;

    assert_int_equal(elf_read(
                         &(struct elf_source){
                             .fd = -1, .bytes = edited->bytes, .size = edited->size, .mode = 0755},
                         arena, &object, &err),
                     0);
    assert_null(object->problem);
    return object;
}

static int edit(struct arena *arena, const struct elf_image *image, const struct elf_change *change,
                struct elf_edited *ret, struct err *err)
{
    return elf_edit(image->bytes, image->size, change, arena, ret, err);
}

/* The dynamic entries and the strings they name change, and not one byte beside them. */
static void test_in_place(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_spec spec = program();
    const struct elf_image image = elf_write(&arena, &spec);
    const struct elf_change change = {
        .needed = two, .n_needed = ARRAY_LEN(two), .run_path = "/store/b/lib"};
    struct elf_edited edited;
    const struct object *object;
    struct err err;

    (void)state;
    assert_int_equal(edit(&arena, &image, &change, &edited, &err), 0);
    assert_true(edited.in_place);
    assert_int_equal(edited.size, image.size);
    object = read_back(&arena, &edited);
    assert_int_equal(object->n_needs, 2);
    assert_string_equal(object->need[0].name, "libb.so");
    assert_string_equal(object->need[1].name, "liba.so");
    assert_string_equal(object->runpath, "/store/b/lib");
    assert_null(memmem(edited.bytes, edited.size, "/store/a", 8));
    for (size_t i = 0; i < image.size; i++) {
        const bool in_dynamic = i >= image.dynamic_off && i < image.dynamic_off + 64 * 16;
        const bool in_strings = i >= image.dynstr_off;

        if (!in_dynamic && !in_strings)
            assert_int_equal(edited.bytes[i], image.bytes[i]);
    }
}

static void test_nothing_to_do(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const char *const same[] = {"liba.so", "libb.so"};
    const struct elf_spec spec = program();
    const struct elf_image image = elf_write(&arena, &spec);
    const struct elf_change change = {
        .needed = same, .n_needed = 2, .run_path = dynamic[2].text, .note = NOTE_REMOVE};
    struct elf_edited edited;
    struct err err;

    (void)state;
    assert_int_equal(edit(&arena, &image, &change, &edited, &err), 0);
    assert_true(edited.nothing_to_do);
}

/* Every class and order, every kind of file that is refused, by its rule. */
static void test_refusals(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const struct elf_dyn filter[] = {{DT_FILTER, "libf.so", 0}, {DT_NEEDED, "liba.so", 0}};
    static const struct elf_dyn rpath[] = {{DT_NEEDED, "liba.so", 0}, {DT_RPATH, "/a", 0}};
    static const struct elf_dyn lifted[] = {
        {DT_RUNPATH, "/nix/store/x/nix-support/stormlint/farm:/a", 0}};
    static const struct elf_dyn libc[] = {{DT_SONAME, "libc.so.6", 0}};
    static const struct elf_dyn packed[] = {{DT_NEEDED, "liba.so", 0}, {0x8000024, NULL, 0}};
    static const struct elf_note go = {"Go", 4, "id", 2};
    static const struct elf_dyn mips[] = {{DT_NEEDED, "liba.so", 0},
                                          {DT_MIPS_RLD_MAP_REL, NULL, 0}};
    struct elf_spec spec[10];
    static const char *const rule[] = {"byte-order", "type",   "static", "filter",   "rpath",
                                       "lifted",     "loader", "go",     "relrhack", "mips"};
    const struct elf_change change = {.needed = two, .n_needed = 2, .run_path = "/b"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(spec); i++)
        spec[i] = program();
    elf_for_machine(&spec[0], EM_S390, ELFCLASS64, ELFDATA2MSB);
    spec[1].type = ET_REL;
    spec[2].no_dynamic = true;
    spec[3].dynamic = filter, spec[3].n_dynamic = 2;
    spec[4].dynamic = rpath, spec[4].n_dynamic = 2;
    spec[5].dynamic = lifted, spec[5].n_dynamic = 1;
    spec[6].dynamic = libc, spec[6].n_dynamic = 1;
    spec[7].note = &go, spec[7].n_notes = 1;
    spec[8].dynamic = packed, spec[8].n_dynamic = 2;
    elf_for_machine(&spec[9], EM_MIPS, ELFCLASS32, ELFDATA2LSB);
    spec[9].dynamic = mips, spec[9].n_dynamic = 2;
    for (size_t i = 0; i < ARRAY_LEN(spec); i++) {
        const struct elf_image image = elf_write(&arena, &spec[i]);
        struct elf_edited edited;
        struct err err = {0};

        assert_int_equal(edit(&arena, &image, &change, &edited, &err), -ENOTSUP);
        if (strncmp(err.text, rule[i], strlen(rule[i])) != 0)
            fail_msg("'%s' is not refused by rule '%s'", err.text, rule[i]);
    }
}

static void test_rules(void **state)
{
    const struct elf_edit_rule *rule, *other;

    (void)state;
    for (rule = elf_edit_rules(); rule->id; rule++) {
        assert_true(*rule->why);
        for (other = rule + 1; other->id; other++)
            assert_string_not_equal(rule->id, other->id);
    }
}

/* No section headers: what fits is done, what does not is refused. */
static void test_no_sections(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_spec spec = program();
    const struct elf_image image = elf_write(&arena, &spec);
    const struct elf_change change = {.needed = four, .n_needed = 4};
    struct elf_edited edited;
    struct err err = {0};

    (void)state;
    assert_int_equal(edit(&arena, &image, &change, &edited, &err), -ENOTSUP);
    assert_int_equal(strncmp(err.text, "no-sections", 11), 0);
}

/* A word of a 32-bit file is four bytes. */
static void test_32_bit(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct elf_spec spec = program();
    const struct elf_change change = {.needed = two, .n_needed = 2, .run_path = "/b"};
    const struct object *object;
    struct elf_image image;
    struct elf_edited edited;
    struct err err = {0};

    (void)state;
    elf_for_machine(&spec, EM_386, ELFCLASS32, ELFDATA2LSB);
    image = elf_write(&arena, &spec);
    assert_int_equal(edit(&arena, &image, &change, &edited, &err), 0);
    object = read_back(&arena, &edited);
    assert_string_equal(object->need[0].name, "libb.so");
    assert_string_equal(object->runpath, "/b");
}

static void test_payload(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_spec spec = program();
    const struct elf_image image = elf_write(&arena, &spec);
    unsigned char *longer = arena_alloc(&arena, image.size + 8);
    const struct elf_change change = {.run_path = "/b"};
    struct elf_edited edited;
    struct err err = {0};

    (void)state;
    memcpy(longer, image.bytes, image.size);
    assert_int_equal(elf_edit(longer, image.size + 8, &change, &arena, &edited, &err), 0);
    longer[image.size + 7] = 'P';
    assert_int_equal(elf_edit(longer, image.size + 8, &change, &arena, &edited, &err), -ENOTSUP);
    assert_int_equal(strncmp(err.text, "payload", 7), 0);
}

static size_t read_seed(const char *path, unsigned char *bytes)
{
    FILE *file = fopen(path, "rb");
    size_t n;

    assert_non_null(file);
    n = fread(bytes, 1, SEED_MAX, file);
    assert_int_equal(fclose(file), 0);
    return n;
}

/*
 * Every seed of the fuzz target, cut off everywhere (an exact copy each, so that the sanitizer
 * sees a read behind it), and with each header byte turned.
 */
static void test_malformed(void **state)
{
    static unsigned char seed[SEED_MAX];
    const struct elf_change change = {.needed = four, .n_needed = 4, .run_path = "/b"};
    size_t done = 0, refused = 0;
    glob_t found;

    (void)state;
    assert_int_equal(glob("tests/fuzz/corpus/edit/*-31", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const size_t n = read_seed(found.gl_pathv[i], seed) - 1;

        for (size_t cut = 0; cut < n; cut += cut < 1024 ? 1 : 7) {
            CLEANUP(arena_release) struct arena arena = {0};
            unsigned char *bytes = arena_memdup(&arena, seed + 1, cut);
            struct elf_edited edited;
            struct err err = {0};

            if (elf_edit(bytes, cut, &change, &arena, &edited, &err) == 0)
                done++;
            else
                refused += *err.text != '\0';
        }
        for (size_t at = 0; at < 1024 && at < n; at++) {
            CLEANUP(arena_release) struct arena arena = {0};
            unsigned char *bytes = arena_memdup(&arena, seed + 1, n);
            struct elf_edited edited;
            struct err err = {0};

            bytes[at] ^= 0xff;
            if (elf_edit(bytes, n, &change, &arena, &edited, &err) < 0)
                assert_true(*err.text);
        }
    }
    globfree(&found);
    assert_int_equal(done, 0);
    assert_true(refused > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_place),    cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_rules),
        cmocka_unit_test(test_no_sections), cmocka_unit_test(test_32_bit),
        cmocka_unit_test(test_payload),     cmocka_unit_test(test_malformed),
    };

    return UNIT_RUN(tests);
}
