/* Sums over the programs of a whole store. */
#include "planner/whole.h"

#include <stdlib.h>

static const struct storm *column_of(const struct whole_program *w, enum whole_column column)
{
    switch (column) {
    case WHOLE_ALONE:
        return &w->alone;
    case WHOLE_OWN:
        return &w->own;
    case WHOLE_ALL:
        return &w->whole;
    case WHOLE_BEFORE:
    case N_WHOLE_COLUMNS:
        break;
    }
    return &w->before;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

struct whole_sum whole_sum(const struct whole *whole, enum whole_column column)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    uint32_t *number = arena_calloc(&scratch, whole->n_programs + 1, sizeof(*number));
    struct whole_sum sum = {0};
    size_t n = 0;

    for (size_t i = 0; i < whole->n_packages; i++)
        for (size_t k = 0; k < whole->package[i].n_programs; k++) {
            const struct storm *s = column_of(&whole->package[i].program[k], column);

            sum.failed_opens += s->failed_opens;
            sum.failed_stats += s->failed_stats;
            number[n++] = s->failed_opens;
        }
    if (n > 1)
        qsort(number, n, sizeof(*number), by_number);
    sum.median = number[n / 2];
    return sum;
}
