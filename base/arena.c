#include "base/arena.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The first block is one that malloc() has at hand: for more than 1 KiB it tidies up its bins. */
enum { FIRST_BLOCK = 992, BLOCK_MAX = 256 * 1024 };

/* An arena that is this large grows by large pages: what is in it is found without a search. */
enum { LARGE_PAGE = 2 * 1024 * 1024, LARGE_ARENA = 8 * LARGE_PAGE };

/* malloc() keeps so many bytes between two blocks: with them they lie page by page, without gaps. */
enum { BETWEEN = 2 * sizeof(size_t) };

struct arena_block {
    struct arena_block *next;
    size_t used, size, below; /* bytes in it, of it, of all blocks before it */
    alignas(max_align_t) char data[];
};

/* Blocks double from FIRST_BLOCK to BLOCK_MAX, so that small arenas stay small. */
static struct arena_block *block_new(const struct arena_block *last, size_t need)
{
    const size_t below = last ? last->below + last->size : 0;
    size_t want = last ? last->size * 2 : FIRST_BLOCK;
    struct arena_block *block = NULL;

    if (want > BLOCK_MAX)
        want = BLOCK_MAX;
    if (want < need)
        want = need;
    if (below >= LARGE_ARENA && want <= LARGE_PAGE - BETWEEN - sizeof(*block)) {
        want = LARGE_PAGE - BETWEEN - sizeof(*block);
        if (posix_memalign((void **)&block, LARGE_PAGE, LARGE_PAGE - BETWEEN) == 0)
            (void)madvise(block, LARGE_PAGE - BETWEEN, MADV_HUGEPAGE); /* not there: slower */
        else
            block = NULL;
    } else {
        block = malloc(sizeof(*block) + want);
    }
    if (!block)
        abort();
    *block = (struct arena_block){.size = want, .below = below};
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    struct arena_block *block = arena->head;
    void *mem;

    if (size > SIZE_MAX / 2)
        abort();
    size = (size + align - 1) & ~(align - 1);
    if (!block || block->size - block->used < size) {
        struct arena_block *fresh = block_new(block, size);

        fresh->next = block;
        arena->head = block = fresh;
        arena->held += fresh->size;
    }
    mem = block->data + block->used;
    block->used += size;
    return memset(mem, 0, size);
}

void *arena_calloc(struct arena *arena, size_t count, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(count, size, &total))
        abort();
    return arena_alloc(arena, total);
}

void *arena_memdup(struct arena *arena, const void *bytes, size_t size)
{
    void *copy = arena_alloc(arena, size);

    return size ? memcpy(copy, bytes, size) : copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_memdup(arena, text, strlen(text) + 1);
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
    char *copy = arena_alloc(arena, len + 1);

    memcpy(copy, text, len);
    return copy;
}

char *arena_vprintf(struct arena *arena, const char *fmt, va_list ap)
{
    va_list again;
    char *text;
    int len;

    va_copy(again, ap);
    len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (len < 0)
        abort();
    text = arena_alloc(arena, (size_t)len + 1);
    (void)vsnprintf(text, (size_t)len + 1, fmt, ap);
    return text;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list ap;
    char *text;

    va_start(ap, fmt);
    text = arena_vprintf(arena, fmt, ap);
    va_end(ap);
    return text;
}

void *arena_grow(struct arena *arena, void *array, size_t n, size_t size)
{
    void *larger;

    if (n & (n - 1) || (n && n < 8)) /* sizes in use: 8, 16, 32, ... */
        return array;
    if (n == 0)
        return arena_calloc(arena, 8, size);
    larger = arena_calloc(arena, n * 2, size);
    return memcpy(larger, array, n * size);
}

void arena_release(struct arena *arena)
{
    while (arena->head) {
        struct arena_block *block = arena->head;

        arena->head = block->next;
        free(block);
    }
    arena->held = 0;
}
