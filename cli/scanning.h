/*
 * Scanning, as commands do it: which tree, which store, which index.
 */
#pragma once

#include "base/db.h"
#include "cli/options.h"
#include "scanner/scan.h"

/* Make the scan's root and store absolute (texts are the options'), and open the index to write. */
MUST_CHECK int scanning_open(struct options *options, struct scan_options *scan, struct db **ret_db,
                             struct err *err);

/* The argument of -j: 0 to 64 threads that read. Anything else is a usage error, which ends the process. */
unsigned scanning_readers(const char *arg, const struct argp_state *state);
