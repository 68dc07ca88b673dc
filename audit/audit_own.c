/*
 * Audits of what somebody maintains.
 */
#include "audit/audit.h"

#include <stdlib.h>
#include <string.h>

/* The lists of an audit: where they are, and in each item what it is about and whose that is. */
static const struct list {
    size_t items, n; /* in struct audit */
    size_t size, key, origin;
} lists[] = {
#define LIST(of, key)                                                                              \
    {                                                                                              \
        offsetof(struct audit, of), offsetof(struct audit, n_##of##s), sizeof(struct audit_##of),  \
            offsetof(struct audit_##of, key), offsetof(struct audit_##of, origin)                  \
    }
    LIST(package, key),
    LIST(program, key),
    LIST(finding, identity),
};

/* Keys of packages. */
struct keys {
    const char **key;
    size_t n;
};

/* One of the audits: what is the name's in it, and what is not. */
struct side {
    struct audit *audit;
    struct keys own, others;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has(const struct keys *keys, const char *key)
{
    return keys->n && bsearch(&key, keys->key, keys->n, sizeof(*keys->key), by_text);
}

static void add_key(struct keys *keys, const char *key, struct arena *arena)
{
    keys->key = arena_grow(arena, keys->key, keys->n, sizeof(*keys->key));
    keys->key[keys->n++] = key;
}

static struct side side_of(struct audit *audit, struct maintainer *whose)
{
    struct side side = {.audit = audit};
    struct keys *keys[] = {&side.own, &side.others};

    for (size_t i = 0; i < audit->n_packages; i++) {
        const struct audit_package *p = &audit->package[i];

        maintainer_see(whose, p->origin);
        add_key(keys[!maintainer_wants(whose, p->origin)], p->key, whose->arena);
    }
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (keys[i]->n > 1)
            qsort(keys[i]->key, keys[i]->n, sizeof(*keys[i]->key), by_text);
    return side;
}

/* Is it wanted for the sake of what the other audit says of its package? `of`: "a.out:bin/a>x" */
static bool other_tells(const struct side *side, const struct side *other, const char *of)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const char *key = arena_strndup(&scratch, of, strcspn(of, ":>"));

    return has(&other->own, key) && !has(&other->others, key) && !has(&side->own, key);
}

static void keep_list(const struct side *side, const struct side *other, const struct list *list,
                      const struct maintainer *whose)
{
    char **items = (void *)((char *)side->audit + list->items);
    size_t *n = (void *)((char *)side->audit + list->n), kept = 0;
    char *copy = arena_calloc(whose->arena, *n + 1, list->size);

    for (size_t i = 0; i < *n; i++) {
        const char *item = *items + i * list->size;
        const struct origin *const *origin = (const void *)(item + list->origin);
        const char *const *key = (const void *)(item + list->key);

        if (maintainer_wants(whose, *origin) || other_tells(side, other, *key))
            memcpy(copy + kept++ * list->size, item, list->size);
    }
    *items = copy;
    *n = kept;
}

static void keep(const struct side *side, const struct side *other, const struct maintainer *whose)
{
    side->audit->maintainer = whose->name;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        keep_list(side, other, &lists[i], whose);
}

void audit_keep_own(struct maintainer *whose, struct audit *audit, struct audit *other)
{
    struct side a, b = {0};

    if (!whose->name)
        return;
    a = side_of(audit, whose);
    if (other)
        b = side_of(other, whose);
    keep(&a, &b, whose);
    if (other)
        keep(&b, &a, whose);
    if (!maintainer_is_known(whose))
        audit->why_none = maintainer_none(whose);
    if (other)
        other->why_none = audit->why_none;
}
