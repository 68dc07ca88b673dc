/*
 * The ELF reader: what a file holds is what the object says; whatever is broken is a problem and
 * never a fault.
 */
#include "tests/unit/unit.h"

#include "scanner/elf_read.h"
#include "tests/elf/elf_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The facts of `size` bytes, copied into memory of that very size so that sanitizers see its end.
 */
static const struct object *read_bytes(struct arena *arena, const void *bytes, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    const struct elf_source source = {.fd = -1, .bytes = copy, .size = size, .mode = 0100755};
    const struct object *object = NULL;
    struct err err = {0};
    int r;

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    r = elf_read(&source, arena, &object, &err);
    free(copy);
    assert_true(r == 0 || r == -ENOEXEC);
    assert_true((r == 0) == (object != NULL));
    return object;
}

static const struct elf_dyn dynamic[] = {
    {DT_NEEDED, "libone.so.1", 0},   {DT_NEEDED, "libtwo.so.2", 0},
    {DT_AUXILIARY, "libaux.so", 0},  {DT_RUNPATH, "/s/a/lib:$ORIGIN/../lib", 0},
    {DT_SONAME, "libself.so.3", 0},  {DT_FLAGS_1, NULL, DF_1_NOW},
    {DT_FLAGS, NULL, DF_STATIC_TLS},
};
static const char go_note[] = "some build id";
static const struct elf_note notes[] = {
    {"GNU", NT_GNU_ABI_TAG, "\0\0\0\0\3\0\0\0\2\0\0\0\0\0\0\0", 16},
    {"GNU", NT_GNU_BUILD_ID, "0123456789abcdefghij", 20},
    {"NixOS", NT_NIXOS_RESOLUTION, "libone.so.1\0=/s/one/libone.so.1\0", 33},
    {"FDO", 0x407c0c0a, "[{\"soname\":[\"libx.so.1\"]}]", 27},
    {"Go", 4, go_note, sizeof(go_note)},
};
static const struct elf_version versions[] = {
    {"libone.so.1", "ONE_1"}, {"libone.so.1", "ONE_2"}, {"libtwo.so.2", "TWO_1"},
    {NULL, "libself.so.3"},   {NULL, "SELF_1"},
};
static const char *const imports[] = {"dlopen", "dladdr", "printf", "dl_iterate_phdr"};
static const char rodata[] = "\0libGL.so.1\0$ORIGIN/plugins\0not a soname.so \0lib%s.so\0"
                             "libone.so.1\0/usr/lib/libabs.so\0file.sound\0";

/* A library with one of everything. */
static struct elf_spec everything(void)
{
    struct elf_spec spec = elf_library();

    spec.dynamic = dynamic;
    spec.n_dynamic = ARRAY_LEN(dynamic);
    spec.note = notes;
    spec.n_notes = ARRAY_LEN(notes);
    spec.versions = versions;
    spec.n_versions = ARRAY_LEN(versions);
    spec.imports = imports;
    spec.n_imports = ARRAY_LEN(imports);
    spec.rodata = rodata;
    spec.rodata_size = sizeof(rodata);
    spec.tls_size = 48;
    spec.spare_dynamic = 3;
    spec.want_tables = true;
    return spec;
}

static struct elf_image write_everything(struct arena *arena)
{
    const struct elf_spec spec = everything();

    return elf_write(arena, &spec);
}

/* A hash table that holds no symbol says nothing about how many are wanted. */
static void imports_behind_an_empty_hash(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct elf_spec spec = everything();
    struct elf_image image;

    (void)state;
    spec.gnu_hash = true;
    image = elf_write(&arena, &spec);
    assert_int_equal(read_bytes(&arena, image.bytes, image.size)->imports,
                     IMPORT_DLOPEN | IMPORT_DLADDR | IMPORT_DL_ITERATE_PHDR);
}

static void reads_everything(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_image image = write_everything(&arena);
    const struct object *o = read_bytes(&arena, image.bytes, image.size);

    (void)state;
    assert_null(o->problem);
    assert_int_equal(o->n_needs, 3);
    assert_string_equal(o->need[1].name, "libtwo.so.2");
    assert_int_equal(o->need[2].kind, NEED_AUXILIARY);
    assert_string_equal(o->runpath, "/s/a/lib:$ORIGIN/../lib");
    assert_string_equal(o->soname, "libself.so.3");
    assert_int_equal(o->flags_1, DF_1_NOW);
    assert_int_equal(o->tls_size, 48);
    assert_int_equal(o->spare_dynamic, 3);
    assert_int_equal(o->n_verneed, 3);
    assert_string_equal(o->verneed[1].name, "ONE_2");
    assert_string_equal(o->verneed[2].file, "libtwo.so.2");
    assert_int_equal(o->n_verdef, 1); /* the first is the object's own name */
    assert_string_equal(o->verdef[0].name, "SELF_1");
    assert_true(o->has_abi_tag);
    assert_int_equal(o->abi_tag[1], 3);
    assert_int_equal(o->build_id.size, 20);
    assert_int_equal(o->resolution.size, 33);
    assert_int_equal(o->n_dlopen_notes, 1);
    assert_int_equal(o->imports, IMPORT_DLOPEN | IMPORT_DLADDR | IMPORT_DL_ITERATE_PHDR);
    assert_true(o->layout & LAYOUT_GO);
    assert_true(o->layout & LAYOUT_STATIC_TLS);
    assert_true(o->layout & LAYOUT_NO_SECTIONS);
    assert_int_equal(o->trailing, 0);
}

