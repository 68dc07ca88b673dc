/*
 * Files that are made to be expensive: small ones that say large things. Reading one ends soon and
 * takes little memory.
 */
#include "tests/unit/unit.h"

#include "scanner/elf_read.h"
#include "tests/elf/elf_writer.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A minute of CPU time: far more than any of these takes, under sanitizers too. */
enum { SECONDS_MAX = 60 };

static const struct object *read_source(struct arena *arena, const struct elf_source *source)
{
    const clock_t before = clock();
    const struct object *object = NULL;
    struct err err;

    assert_int_equal(elf_read(source, arena, &object, &err), 0);
    assert_true(clock() - before < (clock_t)SECONDS_MAX * CLOCKS_PER_SEC);
    return object;
}

static const struct object *read_bytes(struct arena *arena, const unsigned char *bytes, size_t size)
{
    const struct elf_source source = {.fd = -1, .bytes = bytes, .size = size};

    return read_source(arena, &source);
}

/* One long string, named by many entries, is kept a few times only. */
static void one_string_named_by_many(void **state UNUSED)
{
    enum { LONG = 1 << 20, MANY = 4096, KEPT_MAX = 64 << 20 };
    CLEANUP(arena_release) struct arena arena = {0};
    struct elf_dyn *dynamic = arena_calloc(&arena, MANY, sizeof(*dynamic));
    struct elf_spec spec = elf_library();
    struct elf_image image;
    const struct object *o;
    size_t kept = 0;

    dynamic[0].tag = DT_NEEDED;
    dynamic[0].text = memset(arena_alloc(&arena, LONG + 1), 'a', LONG);
    for (size_t i = 1; i < MANY; i++)
        dynamic[i] = (struct elf_dyn){DT_NEEDED, NULL, 1};
    spec.dynamic = dynamic;
    spec.n_dynamic = MANY;
    spec.want_tables = true;
    image = elf_write(&arena, &spec);
    o = read_bytes(&arena, image.bytes, image.size);
    for (size_t i = 0; i < o->n_needs; i++)
        kept += strlen(o->need[i].name);
    assert_true(o->n_needs > 1 && kept <= KEPT_MAX);
    assert_string_equal(o->problem, "its names are longer than 67108864 bytes together");
}

/* Section names that reach over a file without end, most of which takes no space. */
static void endless_section_names(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const off_t endless = (off_t)1 << 40;
    const struct elf_spec spec = elf_library();
    const struct elf_image image = elf_write(&arena, &spec);
    Elf64_Ehdr *ehdr = (void *)image.bytes;
    Elf64_Shdr names[2] = {0};
    const int fd = memfd_create("endless", MFD_CLOEXEC);
    const off_t at = (off_t)(image.size + 63) / 64 * 64;

    names[1].sh_type = SHT_STRTAB;
    names[1].sh_offset = (uint64_t)at;
    names[1].sh_size = (uint64_t)(endless - at);
    ehdr->e_shoff = (uint64_t)at;
    ehdr->e_shentsize = sizeof(names[0]);
    ehdr->e_shnum = 2;
    ehdr->e_shstrndx = 1;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, endless), 0);
    assert_int_equal(pwrite(fd, image.bytes, image.size, 0), image.size);
    assert_int_equal(pwrite(fd, names, sizeof(names), at), sizeof(names));
    assert_null(
        read_source(&arena, &(struct elf_source){.fd = fd, .size = (uint64_t)endless})->problem);
    (void)close(fd);
}

/* A large hash table over thousands of segments, each continuing one that comes after it. */
static void a_table_over_many_segments(void **state UNUSED)
{
    enum { MANY = 4000, PART = 4096, ZONE = 64 * PART, SIZE = ZONE + MANY * PART };
    CLEANUP(arena_release) struct arena arena = {0};
    unsigned char *bytes = arena_alloc(&arena, SIZE);
    Elf64_Ehdr *ehdr = (void *)bytes;
    Elf64_Phdr *phdr = (void *)(bytes + sizeof(*ehdr));
    Elf64_Dyn *dynamic = (void *)(bytes + ZONE - PART);
    uint32_t *hash = (void *)(bytes + ZONE);
    const uint64_t strings = ZONE - PART / 2;

    *ehdr = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof(*ehdr),
                         .e_phentsize = sizeof(*phdr),
                         .e_phnum = MANY + 2};
    *phdr++ = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = ZONE, .p_memsz = ZONE};
    *phdr++ = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = ZONE - PART, .p_filesz = PART / 2};
    for (uint64_t i = MANY; i-- > 0;)
        *phdr++ = (Elf64_Phdr){.p_type = PT_LOAD,
                               .p_offset = ZONE + i * PART,
                               .p_vaddr = ZONE + i * PART,
                               .p_filesz = PART,
                               .p_memsz = PART};
    *dynamic++ = (Elf64_Dyn){DT_STRTAB, {strings}};
    *dynamic++ = (Elf64_Dyn){DT_STRSZ, {16}};
    *dynamic++ = (Elf64_Dyn){DT_SYMTAB, {strings}};
    *dynamic++ = (Elf64_Dyn){DT_GNU_HASH, {ZONE}};
    hash[0] = 1 << 20; /* buckets, all of them empty */
    hash[1] = hash[2] = 1;
    assert_null(read_bytes(&arena, bytes, SIZE)->problem);
}

/* Many segments of notes over the same large one. */
static void the_same_notes_many_times(void **state UNUSED)
{
    enum { MANY = 60000, SIZE = 8 << 20 };
    CLEANUP(arena_release) struct arena arena = {0};
    unsigned char *bytes = arena_alloc(&arena, SIZE);
    Elf64_Ehdr *ehdr = (void *)bytes;
    Elf64_Phdr *phdr = (void *)(bytes + sizeof(*ehdr));

    *ehdr = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof(*ehdr),
                         .e_phentsize = sizeof(*phdr),
                         .e_phnum = MANY};
    for (size_t i = 0; i < MANY; i++) /* empty notes, twelve bytes each */
        phdr[i] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = SIZE / 2, .p_filesz = SIZE / 2};
    assert_string_equal(read_bytes(&arena, bytes, SIZE)->problem,
                        "note segments of more than 33554432 bytes together");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_string_named_by_many),
        cmocka_unit_test(endless_section_names),
        cmocka_unit_test(a_table_over_many_segments),
        cmocka_unit_test(the_same_notes_many_times),
    };

    return UNIT_RUN(tests);
}
