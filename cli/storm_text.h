/*
 * Storms for people: a table, worst first.
 */
#pragma once

#include "base/term.h"
#include "loader/storm.h"

/*
 * The first `top` rows as a table, and totals over all of them. Rows are shown in the order given
 * (storm_rank()).
 */
void storm_text_table(FILE *to, const struct storm_row *row, size_t n, size_t top);

/* What their failed calls take, when one takes `probe_us`. */
void storm_text_time(FILE *to, const struct storm_row *row, size_t n, double probe_us);
