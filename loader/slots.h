/*
 * Things by the ids of names, in blocks that are made when first used: a run that meets few of the
 * names of a large world pays for those alone.
 *
 *	struct slots slots = {.size = sizeof(struct thing)};
 *	struct thing *thing = slots_at(&slots, name->id);	(all zero when it is new)
 *	slots_release(&slots);
 *
 * A slot keeps its address.
 */
#pragma once

#include "base/base.h"

enum { SLOTS_BLOCK = 64 };

struct slots {
    size_t size;           /* bytes of one slot */
    unsigned char **block; /* NULL: nothing in it yet */
    uint32_t n_blocks;
};

/* The slot's block is not there yet: make it. */
void *slots_make(struct slots *slots, uint32_t id);

static inline void *slots_at(struct slots *slots, uint32_t id)
{
    const uint32_t block = id / SLOTS_BLOCK;

    if (block >= slots->n_blocks || !slots->block[block])
        return slots_make(slots, id);
    return slots->block[block] + id % SLOTS_BLOCK * slots->size;
}

/* Make every slot new again. */
void slots_clear(struct slots *slots);

void slots_release(struct slots *slots);
