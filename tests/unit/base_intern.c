#include "tests/unit/unit.h"

#include "base/intern.h"

#include <stdio.h>

static void test_equal_texts_are_one_pointer(void **state UNUSED)
{
    struct intern *in = intern_new();
    const struct name *a = intern(in, "libc.so.6");
    char other[] = "libc.so.6-and-more";

    assert_ptr_equal(intern(in, "libc.so.6"), a);
    assert_ptr_equal(intern_n(in, other, 9), a);
    assert_ptr_not_equal(intern(in, other), a);
    assert_string_equal(a->text, "libc.so.6");
    assert_int_equal(a->len, 9);
    intern_free(in);
}

static void test_ids_are_dense(void **state UNUSED)
{
    struct intern *in = intern_new();

    assert_int_equal(intern_count(in), 0);
    assert_int_equal(intern(in, "")->id, 0);
    assert_int_equal(intern(in, "b")->id, 1);
    assert_int_equal(intern(in, "")->id, 0);
    assert_int_equal(intern(in, "c")->id, 2);
    assert_int_equal(intern_count(in), 3);
    intern_free(in);
}

static void test_finding_adds_nothing(void **state UNUSED)
{
    struct intern *in = intern_new();
    const struct name *a = intern(in, "libc.so.6");

    assert_ptr_equal(intern_find(in, "libc.so.6-and-more", 9), a);
    assert_null(intern_find(in, "libm.so.6", 9));
    assert_int_equal(intern_count(in), 1);
    intern_free(in);
}

static void test_names_outlive_their_table_in_an_arena(void **state UNUSED)
{
    struct arena arena = {0};
    struct intern *in = intern_new_in(&arena);
    const struct name *a = intern(in, "libc.so.6");

    intern_free(in);
    assert_string_equal(a->text, "libc.so.6");
    arena_release(&arena);
}

/* Far beyond the first table's size, up to large pages: names stay where they are when it grows. */
static void test_many(void **state UNUSED)
{
    enum { N = 200000 };
    struct intern *in = intern_new();
    static const struct name *name[N];
    char text[32];

    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(text, sizeof(text), "lib%u.so", i);
        name[i] = intern(in, text);
        assert_int_equal(name[i]->id, i);
    }
    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(text, sizeof(text), "lib%u.so", i);
        assert_ptr_equal(intern(in, text), name[i]);
        assert_ptr_equal(intern_name(in, i), name[i]);
    }
    intern_free(in);
}

static void test_bytes_of_any_kind(void **state UNUSED)
{
    struct intern *in = intern_new();
    const struct name *zero = intern_n(in, "a\0b", 3);

    assert_int_equal(zero->len, 3);
    assert_memory_equal(zero->text, "a\0b", 4);
    assert_ptr_not_equal(intern_n(in, "a\0c", 3), zero);
    assert_ptr_not_equal(intern(in, "a"), zero);
    intern_free(in);
    intern_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_texts_are_one_pointer),
        cmocka_unit_test(test_ids_are_dense),
        cmocka_unit_test(test_finding_adds_nothing),
        cmocka_unit_test(test_names_outlive_their_table_in_an_arena),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_bytes_of_any_kind),
    };

    return UNIT_RUN(tests);
}
