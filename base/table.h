/*
 * Memory of hash tables: a look into a large one is a look anywhere in it.
 */
#pragma once

#include <stddef.h>

/*
 * `n` zeroed elements of `size` bytes, to be freed by free(). A table of megabytes is asked for in
 * large pages: of small ones the processor remembers too few to find a slot without a search. Never
 * NULL: out of memory ends the process.
 */
void *table_calloc(size_t n, size_t size);
