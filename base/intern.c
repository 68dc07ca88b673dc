#include "base/intern.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/*
 * Open addressing with linear probing. `slot` holds names or NULL, `hash` their hashes, so that a
 * probe touches the text only when the hashes agree. At most two thirds of the slots are in use.
 */
struct intern {
    const struct name **slot;
    uint32_t *hash;
    uint32_t mask, count;
    struct arena arena;
};

uint32_t intern_hash(const char *text, size_t len)
{
    uint64_t h = 0xcbf29ce484222325u ^ len, word;

    for (; len >= sizeof(word); text += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, text, sizeof(word));
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    word = 0;
    memcpy(&word, text, len);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

static void table_resize(struct intern *in, uint32_t slots)
{
    const struct name **old_slot = in->slot;
    uint32_t *old_hash = in->hash;
    const uint32_t old = old_slot ? in->mask + 1 : 0;

    in->slot = calloc(slots, sizeof(const struct name *));
    in->hash = calloc(slots, sizeof(*in->hash));
    if (!in->slot || !in->hash)
        abort();
    in->mask = slots - 1;
    for (uint32_t i = 0; i < old; i++) {
        uint32_t at = old_hash[i] & in->mask;

        if (!old_slot[i])
            continue;
        while (in->slot[at])
            at = (at + 1) & in->mask;
        in->slot[at] = old_slot[i];
        in->hash[at] = old_hash[i];
    }
    free(old_slot);
    free(old_hash);
}

struct intern *intern_new(void)
{
    struct intern *in = calloc(1, sizeof(*in));

    if (!in)
        abort();
    table_resize(in, 1024);
    return in;
}

void intern_free(struct intern *in)
{
    if (!in)
        return;
    free(in->slot);
    free(in->hash);
    arena_release(&in->arena);
    free(in);
}

const struct name *intern_n(struct intern *in, const char *text, size_t len)
{
    const uint32_t hash = intern_hash(text, len);
    uint32_t at = hash & in->mask;
    struct name *name;

    for (; in->slot[at]; at = (at + 1) & in->mask)
        if (in->hash[at] == hash && in->slot[at]->len == len &&
            memcmp(in->slot[at]->text, text, len) == 0)
            return in->slot[at];
    if (len > UINT32_MAX - 64 || in->count == UINT32_MAX)
        abort();
    name = arena_alloc(&in->arena, sizeof(*name) + len + 1);
    name->id = in->count++;
    name->len = (uint32_t)len;
    name->hash = hash;
    memcpy(name->text, text, len);
    in->slot[at] = name;
    in->hash[at] = hash;
    if (in->count * 3 > in->mask * 2)
        table_resize(in, (in->mask + 1) * 2);
    return name;
}

const struct name *intern(struct intern *in, const char *text)
{
    return intern_n(in, text, strlen(text));
}

uint32_t intern_count(const struct intern *in)
{
    return in->count;
}
