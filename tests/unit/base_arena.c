#include "tests/unit/unit.h"

#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

static void test_memory_is_zeroed_and_aligned(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};

    for (size_t size = 0; size < 9000; size = size * 2 + 1) {
        unsigned char *mem = arena_alloc(&arena, size);

        assert_non_null(mem);
        assert_int_equal((uintptr_t)mem % alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(mem[i], 0);
        memset(mem, 0xff, size); /* must not be seen by the next one */
    }
}

static void test_copies(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char text[] = "libc.so.6";

    assert_string_equal(arena_strdup(&arena, text), text);
    assert_string_equal(arena_strdup(&arena, ""), "");
    assert_string_equal(arena_strndup(&arena, text, 4), "libc");
    assert_string_equal(arena_strndup(&arena, text, 0), "");
    assert_memory_equal(arena_memdup(&arena, text, sizeof(text)), text, sizeof(text));
    assert_string_equal(arena_printf(&arena, "%s/%d", text, 42), "libc.so.6/42");
}

static void test_print_longer_than_a_block(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *text = arena_printf(&arena, "%0300000d", 7);

    assert_int_equal(strlen(text), 300000);
    assert_int_equal(text[299999], '7');
}

static void test_arrays_grow(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    uint32_t *array = NULL;

    for (uint32_t n = 0; n < 5000; n++) {
        array = arena_grow(&arena, array, n, sizeof(*array));
        array[n] = n;
    }
    for (uint32_t n = 0; n < 5000; n++)
        assert_int_equal(array[n], n);
}

/* Up to large pages, and beyond what fits into one. */
static void test_many_blocks(void **state UNUSED)
{
    enum { N = 400, EACH = 100000 };
    CLEANUP(arena_release) struct arena arena = {0};
    unsigned char *bytes[N];

    for (unsigned i = 0; i < N; i++) {
        bytes[i] = arena_alloc(&arena, EACH);
        assert_int_equal(bytes[i][0] | bytes[i][EACH - 1], 0);
        memset(bytes[i], (int)(i & 0xff), EACH);
    }
    for (unsigned i = 0; i < N; i++)
        assert_true(bytes[i][0] == (i & 0xff) && bytes[i][EACH - 1] == (i & 0xff));
    memset(arena_alloc(&arena, 5000000), 1, 5000000);
    assert_string_equal(arena_strdup(&arena, "behind it"), "behind it");
}

static void test_usable_after_release(void **state UNUSED)
{
    struct arena arena = {0};

    (void)arena_alloc(&arena, 100000);
    arena_release(&arena);
    assert_null(arena.head);
    assert_string_equal(arena_strdup(&arena, "again"), "again");
    arena_release(&arena);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_zeroed_and_aligned),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_print_longer_than_a_block),
        cmocka_unit_test(test_arrays_grow),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_usable_after_release),
    };

    return UNIT_RUN(tests);
}
