#include "tests/unit/unit.h"

#include "scanner/packed.h"

#include <string.h>

static struct packed all_of(const struct str *s)
{
    const unsigned char *bytes = (const unsigned char *)s->text;

    return (struct packed){bytes, bytes + s->len};
}

static void test_numbers(void **state UNUSED)
{
    static const uint64_t numbers[] = {0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX};
    CLEANUP(arena_release) struct arena arena = {0};
    struct str s = {.arena = &arena};
    struct packed packed;

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        pack_number(&s, numbers[i]);
    packed = all_of(&s);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        assert_true(packed_number(&packed) == numbers[i]);
    assert_ptr_equal(packed.at, packed.end);
    assert_int_equal(packed_number(&packed), 0);
}

/* Every number at its largest: no member is narrower here than in struct object. */
static void test_header(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct object object = {
        .class = 255,
        .data = 254,
        .ident_version = 253,
        .osabi = 252,
        .abiversion = 251,
        .ident_pad_zero = true,
        .type = 65535,
        .machine = 65534,
        .version = UINT32_MAX,
        .machine_flags = UINT32_MAX - 1,
        .phentsize = 65533,
        .phnum = 65532,
        .size = UINT64_MAX,
        .mode = UINT32_MAX - 2,
        .flags = UINT32_MAX - 3,
        .flags_1 = UINT32_MAX - 4,
        .has_dynamic = true,
        .has_abi_tag = true,
        .problem = "broken",
    };
    struct object read = object;
    struct str s = {.arena = &arena};
    struct packed packed;

    pack_header(&s, &object);
    packed = all_of(&s);
    memset(&read, 0, sizeof(read));
    assert_int_equal(packed_header(&packed, &read), PACKED_RARE);
    assert_ptr_equal(packed.at, packed.end);
    read.problem = object.problem;
    assert_memory_equal(&read, &object, sizeof(read));
}

/* The objects of a directory one after the other, at every length that damage could leave. */
static void test_objects(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct str one = {.arena = &arena}, all = {.arena = &arena};
    size_t most = 0;

    pack_number(&one, 1000);
    pack_object(&all, &one);
    pack_number(&one, 7);
    pack_object(&all, &one);
    for (size_t len = 0; len <= all.len; len++) {
        struct packed rest = all_of(&all), numbers;
        size_t n = 0;

        for (rest.end = rest.at + len; packed_next(&rest, &numbers); n++) {
            assert_int_equal(packed_number(&numbers), 1000);
            assert_int_equal(packed_number(&numbers), n ? 7 : 0);
        }
        most = n > most ? n : most;
    }
    assert_int_equal(most, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_objects),
    };

    return UNIT_RUN(tests);
}
