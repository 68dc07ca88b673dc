/*
 * Undoing compression while bytes arrive: the one door to liblzma and libzstd.
 *
 *	struct unpack *u = unpack_new();
 *	r = unpack_start(u, UNPACK_XZ, limit, err);
 *	r = unpack_add(u, bytes, n, take, data, err);	(again and again)
 *	r = unpack_end(u, err);
 *
 * Output is handed on piece by piece; memory is limited whatever the input asks for (a window of
 * 128 MiB), output by `limit`. One thread at a time.
 */
#pragma once

#include "base/base.h"

enum packing { UNPACK_NONE, UNPACK_XZ, UNPACK_ZSTD, UNPACK_UNKNOWN };

struct unpack;
struct unpack *unpack_new(void);
void unpack_free(struct unpack *unpack);

/* The packing that Nix calls by this name; NULL: bzip2, which is not understood. */
enum packing unpack_by_name(const char *name);

/* The packing of bytes by their magic; UNPACK_NONE when it is none of ours. */
enum packing unpack_by_magic(const void *bytes, size_t n);

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

/* The input is over: -EINVAL when it should not be. */
MUST_CHECK int unpack_end(struct unpack *unpack, struct err *err);
