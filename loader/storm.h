/*
 * Storms: the totals of many programs, ranked, and kept beside the index.
 *
 * A program's storm is what its start costs: struct storm of trace.h. Here are rows of them, one a
 * program, worst first.
 */
#pragma once

#include "loader/loader.h"

/*
 * The loader model's version: storms recorded by another are computed anew. Raised whenever a
 * change of the rules can change a number.
 */
enum { STORM_MODEL = 1 };

struct storm_row {
    const char *program; /* the path it was started by */
    struct storm storm, dlopen;
    enum trace_exit exit;
    const char *exit_text;
    bool assumed; /* the trace rests on assumptions */
};

/* The row of a trace; texts are borrowed from it. */
struct storm_row storm_row(const struct trace *trace);

/* What rows are ranked by: failed opens and stats together, start-up only. */
uint64_t storm_failed(const struct storm *storm);

/* Worst first; equal ones by path. */
void storm_rank(struct storm_row *row, size_t n);

/* Add one storm to a sum, at most to UINT32_MAX. Objects and directories are added too. */
void storm_add(struct storm *sum, const struct storm *storm);
