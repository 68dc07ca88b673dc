/*
 * Packed bytes, whole, byte by byte and pulled: each time the same comes out, up to the limit, and they
 * end alike. The first byte says how they are packed.
 */
#include "scanner/unpack.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

enum { LIMIT = 1 << 20 };

struct sum {
    uint64_t value, n;
};

static int add(void *data, const void *bytes, size_t n, struct err *err)
{
    struct sum *sum = data;

    (void)err;
    for (size_t i = 0; i < n; i++)
        sum->value = (sum->value ^ ((const unsigned char *)bytes)[i]) * 1099511628211U;
    sum->n += n;
    return 0;
}

static int push(struct unpack *u, enum packing packing, const uint8_t *data, size_t size,
                size_t step, struct sum *sum)
{
    struct err err = {0};
    int r = unpack_start(u, packing, LIMIT, &err);

    for (size_t i = 0; i < size && r == 0; i += step)
        r = unpack_add(u, data + i, size - i < step ? size - i : step, add, sum, &err);
    return r == 0 ? unpack_end(u, &err) : r;
}

static int pull(struct unpack *u, enum packing packing, const uint8_t *data, size_t size,
                struct sum *sum)
{
    struct err err = {0};
    const void *at = data;
    unsigned char out[77];
    int64_t n = 1;
    int r = unpack_start(u, packing, LIMIT, &err);

    while (r == 0 && n > 0) {
        n = unpack_some(u, &at, &size, out, sizeof(out), &err);
        r = n < 0 ? (int)n : add(sum, out, (size_t)n, &err);
    }
    return r == 0 ? unpack_end(u, &err) : r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const enum packing packing = size ? data[0] % PACKING_UNKNOWN : PACKING_NONE;
    struct unpack *u = unpack_new();
    struct sum whole = {0}, bytes = {0}, pulled = {0};
    int a, b, c;

    data += size > 0;
    size -= size > 0;
    a = push(u, packing, data, size, size ? size : 1, &whole);
    b = push(u, packing, data, size, 1, &bytes);
    c = pull(u, packing, data, size, &pulled);
    if ((a == 0) != (b == 0) || (a == 0) != (c == 0) || whole.n > LIMIT || bytes.n > LIMIT ||
        pulled.n > LIMIT)
        abort();
    if (a == 0 &&
        (whole.value != bytes.value || whole.value != pulled.value || whole.n != pulled.n))
        abort();
    unpack_free(u);
    return 0;
}
