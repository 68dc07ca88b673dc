/*
 * Promises: a plan says what a start will cost, and says so of the object edited alone.
 */
#pragma once

#include "loader/trace.h"

/*
 * Does a start cost what a plan promises? The same calls; where libraries that it loads have been
 * edited, too (their packages' plans are carried out before), no more failed ones.
 */
bool promise_kept(const struct trace *start, const struct storm *promised);
