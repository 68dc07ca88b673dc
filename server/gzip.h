/*
 * Compression: the one door to zlib. Everything is the gzip format.
 */
#pragma once

#include "base/base.h"

/* `bytes` compressed, malloc()ed; NULL: that does not make them fewer. */
char *gzip_pack(const char *bytes, size_t len, size_t *ret_len);

/* What gzip_pack() made, back: `len` bytes of it, malloc()ed, `raw_len` in all. NULL: damaged. */
char *gzip_unpack(const char *packed, size_t len, size_t raw_len);

/* A filter over a source that is read piece by piece; see struct http_stream for `read`. */
struct gzip_filter;
struct gzip_filter *gzip_filter_new(long (*read)(void *data, char *to, size_t max), void *data);
/* The next compressed bytes: their number, 0 at the end, -1 when the source failed. */
long gzip_filter_read(struct gzip_filter *filter, char *to, size_t max);
void gzip_filter_free(struct gzip_filter *filter);
