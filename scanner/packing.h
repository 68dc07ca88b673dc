/*
 * Ways of packing bytes, and how one tells them apart. Undoing them is scanner/unpack.h's.
 */
#pragma once

#include "base/base.h"

#include <stddef.h>

enum packing { PACKING_NONE, PACKING_XZ, PACKING_ZSTD, PACKING_BROTLI, PACKING_UNKNOWN };

/* The packing that Nix calls by this name; PACKING_UNKNOWN: one that is not understood; NULL is bzip2. */
enum packing packing_by_name(const char *name);

/* By the end of a file's name: ".xz", ".zst", ".br"; PACKING_UNKNOWN for others that pack; else none. */
enum packing packing_by_ending(const char *path);

/* By magic numbers; PACKING_NONE when there is none of ours. Brotli has none. */
enum packing packing_by_magic(const void *bytes, size_t n);
