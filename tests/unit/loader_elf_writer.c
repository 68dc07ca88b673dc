/*
 * The tests' ELF writer, read back by the scanner: what a description says is what the file holds,
 * for every class and byte order. Recorded cases rest on that: their files exist as facts only.
 */
#include "tests/unit/unit.h"

#include "scanner/elf_read.h"
#include "tests/tree.h"

static const struct object *read_back(struct arena *arena, const struct elf_spec *spec)
{
    const struct elf_image image = elf_write(arena, spec);
    const struct elf_source source = {
        .fd = -1, .bytes = image.bytes, .size = image.size, .mode = 0100755};
    const struct object *object = NULL;
    struct err err = {0};

    assert_int_equal(elf_read(&source, arena, &object, &err), 0);
    assert_non_null(object);
    return object;
}

static void same_text(const char *a, const char *b)
{
    if (a && b)
        assert_string_equal(a, b);
    else
        assert_ptr_equal(a, b);
}

static void same_object(const struct object *a, const struct object *b)
{
    assert_int_equal(a->class, b->class);
    assert_int_equal(a->data, b->data);
    assert_int_equal(a->ident_version, b->ident_version);
    assert_int_equal(a->osabi, b->osabi);
    assert_int_equal(a->abiversion, b->abiversion);
    assert_int_equal(a->ident_pad_zero, b->ident_pad_zero);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->machine, b->machine);
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->phentsize, b->phentsize);
    assert_int_equal(a->has_dynamic, b->has_dynamic);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->flags_1, b->flags_1);
    same_text(a->interp, b->interp);
    same_text(a->soname, b->soname);
    same_text(a->rpath, b->rpath);
    same_text(a->runpath, b->runpath);
    same_text(a->audit, b->audit);
    same_text(a->depaudit, b->depaudit);
    assert_int_equal(a->n_needs, b->n_needs);
    for (size_t i = 0; i < a->n_needs; i++) {
        assert_int_equal(a->need[i].kind, b->need[i].kind);
        assert_string_equal(a->need[i].name, b->need[i].name);
    }
    assert_int_equal(a->has_abi_tag, b->has_abi_tag);
    assert_memory_equal(a->abi_tag, b->abi_tag, sizeof(a->abi_tag));
    assert_int_equal(a->resolution.size, b->resolution.size);
    if (a->resolution.size)
        assert_memory_equal(a->resolution.bytes, b->resolution.bytes, a->resolution.size);
}

static const struct elf_dyn dynamic[] = {
    {DT_NEEDED, "liba.so", 0},
    {DT_AUXILIARY, "libaux.so", 0},
    {DT_SONAME, "libself.so.1", 0},
    {DT_NEEDED, "$ORIGIN/lib\xff.so", 0},
    {DT_RPATH, "/r", 0},
    {DT_RUNPATH, "/s/a/lib:/s/b/lib", 0},
    {DT_FILTER, "libf.so", 0},
    {DT_FLAGS_1, NULL, DF_1_NODEFLIB | DF_1_NOW},
    {DT_FLAGS, NULL, DF_BIND_NOW},
    {DT_NEEDED, "", 0},
    {DT_AUDIT, "liba1.so:liba2.so", 0},
    {DT_DEPAUDIT, "libd.so", 0},
};
static const uint32_t abi_tag[4] = {0, 3, 2, 0};
static const char resolution[] = "liba.so\0=/s/a/lib/liba.so\0";
static const struct elf_note notes[] = {
    {"GNU", NT_GNU_ABI_TAG, abi_tag, sizeof(abi_tag)},
    {"NixOS", NT_NIXOS_RESOLUTION, resolution, sizeof(resolution)},
};

static void test_every_class_and_order(void **state UNUSED)
{
    static const uint8_t classes[] = {ELFCLASS32, ELFCLASS64},
                         orders[] = {ELFDATA2LSB, ELFDATA2MSB};

    for (size_t c = 0; c < ARRAY_LEN(classes); c++)
        for (size_t o = 0; o < ARRAY_LEN(orders); o++) {
            CLEANUP(arena_release) struct arena arena = {0};
            struct elf_spec spec = elf_program("/lib/ld.so");

            elf_for_machine(&spec, EM_PPC64, classes[c], orders[o]);
            spec.dynamic = dynamic;
            spec.n_dynamic = ARRAY_LEN(dynamic);
            same_object(read_back(&arena, &spec), tree_object(&arena, &spec));
        }
}

static void test_notes(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct elf_spec spec = elf_library();

    spec.note = notes;
    spec.n_notes = ARRAY_LEN(notes);
    same_object(read_back(&arena, &spec), tree_object(&arena, &spec));
}

static void test_no_dynamic_section(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct elf_spec spec = elf_library();

    spec.no_dynamic = true;
    same_object(read_back(&arena, &spec), tree_object(&arena, &spec));
    spec.no_dynamic = false;
    spec.empty_dynamic = true;
    same_object(read_back(&arena, &spec), tree_object(&arena, &spec));
}

static void test_header_nonsense(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct elf_spec spec = elf_library();
    const struct object *object;

    spec.ident_version = 7;
    spec.osabi = 9;
    spec.abiversion = 3;
    spec.ident_pad = true;
    spec.version = 77;
    spec.type = ET_CORE;
    object = read_back(&arena, &spec);
    assert_int_equal(object->ident_version, 7);
    assert_int_equal(object->osabi, 9);
    assert_int_equal(object->abiversion, 3);
    assert_false(object->ident_pad_zero);
    assert_int_equal(object->version, 77);
    assert_int_equal(object->type, ET_CORE);
}

static void test_versions(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const struct elf_version versions[] = {
        {"libc.so.6", "GLIBC_2.2.5"},
        {"libc.so.6", "GLIBC_2.34"},
        {"libm.so.6", "GLIBC_2.29"},
        {NULL, "libself.so.1"},
        {NULL, "SELF_1"},
    };
    struct elf_spec spec = elf_library();
    const struct object *object;

    spec.versions = versions;
    spec.n_versions = ARRAY_LEN(versions);
    object = read_back(&arena, &spec);
    assert_int_equal(object->n_verneed, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(object->verneed[i].file, versions[i].file);
        assert_string_equal(object->verneed[i].name, versions[i].name);
    }
    assert_true(object->n_verdef >= 1);
    assert_string_equal(object->verdef[object->n_verdef - 1].name, "SELF_1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_class_and_order),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_no_dynamic_section),
        cmocka_unit_test(test_header_nonsense),
        cmocka_unit_test(test_versions),
    };

    return UNIT_RUN(tests);
}
