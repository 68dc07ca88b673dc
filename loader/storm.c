#include "loader/storm.h"

#include <stdlib.h>
#include <string.h>

struct storm_row storm_row(const struct trace *trace)
{
    return (struct storm_row){
        .program = trace->program,
        .storm = trace->storm,
        .dlopen = trace->dlopen,
        .exit = trace->exit,
        .exit_text = trace->exit_text,
        .assumed = trace->n_assumptions > 0,
        .profile_assumed = trace->profile.assumed,
    };
}

uint64_t storm_failed(const struct storm *storm)
{
    return (uint64_t)storm->failed_opens + storm->failed_stats;
}

static int row_compare(const void *a, const void *b)
{
    const struct storm_row *x = a, *y = b;
    const uint64_t failed_x = storm_failed(&x->storm), failed_y = storm_failed(&y->storm);

    if (failed_x != failed_y)
        return failed_x < failed_y ? 1 : -1;
    return strcmp(x->program, y->program);
}

void storm_rank(struct storm_row *row, size_t n)
{
    if (n)
        qsort(row, n, sizeof(*row), row_compare);
}

static void add(uint32_t *sum, uint32_t n)
{
    if (__builtin_add_overflow(*sum, n, sum))
        *sum = UINT32_MAX;
}

void storm_add(struct storm *sum, const struct storm *storm)
{
    add(&sum->opens, storm->opens);
    add(&sum->failed_opens, storm->failed_opens);
    add(&sum->stats, storm->stats);
    add(&sum->failed_stats, storm->failed_stats);
    add(&sum->others, storm->others);
    add(&sum->failed_others, storm->failed_others);
    add(&sum->objects, storm->objects);
    add(&sum->directories, storm->directories);
}
