/*
 * Which patch reads resolution notes is told by the loader file alone (docs/loader.md, 17).
 */
#include "scanner/ldso.h"

#include "tests/unit/unit.h"

struct row {
    const char *shows;
    const char *soname;
    const char *bytes;
    size_t len;
    enum note_reader reader;
    bool big_endian;
};

#define GLIBC     "\0glibc-ld.so.cache1.1\0002.42\0"
#define BYTES(s)  s, sizeof(s)
#define LD        "ld-linux-x86-64.so.2"
#define TYPE_LE   "\xb6\x6c\xa8\x63"
#define TYPE_BE   "\x63\xa8\x6c\xb6"
#define CACHED    "\0trying cached file=%s\n\0"
#define OTHER_LIB "\0some loader of its own\0"

static const struct row rows[] = {
    {"stock glibc", LD, BYTES(GLIBC), READER_NONE, false},
    {"the type's value", LD, BYTES(GLIBC TYPE_LE), READER_A, false},
    {"the same, not aligned", LD, BYTES(GLIBC "x" TYPE_LE), READER_A, false},
    {"big-endian", LD, BYTES(GLIBC TYPE_BE), READER_A, true},
    {"the value in the other byte order", LD, BYTES(GLIBC TYPE_BE), READER_NONE, false},
    {"type and text", LD, BYTES(GLIBC TYPE_LE CACHED), READER_B, false},
    {"the text alone", LD, BYTES(GLIBC CACHED), READER_B, false},
    {"the owner alone cannot be told", LD, BYTES(GLIBC "\0NixOS\0"), READER_B, false},
    {"an owner inside another word", LD, BYTES(GLIBC "\0NixOS 24.05\0"), READER_NONE, false},
    {"an unknown loader", LD, BYTES(OTHER_LIB), READER_NONE, false},
    {"an unknown loader that reads notes", LD, BYTES(OTHER_LIB TYPE_LE), READER_A, false},
};

static void readers(void **state UNUSED)
{
    const struct row *row;

    for_each (row, rows) {
        CLEANUP(arena_release) struct arena arena = {0};
        const struct object object = {.soname = row->soname,
                                      .data = row->big_endian ? ELFDATA2MSB : ELFDATA2LSB};
        const struct ldso *ldso =
            ldso_read(&arena, &object, (const unsigned char *)row->bytes, row->len);

        assert_non_null(ldso);
        if (ldso->reads_note != row->reader)
            fail_msg("%s: reader %d, not %d", row->shows, (int)ldso->reads_note, (int)row->reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers),
    };

    return UNIT_RUN(tests);
}
