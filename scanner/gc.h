/*
 * Collecting: an index without the packages that are no more.
 */
#pragma once

#include "base/db.h"

struct gc_result {
    size_t packages; /* that the index had */
    size_t dropped;  /* whose store paths are gone */
};

/*
 * Drop every package whose store path does not exist; `dry`: only count. A store whose directory is
 * not there at all is left alone, with an error: it may not be mounted.
 */
MUST_CHECK int gc_run(struct db *db, bool dry, struct gc_result *ret_result, struct err *err);
