#include "tests/unit/unit.h"

#include "server/gzip.h"

#include <stdlib.h>
#include <string.h>

static void test_there_and_back(void **state UNUSED)
{
    char text[5000], *packed, *back;
    size_t len;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 7);
    assert_null(gzip_pack(text, 100, &len)); /* not worth it */
    packed = gzip_pack(text, sizeof(text), &len);
    assert_true(packed && len < sizeof(text));
    back = gzip_unpack(packed, len, sizeof(text));
    assert_non_null(back);
    assert_memory_equal(back, text, sizeof(text));
    free(back);
    assert_null(gzip_unpack(packed, len - 1, sizeof(text)));
    assert_null(gzip_unpack(packed, len, sizeof(text) - 1));
    packed[len / 2] ^= 1;
    assert_null(gzip_unpack(packed, len, sizeof(text)));
    free(packed);
}

/* A source of `left` bytes in small pieces; -1 at the end when it is to fail. */
struct source {
    size_t left;
    bool fails;
};

static long read_source(void *data, char *to, size_t max)
{
    struct source *s = data;
    size_t n = max < 997 ? max : 997;

    if (!s->left)
        return s->fails ? -1 : 0;
    n = n < s->left ? n : s->left;
    memset(to, 'x', n);
    s->left -= n;
    return (long)n;
}

static long drain(struct source *source, char *to, size_t size, size_t piece)
{
    struct gzip_filter *f = gzip_filter_new(read_source, source);
    size_t len = 0;
    long n;

    while ((n = gzip_filter_read(f, to + len, piece < size - len ? piece : size - len)) > 0)
        len += (size_t)n;
    gzip_filter_free(f);
    return n < 0 ? -1 : (long)len;
}

static void test_piece_by_piece(void **state UNUSED)
{
    static const size_t pieces[] = {1, 7, 4096};
    const size_t *piece;
    char packed[4096];

    for_each (piece, pieces) {
        struct source source = {.left = 100000};
        const long len = drain(&source, packed, sizeof(packed), *piece);
        char *back;

        assert_true(len > 0);
        back = gzip_unpack(packed, (size_t)len, 100000);
        assert_non_null(back);
        assert_int_equal(strspn(back, "x"), 100000);
        free(back);
    }
    assert_int_equal(drain(&(struct source){.left = 10, .fails = true}, packed, sizeof(packed), 64),
                     -1);
    assert_true(drain(&(struct source){0}, packed, sizeof(packed), 64) > 0); /* nothing, packed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_piece_by_piece),
    };

    return UNIT_RUN(tests);
}
