#include "scanner/unpack.h"

#include <brotli/decode.h>
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
    OUT_SIZE = 256 * 1024,
    WINDOW_LOG = 27, /* zstd: 128 MiB; brotli's is 16 MiB at most */
};
#define XZ_MEMORY ((uint64_t)160 * 1024 * 1024) /* a dictionary of 128 MiB, and what goes with it */

struct unpack {
    enum packing packing;
    lzma_stream xz;
    ZSTD_DStream *zstd;
    BrotliDecoderState *brotli;
    uint64_t left; /* output still allowed */
    bool over;     /* the packed stream has ended */
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
    BrotliDecoderDestroyInstance(u->brotli);
    free(u);
}

/* What a step has before it, and afterwards what is left of it. */
struct piece {
    const unsigned char *in;
    size_t n_in;
    unsigned char *out;
    size_t n_out;
};

/* ---- xz. With concatenated streams the end of one shows only at the end of all */

static int start_xz(struct unpack *u)
{
    lzma_end(&u->xz);
    u->xz = (lzma_stream)LZMA_STREAM_INIT;
    return lzma_stream_decoder(&u->xz, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK;
}

static lzma_ret run_xz(struct unpack *u, struct piece *p, lzma_action action)
{
    lzma_ret code;

    u->xz.next_in = p->in;
    u->xz.avail_in = p->n_in;
    u->xz.next_out = p->out;
    u->xz.avail_out = p->n_out;
    code = lzma_code(&u->xz, action);
    *p = (struct piece){u->xz.next_in, u->xz.avail_in, u->xz.next_out, u->xz.avail_out};
    return code;
}

static int step_xz(struct unpack *u, struct piece *p, struct err *err)
{
    const lzma_ret code = run_xz(u, p, LZMA_RUN);

    if (code == LZMA_OK || code == LZMA_STREAM_END || (code == LZMA_BUF_ERROR && p->n_in == 0))
        return 0;
    if (code == LZMA_MEMLIMIT_ERROR)
        return err_set(err, EFBIG, "unpacking its xz needs too much memory");
    return err_set(err, EINVAL, "its xz data are damaged");
}

static bool end_xz(struct unpack *u)
{
    const unsigned char none = 0;
    unsigned char rest;
    struct piece p = {&none, 0, &rest, 1};

    return run_xz(u, &p, LZMA_FINISH) == LZMA_STREAM_END && p.n_out == 1;
}

/* ---- zstd: frame after frame */

static int start_zstd(struct unpack *u)
{
    if (!u->zstd)
        u->zstd = ZSTD_createDStream();
    return u->zstd && !ZSTD_isError(ZSTD_initDStream(u->zstd)) &&
           !ZSTD_isError(ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, WINDOW_LOG));
}

static int step_zstd(struct unpack *u, struct piece *p, struct err *err)
{
    ZSTD_inBuffer in = {p->in, p->n_in, 0};
    ZSTD_outBuffer out = {p->out, p->n_out, 0};
    size_t code;

    if (u->over && p->n_in == 0)
        return 0; /* else it would wait for a frame that nobody has promised */
    code = ZSTD_decompressStream(u->zstd, &out, &in);
    if (ZSTD_isError(code))
        return err_set(err, EINVAL, "its zstd data are damaged: %s", ZSTD_getErrorName(code));
    u->over = code == 0;
    *p = (struct piece){p->in + in.pos, p->n_in - in.pos, p->out + out.pos, p->n_out - out.pos};
    return 0;
}

static bool is_over(struct unpack *u)
{
    return u->over;
}

/* ---- brotli: one stream */

static int start_brotli(struct unpack *u)
{
    BrotliDecoderDestroyInstance(u->brotli);
    u->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    return u->brotli != NULL;
}

static int step_brotli(struct unpack *u, struct piece *p, struct err *err)
{
    BrotliDecoderResult code;

    if (u->over)
        return p->n_in ? err_set(err, EINVAL, "its brotli data are followed by something") : 0;
    code = BrotliDecoderDecompressStream(u->brotli, &p->n_in, &p->in, &p->n_out, &p->out, NULL);
    if (code == BROTLI_DECODER_RESULT_ERROR)
        return err_set(err, EINVAL, "its brotli data are damaged");
    u->over = code == BROTLI_DECODER_RESULT_SUCCESS;
    return 0;
}

/* ---- any */

static int start_none(struct unpack *u UNUSED)
{
    return true;
}

static int step_none(struct unpack *u UNUSED, struct piece *p, struct err *err UNUSED)
{
    const size_t n = p->n_in < p->n_out ? p->n_in : p->n_out;

    if (n)
        memcpy(p->out, p->in, n);
    *p = (struct piece){p->in + n, p->n_in - n, p->out + n, p->n_out - n};
    return 0;
}

static bool end_none(struct unpack *u UNUSED)
{
    return true;
}

static const struct method {
    const char *name;
    int (*start)(struct unpack *u); /* 0: there is no memory */
    int (*step)(struct unpack *u, struct piece *p, struct err *err);
    bool (*end)(struct unpack *u); /* is this where the data may end? */
} methods[] = {
    [PACKING_NONE] = {"", start_none, step_none, end_none},
    [PACKING_XZ] = {"xz", start_xz, step_xz, end_xz},
    [PACKING_ZSTD] = {"zstd", start_zstd, step_zstd, is_over},
    [PACKING_BROTLI] = {"brotli", start_brotli, step_brotli, is_over},
};

int unpack_start(struct unpack *u, enum packing packing, uint64_t limit, struct err *err)
{
    if (packing >= PACKING_UNKNOWN)
        return err_set(err, EINVAL, "its compression is not one of none, xz, zstd and br");
    u->packing = packing;
    u->left = limit;
    u->over = false;
    if (!methods[packing].start(u))
        abort();
    return 0;
}

int64_t unpack_some(struct unpack *u, const void **bytes, size_t *n, void *out, size_t size,
                    struct err *err)
{
    struct piece p = {*bytes, *n, out, size};
    size_t before;
    int r;

    do { /* a step may only take its input in */
        before = p.n_in;
        r = methods[u->packing].step(u, &p, err);
    } while (r == 0 && p.n_out == size && p.n_in && p.n_in < before);
    if (r < 0)
        return r;
    if (p.n_out == size && p.n_in)
        return err_set(err, EINVAL, "its %s data are damaged", methods[u->packing].name);
    if (size - p.n_out > u->left)
        return err_set(err, EFBIG, "unpacked it is larger than it may be");
    u->left -= size - p.n_out;
    *bytes = p.in;
    *n = p.n_in;
    return (int64_t)(size - p.n_out);
}

int unpack_add(struct unpack *u, const void *bytes, size_t n,
               int (*take)(void *data, const void *bytes, size_t n, struct err *err), void *data,
               struct err *err)
{
    int64_t got;
    int r = 0;

    if (n == 0)
        return 0;
    if (u->packing == PACKING_NONE) { /* as it is */
        if (n > u->left)
            return err_set(err, EFBIG, "unpacked it is larger than it may be");
        u->left -= n;
        return take(data, bytes, n, err);
    }
    do {
        got = unpack_some(u, &bytes, &n, u->out, sizeof(u->out), err);
        if (got > 0)
            r = take(data, u->out, (size_t)got, err);
    } while (r == 0 && got > 0 && (n || got == (int64_t)sizeof(u->out)));
    return got < 0 ? (int)got : r;
}

int unpack_end(struct unpack *u, struct err *err)
{
    if (methods[u->packing].end(u))
        return 0;
    return err_set(err, EINVAL, "its %s data end too early", methods[u->packing].name);
}
