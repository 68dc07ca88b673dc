#include "scanner/unpack.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
    OUT_SIZE = 256 * 1024,
    WINDOW_LOG = 27, /* zstd: 128 MiB */
};
#define XZ_MEMORY ((uint64_t)160 * 1024 * 1024) /* a dictionary of 128 MiB, and what goes with it */

struct unpack {
    enum packing packing;
    lzma_stream xz;
    ZSTD_DStream *zstd;
    uint64_t left; /* output still allowed */
    bool over;     /* the packed stream has ended */
    bool begun;    /* there was input */
    unsigned char out[OUT_SIZE];
};

struct unpack *unpack_new(void)
{
    struct unpack *u = calloc(1, sizeof(*u));

    if (!u)
        abort();
    return u;
}

void unpack_free(struct unpack *u)
{
    if (!u)
        return;
    lzma_end(&u->xz);
    (void)ZSTD_freeDStream(u->zstd);
    free(u);
}

enum packing unpack_by_name(const char *name)
{
    static const struct {
        const char *name;
        enum packing packing;
    } names[] = {{"none", UNPACK_NONE}, {"xz", UNPACK_XZ}, {"zstd", UNPACK_ZSTD}};

    for (size_t i = 0; name && i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i].name) == 0)
            return names[i].packing;
    return UNPACK_UNKNOWN;
}

enum packing unpack_by_magic(const void *bytes, size_t n)
{
    static const unsigned char xz[] = {0xfd, '7', 'z', 'X', 'Z', 0};
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};

    if (n >= sizeof(xz) && memcmp(bytes, xz, sizeof(xz)) == 0)
        return UNPACK_XZ;
    if (n >= sizeof(zstd) && memcmp(bytes, zstd, sizeof(zstd)) == 0)
        return UNPACK_ZSTD;
    return UNPACK_NONE;
}

int unpack_start(struct unpack *u, enum packing packing, uint64_t limit, struct err *err)
{
    u->packing = packing;
    u->left = limit;
    u->over = u->begun = false;
    if (packing == UNPACK_XZ) {
        lzma_end(&u->xz);
        u->xz = (lzma_stream)LZMA_STREAM_INIT;
        if (lzma_stream_decoder(&u->xz, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
            abort();
    } else if (packing == UNPACK_ZSTD) {
        if (!u->zstd && !(u->zstd = ZSTD_createDStream()))
            abort();
        (void)ZSTD_initDStream(u->zstd);
        (void)ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
    } else if (packing == UNPACK_UNKNOWN) {
        return err_set(err, EINVAL, "its compression is not one of none, xz and zstd");
    }
    return 0;
}

typedef int take_fn(void *data, const void *bytes, size_t n, struct err *err);

static int hand_on(struct unpack *u, const void *bytes, size_t n, take_fn *take, void *data,
                   struct err *err)
{
    if (n > u->left)
        return err_set(err, EFBIG, "unpacked it is larger than it may be");
    u->left -= n;
    return n ? take(data, bytes, n, err) : 0;
}

static int add_xz(struct unpack *u, const void *bytes, size_t n, take_fn *take, void *data,
                  struct err *err)
{
    int r = 0;

    u->xz.next_in = bytes;
    u->xz.avail_in = n;
    while (r == 0) {
        lzma_ret code;

        u->xz.next_out = u->out;
        u->xz.avail_out = sizeof(u->out);
        code = lzma_code(&u->xz, LZMA_RUN);
        r = hand_on(u, u->out, sizeof(u->out) - u->xz.avail_out, take, data, err);
        if (r < 0)
            break;
        if (code == LZMA_STREAM_END || (code == LZMA_BUF_ERROR && u->xz.avail_in == 0))
            break;
        if (code != LZMA_OK)
            r = err_set(err, code == LZMA_MEMLIMIT_ERROR ? EFBIG : EINVAL, "%s",
                        code == LZMA_MEMLIMIT_ERROR ? "unpacking its xz needs too much memory"
                                                    : "its xz data are damaged");
        else if (u->xz.avail_in == 0 && u->xz.avail_out)
            break;
    }
    return r;
}

/* With concatenated streams the end of one shows only at the end of all. */
static int end_xz(struct unpack *u, struct err *err)
{
    unsigned char none[1];

    u->xz.next_in = none;
    u->xz.avail_in = 0;
    u->xz.next_out = u->out;
    u->xz.avail_out = sizeof(u->out);
    if (lzma_code(&u->xz, LZMA_FINISH) != LZMA_STREAM_END || u->xz.avail_out != sizeof(u->out))
        return err_set(err, EINVAL, "its xz data end too early");
    return 0;
}

static int add_zstd(struct unpack *u, const void *bytes, size_t n, take_fn *take, void *data,
                    struct err *err)
{
    ZSTD_inBuffer in = {bytes, n, 0};
    int r = 0;

    while (r == 0) {
        ZSTD_outBuffer out = {u->out, sizeof(u->out), 0};
        const size_t code = ZSTD_decompressStream(u->zstd, &out, &in);

        if (ZSTD_isError(code))
            return err_set(err, EINVAL, "its zstd data are damaged: %s", ZSTD_getErrorName(code));
        u->over = code == 0;
        r = hand_on(u, out.dst, out.pos, take, data, err);
        if (in.pos == in.size && out.pos < out.size)
            break;
    }
    return r;
}

int unpack_add(struct unpack *u, const void *bytes, size_t n, take_fn *take, void *data,
               struct err *err)
{
    if (n == 0)
        return 0;
    u->begun = true;
    switch (u->packing) {
    case UNPACK_XZ:
        return add_xz(u, bytes, n, take, data, err);
    case UNPACK_ZSTD:
        return add_zstd(u, bytes, n, take, data, err);
    case UNPACK_NONE:
    case UNPACK_UNKNOWN:
    default:
        return hand_on(u, bytes, n, take, data, err);
    }
}

int unpack_end(struct unpack *u, struct err *err)
{
    if (u->packing == UNPACK_XZ)
        return end_xz(u, err);
    if (u->packing == UNPACK_ZSTD && (!u->begun || !u->over))
        return err_set(err, EINVAL, "its zstd data end too early");
    return 0;
}
