#include "base/intern.h"

#include "base/table.h"

#include <stdlib.h>
#include <string.h>

/*
 * Open addressing with linear probing. A slot holds a name and its hash side by side: of many names
 * the table is too large for any cache, and every look into it costs what memory costs. The name is
 * touched only when the hashes agree. At most two thirds of the slots are in use.
 */
struct slot {
    const struct name *name; /* NULL: free */
    uint32_t hash;
};

struct intern {
    struct slot *slot;
    const struct name **name; /* by id; as many as may be in use before the table grows */
    uint32_t mask, count;
    struct arena *arena, own; /* of names; `arena` is `own`, or somebody else's */
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

static uint32_t most(uint32_t slots)
{
    return slots / 3 * 2 + 1;
}

static void table_resize(struct intern *in, uint32_t slots)
{
    struct slot *old = in->slot;
    const uint32_t n_old = old ? in->mask + 1 : 0;

    in->slot = table_calloc(slots, sizeof(*in->slot));
    in->name = realloc(in->name, most(slots) * sizeof(const struct name *));
    if (!in->name)
        abort();
    in->mask = slots - 1;
    for (uint32_t i = 0; i < n_old; i++) {
        uint32_t at = old[i].hash & in->mask;

        if (!old[i].name)
            continue;
        while (in->slot[at].name)
            at = (at + 1) & in->mask;
        in->slot[at] = old[i];
    }
    free(old);
}

struct intern *intern_new_in(struct arena *arena)
{
    struct intern *in = calloc(1, sizeof(*in));

    if (!in)
        abort();
    in->arena = arena ? arena : &in->own;
    table_resize(in, 1024);
    return in;
}

struct intern *intern_new(void)
{
    return intern_new_in(NULL);
}

void intern_free(struct intern *in)
{
    if (!in)
        return;
    free(in->slot);
    free(in->name);
    arena_release(&in->own);
    free(in);
}

/* The slot of a text, or the free one where it belongs. */
static struct slot *slot_of(const struct intern *in, uint32_t hash, const char *text, size_t len)
{
    uint32_t at = hash & in->mask;

    for (; in->slot[at].name; at = (at + 1) & in->mask)
        if (in->slot[at].hash == hash && in->slot[at].name->len == len &&
            memcmp(in->slot[at].name->text, text, len) == 0)
            break;
    return &in->slot[at];
}

const struct name *intern_find(const struct intern *in, const char *text, size_t len)
{
    return slot_of(in, intern_hash(text, len), text, len)->name;
}

const struct name *intern_n(struct intern *in, const char *text, size_t len)
{
    const uint32_t hash = intern_hash(text, len);
    struct slot *slot = slot_of(in, hash, text, len);
    struct name *name;

    if (slot->name)
        return slot->name;
    if (len > UINT32_MAX - 64 || in->count == UINT32_MAX / 4)
        abort();
    name = arena_alloc(in->arena, sizeof(*name) + len + 1);
    name->id = in->count;
    name->len = (uint32_t)len;
    name->hash = hash;
    memcpy(name->text, text, len);
    in->name[in->count++] = name;
    *slot = (struct slot){name, hash};
    if (in->count == most(in->mask + 1))
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

const struct name *intern_name(const struct intern *in, uint32_t id)
{
    return in->name[id];
}
