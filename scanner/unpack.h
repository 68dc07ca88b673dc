/*
 * Undoing compression while bytes arrive: the one door to liblzma, libzstd and libbrotlidec.
 *
 *	struct unpack *u = unpack_new();
 *	r = unpack_start(u, PACKING_XZ, limit, err);
 *	r = unpack_add(u, bytes, n, take, data, err);	(again and again)
 *	r = unpack_end(u, err);
 *
 * Output is handed on piece by piece; memory is limited whatever the input asks for (a window of
 * 128 MiB), output by `limit`. One thread at a time.
 */
#pragma once

#include "base/base.h"
#include "scanner/packing.h"

struct unpack;
struct unpack *unpack_new(void);
void unpack_free(struct unpack *unpack);

/* Begin; more than `limit` bytes of output will be an error. */
MUST_CHECK int unpack_start(struct unpack *unpack, enum packing packing, uint64_t limit,
                            struct err *err);

/*
 * The next bytes; `take` gets what comes of them. -EINVAL: not of that packing; -EFBIG: over the
 * limit; what `take` returns when it is negative.
 */
MUST_CHECK int unpack_add(struct unpack *unpack, const void *bytes, size_t n,
                          int (*take)(void *data, const void *bytes, size_t n, struct err *err),
                          void *data, struct err *err);

/*
 * The other way round: fill `out`, as far as the `*n` bytes at `*bytes` go; both are moved on over
 * what was used. Returns how much there is now in `out`, or as above. 0 and *n == 0: more is wanted.
 */
MUST_CHECK int64_t unpack_some(struct unpack *unpack, const void **bytes, size_t *n, void *out,
                               size_t size, struct err *err);

/* The input is over: -EINVAL when it should not be. */
MUST_CHECK int unpack_end(struct unpack *unpack, struct err *err);
