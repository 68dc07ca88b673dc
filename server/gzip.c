#include "server/gzip.h"

#include <stdlib.h>
#include <zlib.h>

enum {
    FROM_BYTES = 1024, /* less than that is not worth the work */
    LEVEL = 6,
    LEVEL_FLYING = 1, /* while somebody waits */
    WINDOW = 15 + 16, /* the gzip format */
    MEMORY = 8,
    BLOCK = 32 * 1024,
};

static char *must(char *bytes)
{
    if (!bytes)
        abort();
    return bytes;
}

char *gzip_pack(const char *bytes, size_t len, size_t *ret_len)
{
    z_stream z = {0};
    uLong bound;
    char *out;

    if (len < FROM_BYTES || len > UINT32_MAX / 2 ||
        deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    bound = deflateBound(&z, (uLong)len);
    out = must(malloc(bound));
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)bound;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END || z.total_out >= len) {
        free(out);
        out = NULL;
    } else {
        *ret_len = z.total_out;
        out = must(realloc(out, z.total_out));
    }
    (void)deflateEnd(&z);
    return out;
}

char *gzip_unpack(const char *packed, size_t len, size_t raw_len)
{
    z_stream z = {0};
    char *out;
    int r;

    if (len > UINT32_MAX || raw_len > UINT32_MAX || inflateInit2(&z, WINDOW) != Z_OK)
        return NULL;
    out = must(malloc(raw_len + 1));
    z.next_in = (Bytef *)(uintptr_t)packed;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)raw_len;
    r = inflate(&z, Z_FINISH);
    (void)inflateEnd(&z);
    if (r != Z_STREAM_END || z.total_out != raw_len) {
        free(out);
        return NULL;
    }
    out[raw_len] = '\0';
    return out;
}

/* ---- piece by piece */

struct gzip_filter {
    long (*read)(void *data, char *to, size_t max);
    void *data;
    z_stream z;
    bool end, done;
    char block[BLOCK];
};

struct gzip_filter *gzip_filter_new(long (*read)(void *data, char *to, size_t max), void *data)
{
    struct gzip_filter *f = calloc(1, sizeof(*f));

    if (!f || deflateInit2(&f->z, LEVEL_FLYING, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY))
        abort();
    f->read = read;
    f->data = data;
    return f;
}

long gzip_filter_read(struct gzip_filter *f, char *to, size_t max)
{
    if (max > UINT32_MAX)
        max = UINT32_MAX;
    f->z.next_out = (Bytef *)to;
    f->z.avail_out = (uInt)max;
    while (!f->done && f->z.avail_out == max) {
        if (!f->z.avail_in && !f->end) {
            const long n = f->read(f->data, f->block, sizeof(f->block));

            if (n < 0)
                return -1;
            f->end = n == 0;
            f->z.next_in = (Bytef *)f->block;
            f->z.avail_in = (uInt)n;
        }
        f->done = deflate(&f->z, f->end ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
    }
    return (long)(max - f->z.avail_out);
}

void gzip_filter_free(struct gzip_filter *f)
{
    if (!f)
        return;
    (void)deflateEnd(&f->z);
    free(f);
}
