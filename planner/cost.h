/*
 * Cost: what a failed call takes, so that plans and storms can speak in time, too.
 */
#pragma once

#include "base/base.h"

/*
 * Microseconds of a failed call: "local" (a warm local file system), "nfs" (a server that is asked
 * each time), or a number. -1: it is neither.
 */
double probe_cost(const char *text);

struct calibration {
    double median_us, best_us; /* of one failed open */
    unsigned n;                /* opens measured */
};

/*
 * Open names that are not there, each a new one, in a directory: what the loader's probes cost
 * there. Nothing is written. -errno when the directory cannot be searched.
 */
MUST_CHECK int calibrate(const char *directory, unsigned n, struct calibration *ret,
                         struct err *err);
