/*
 * A file that may be packed, read as if it were not.
 */
#pragma once

#include "scanner/packing.h"

#include <stdio.h>

/*
 * Read `from`, which is taken (on failure, too), through what undoes `packing`. When reading the
 * result fails, ferror() tells that, and `err`, which has to live as long, tells why: it is damaged
 * or has more than `limit` bytes.
 */
MUST_CHECK int unpack_file(FILE *from, enum packing packing, uint64_t limit, FILE **ret_file,
                           struct err *err);