static void keeps_soname_like_constants(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_image image = write_everything(&arena);
    const struct object *o = read_bytes(&arena, image.bytes, image.size);

    (void)state;
    assert_true(o->origin_string);
    assert_int_equal(o->n_dlopen_strings, 2); /* what is needed anyway is no news */
    assert_string_equal(o->dlopen_string[0], "libGL.so.1");
    assert_string_equal(o->dlopen_string[1], "/usr/lib/libabs.so");
}

/* Strings stand ahead of the tables; what lies behind 4 MiB of them is not searched. */
static void constants_far_behind_are_left(void **state)
{
    static const char name[] = "\0libfar.so.1";

    (void)state;
    for (size_t mib = 3; mib <= 5; mib += 2) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct elf_spec spec = everything();
        char *bytes = arena_calloc(&arena, 1, (mib << 20) + sizeof(name));
        struct elf_image image;

        memcpy(bytes + (mib << 20), name, sizeof(name));
        spec.rodata = bytes;
        spec.rodata_size = (mib << 20) + sizeof(name);
        image = elf_write(&arena, &spec);
        assert_int_equal(read_bytes(&arena, image.bytes, image.size)->n_dlopen_strings, mib == 3);
    }
}

static void all_classes_and_orders_agree(void **state)
{
    static const struct {
        uint8_t class, data;
        uint16_t machine;
    } kinds[] = {{ELFCLASS32, ELFDATA2LSB, EM_386},
                 {ELFCLASS32, ELFDATA2MSB, EM_PPC},
                 {ELFCLASS64, ELFDATA2MSB, EM_S390},
                 {ELFCLASS64, ELFDATA2LSB, EM_AARCH64}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct elf_spec spec = everything();
        struct elf_image image;
        const struct object *o;

        spec.n_notes = 0; /* their words are given as bytes */
        elf_for_machine(&spec, kinds[i].machine, kinds[i].class, kinds[i].data);
        image = elf_write(&arena, &spec);
        o = read_bytes(&arena, image.bytes, image.size);
        assert_null(o->problem);
        assert_int_equal(o->machine, kinds[i].machine);
        assert_string_equal(o->need[0].name, "libone.so.1");
        assert_int_equal(o->n_verneed, 3);
        assert_int_equal(o->tls_size, 48);
        assert_true(o->imports & IMPORT_DLOPEN);
    }
}

static void any_truncation_is_survived(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_image image = write_everything(&arena);
    size_t problems = 0;

    (void)state;
    for (size_t size = 0; size < image.size; size++) {
        CLEANUP(arena_release) struct arena a = {0};
        const struct object *o = read_bytes(&a, image.bytes, size);

        assert_true((o != NULL) == (size >= SELFMAG));
        if (o)
            assert_int_equal(o->size, size);
        problems += o && o->problem;
    }
    assert_true(problems > image.size / 2);
}

/* Each byte of headers, dynamic section, notes and tables set to values that overflow things. */
static void any_wrong_byte_is_survived(void **state)
{
    static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_image image = write_everything(&arena);

    (void)state;
    for (size_t at = SELFMAG; at < image.size; at++)
        for (size_t i = 0; i < ARRAY_LEN(values); i++) {
            CLEANUP(arena_release) struct arena a = {0};
            const unsigned char old = image.bytes[at];

            image.bytes[at] = values[i];
            assert_non_null(read_bytes(&a, image.bytes, image.size));
            image.bytes[at] = old;
        }
}

/* Whole words set to the far end: sizes, offsets and counts. */
static void absurd_numbers_are_survived(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_image image = write_everything(&arena);

    (void)state;
    for (size_t at = 16; at + 8 <= image.size; at += 4) {
        CLEANUP(arena_release) struct arena a = {0};
        unsigned char old[8];

        memcpy(old, image.bytes + at, sizeof(old));
        memset(image.bytes + at, 0xff, sizeof(old));
        assert_non_null(read_bytes(&a, image.bytes, image.size));
        image.bytes[at + 7] = 0x7f;
        assert_non_null(read_bytes(&a, image.bytes, image.size));
        memcpy(image.bytes + at, old, sizeof(old));
    }
}

