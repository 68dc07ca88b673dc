/*
 * Scanning, as commands do it: which tree, which store, which index.
 */
#pragma once

#include "base/db.h"
#include "cli/options.h"
#include "scanner/scan.h"

enum { READERS_UNSAID = -1 };

/* --root --store --jobs, into struct scan_options, whose readers start as READERS_UNSAID. */
extern const struct flag scanning_rows[];

/*
 * Settle what the scan's options leave open, make its root and store absolute (texts are the
 * arena's), and open the index to write.
 */
MUST_CHECK int scanning_open(const struct options *options, struct scan_options *scan,
                             struct arena *arena, struct db **ret_db, struct err *err);
