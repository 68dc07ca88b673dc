/*
 * Arena: memory that dies together.
 *
 *	CLEANUP(arena_release) struct arena a = {0};
 *	char *s = arena_printf(&a, "%s/lib", dir);
 *
 * One arena per unit of work: a file scanned, a program traced, a package planned. Nothing in it
 * is freed alone, and it never returns NULL: out of memory ends the process, in one place. An
 * arena belongs to one thread at a time.
 */
#pragma once

#include "base/base.h"

struct arena_block;

struct arena {
    struct arena_block *head;
    size_t held; /* bytes it has of the system; 0: none */
};

/* `size` zeroed bytes, aligned for any type. */
void *arena_alloc(struct arena *arena, size_t size);

/* `count` zeroed elements of `size` bytes; ends the process when the product overflows. */
void *arena_calloc(struct arena *arena, size_t count, size_t size);

/* A copy of `size` bytes / of a string / of a string's first `len` bytes, the latter two ended. */
void *arena_memdup(struct arena *arena, const void *bytes, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t len);

char *arena_printf(struct arena *arena, const char *fmt, ...) PRINTF(2, 3);
char *arena_vprintf(struct arena *arena, const char *fmt, va_list ap) PRINTF(2, 0);

/*
 * Room for one more element in a growing array: returns `array` or a copy of it twice as large,
 * for use as `v->item = arena_grow(arena, v->item, v->n, sizeof(*v->item)); v->item[v->n++] = x`.
 * `n` is the number of elements in use; the array must only ever grow through this function.
 */
void *arena_grow(struct arena *arena, void *array, size_t n, size_t size);

/* Free everything. The arena is empty and usable afterwards. */
void arena_release(struct arena *arena);