static void strings_out_of_range_are_problems(void **state)
{
    static const struct elf_dyn wrong[] = {{DT_NEEDED, NULL, 1 << 20}, {DT_SONAME, "libx.so", 0}};
    CLEANUP(arena_release) struct arena arena = {0};
    struct elf_spec spec = elf_library();
    struct elf_image image;
    const struct object *o;

    (void)state;
    spec.dynamic = wrong;
    spec.n_dynamic = ARRAY_LEN(wrong);
    spec.want_tables = true;
    image = elf_write(&arena, &spec);
    o = read_bytes(&arena, image.bytes, image.size);
    assert_string_equal(o->problem, "a needed name is outside the string table or not ended");
    assert_int_equal(o->n_needs, 0);
    assert_string_equal(o->soname, "libx.so");
}

static void notes_out_of_range_are_problems(void **state)
{
    static const struct {
        size_t at; /* of the first note's header */
        uint32_t value;
    } breaks[] = {{0, UINT32_MAX}, {4, UINT32_MAX}, {0, 0x7fffffff}, {4, 4096}};
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_image image = write_everything(&arena);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(breaks); i++) {
        CLEANUP(arena_release) struct arena a = {0};
        unsigned char *word = image.bytes + image.note_off + breaks[i].at;
        uint32_t old;

        memcpy(&old, word, sizeof(old));
        memcpy(word, &breaks[i].value, sizeof(old));
        assert_string_equal(read_bytes(&a, image.bytes, image.size)->problem,
                            "a note reaches out of its segment");
        memcpy(word, &old, sizeof(old));
    }
}

/* Version records that point at themselves must end. */
static void version_chains_end(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_image image = write_everything(&arena);

    (void)state;
    for (size_t at = 0; at + 4 <= image.size; at += 4) {
        CLEANUP(arena_release) struct arena a = {0};
        uint32_t old, back = (uint32_t)-16;

        memcpy(&old, image.bytes + at, sizeof(old));
        if (old != 16)
            continue;
        memcpy(image.bytes + at, &back, sizeof(back));
        (void)read_bytes(&a, image.bytes, image.size);
        memcpy(image.bytes + at, &old, sizeof(old));
    }
}

static void bytes_behind_the_end_are_counted(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_image image = write_everything(&arena);
    unsigned char *longer = arena_alloc(&arena, image.size + 1000);

    (void)state;
    memcpy(longer, image.bytes, image.size);
    assert_int_equal(read_bytes(&arena, longer, image.size + 1000)->trailing, 1000);
}

/* The same through a descriptor, with and without the first bytes at hand. */
static void descriptor_and_memory_agree(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_image image = write_everything(&arena);
    const struct object *o = read_bytes(&arena, image.bytes, image.size), *again;
    FILE *file = tmpfile();
    struct elf_source source = {.size = image.size, .mode = 0100755};
    struct err err;

    (void)state;
    assert_non_null(file);
    assert_int_equal(fwrite(image.bytes, 1, image.size, file), image.size);
    assert_int_equal(fflush(file), 0);
    source.fd = fileno(file);
    for (size_t head = 0; head < 200; head += 64) {
        source.head = image.bytes;
        source.head_len = head;
        assert_int_equal(elf_read(&source, &arena, &again, &err), 0);
        assert_int_equal(again->n_verneed, o->n_verneed);
        assert_string_equal(again->runpath, o->runpath);
        assert_int_equal(again->imports, o->imports);
        assert_int_equal(again->n_dlopen_strings, o->n_dlopen_strings);
    }
    assert_int_equal(ftruncate(source.fd, 100), 0); /* it shrank since its size was taken */
    source.head_len = 0;
    assert_int_equal(elf_read(&source, &arena, &again, &err), 0);
    assert_non_null(again->problem);
    (void)fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_everything),
        cmocka_unit_test(imports_behind_an_empty_hash),
        cmocka_unit_test(keeps_soname_like_constants),
        cmocka_unit_test(constants_far_behind_are_left),
        cmocka_unit_test(all_classes_and_orders_agree),
        cmocka_unit_test(any_truncation_is_survived),
        cmocka_unit_test(any_wrong_byte_is_survived),
        cmocka_unit_test(absurd_numbers_are_survived),
        cmocka_unit_test(strings_out_of_range_are_problems),
        cmocka_unit_test(notes_out_of_range_are_problems),
        cmocka_unit_test(version_chains_end),
        cmocka_unit_test(bytes_behind_the_end_are_counted),
        cmocka_unit_test(descriptor_and_memory_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
