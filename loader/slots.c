#include "loader/slots.h"

#include <stdlib.h>
#include <string.h>

void *slots_make(struct slots *slots, uint32_t id)
{
    const uint32_t block = id / SLOTS_BLOCK;

    if (block >= slots->n_blocks) {
        const uint32_t want = block + block / 2 + 16;
        unsigned char **larger = realloc(slots->block, want * sizeof(*larger));

        if (!larger)
            abort();
        memset(larger + slots->n_blocks, 0, (want - slots->n_blocks) * sizeof(*larger));
        slots->block = larger;
        slots->n_blocks = want;
    }
    slots->block[block] = calloc(SLOTS_BLOCK, slots->size);
    if (!slots->block[block])
        abort();
    return slots->block[block] + id % SLOTS_BLOCK * slots->size;
}

void slots_clear(struct slots *slots)
{
    for (uint32_t i = 0; i < slots->n_blocks; i++)
        if (slots->block[i])
            memset(slots->block[i], 0, SLOTS_BLOCK * slots->size);
}

void slots_release(struct slots *slots)
{
    for (uint32_t i = 0; i < slots->n_blocks; i++)
        free(slots->block[i]);
    free(slots->block);
    *slots = (struct slots){.size = slots->size};
}
