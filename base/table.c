#include "base/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 2 * 1024 * 1024 };

void *table_calloc(size_t n, size_t size)
{
    size_t bytes;
    void *table;

    if (__builtin_mul_overflow(n, size, &bytes))
        abort();
    if (bytes < LARGE_PAGE || bytes % LARGE_PAGE) {
        table = calloc(n, size);
    } else {
        table = aligned_alloc(LARGE_PAGE, bytes);
        if (table) {
            (void)madvise(table, bytes, MADV_HUGEPAGE); /* not there: slower */
            memset(table, 0, bytes);
        }
    }
    if (!table)
        abort();
    return table;
}
