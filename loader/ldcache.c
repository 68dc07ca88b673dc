#include "loader/internal.h"

#include <endian.h>
#include <string.h>

/*
 * The cache file, "new" format, alone or behind the old one:
 *
 *	header  magic "glibc-ld.so.cache" "1.1", nlibs, len_strings, flags, extension offset
 *	entry[] flags, key offset, value offset, osversion, hwcap (64 bit)
 *	strings offsets count from the header
 *	extension: magic, count, sections; section tag 1: offsets of glibc-hwcaps names
 *
 * All of it is untrusted: every offset is checked. Behind `len` bytes there is a zero.
 */

#define NEW_MAGIC "glibc-ld.so.cache1.1"
#define OLD_MAGIC "ld.so-1.7.0"

enum {
    HEADER_SIZE = 48,
    ENTRY_SIZE = 24,
    OLD_HEADER_SIZE = 16,
    OLD_ENTRY_SIZE = 12,
    EXTENSION_TAG_HWCAPS = 1,
    V_COUNT_CHECKED = 32, /* before, entries that a short file lacks are read as zeros */
    V_HWCAPS = 33,
    V_PLAIN_ONLY = 40,
};
#define EXTENSION_MAGIC 0xeaa42174u
#define HWCAPS_BIT      (UINT64_C(1) << 62)

struct ldcache {
    const char *bytes; /* of the new format */
    size_t len;
    bool big_endian, signed_char;
    uint32_t n_entries;
    const char **hwcaps;
    uint32_t n_hwcaps;
};

static uint32_t word(const struct ldcache *c, size_t at)
{
    uint32_t value = 0;

    if (at <= c->len && c->len - at >= sizeof(value))
        memcpy(&value, c->bytes + at, sizeof(value));
    return c->big_endian ? be32toh(value) : le32toh(value);
}

static uint64_t long_word(const struct ldcache *c, size_t at)
{
    const uint64_t first = word(c, at), second = word(c, at + 4);

    return c->big_endian ? first << 32 | second : second << 32 | first;
}

/*
 * The string at an offset, or NULL when that is outside. One that the file cuts off ends there:
 * the loader maps whole pages, and so finds the zeros that fill the last one.
 */
static const char *string_at(const struct ldcache *c, uint32_t at)
{
    return at < c->len ? c->bytes + at : NULL;
}

static void read_hwcaps(struct arena *arena, struct ldcache *c)
{
    const uint32_t at = word(c, 32), sections = word(c, (size_t)at + 4);

    if (at == 0 || word(c, at) != EXTENSION_MAGIC)
        return;
    for (uint32_t i = 0; i < sections && i < 64; i++) {
        const size_t section = (size_t)at + 8 + (size_t)i * 16;
        const uint32_t offset = word(c, section + 8), size = word(c, section + 12);

        if (word(c, section) != EXTENSION_TAG_HWCAPS || offset > c->len || size > c->len - offset)
            continue;
        c->n_hwcaps = size / 4;
        c->hwcaps = arena_calloc(arena, c->n_hwcaps, sizeof(*c->hwcaps));
        for (uint32_t k = 0; k < c->n_hwcaps; k++)
            c->hwcaps[k] = string_at(c, word(c, (size_t)offset + (size_t)k * 4));
        return;
    }
}

struct ldcache *ldcache_parse(struct arena *arena, const struct profile *profile, const char *bytes,
                              size_t len)
{
    struct ldcache *c = arena_alloc(arena, sizeof(*c));
    const unsigned little = profile->data == ELFDATA2LSB ? 2 : 3;
    unsigned flags;

    *c = (struct ldcache){.bytes = bytes,
                          .len = len,
                          .big_endian = profile->data == ELFDATA2MSB,
                          .signed_char = profile->signed_char};
    if (len > OLD_HEADER_SIZE && memcmp(bytes, OLD_MAGIC, strlen(OLD_MAGIC)) == 0) {
        const uint64_t skip =
            (OLD_HEADER_SIZE + (uint64_t)word(c, 12) * OLD_ENTRY_SIZE + 7) & ~UINT64_C(7);

        if (skip >= len)
            return NULL;
        c->bytes += skip;
        c->len -= skip;
    }
    if (c->len <= HEADER_SIZE || memcmp(c->bytes, NEW_MAGIC, strlen(NEW_MAGIC)) != 0)
        return NULL;
    c->n_entries = word(c, 20);
    if (profile->version >= V_COUNT_CHECKED && (c->len - HEADER_SIZE) / ENTRY_SIZE < c->n_entries)
        return NULL;
    flags = (unsigned char)c->bytes[28] & 3;
    if (profile->version >= V_HWCAPS && flags != 0 && flags != little)
        return NULL;
    read_hwcaps(arena, c);
    return c;
}

/* The number at *text, which is moved behind it; wraps like the loader's. */
static uint32_t number(const char **text)
{
    uint32_t value = 0;

    while (**text >= '0' && **text <= '9')
        value = value * 10 + (uint32_t)(*(*text)++ - '0');
    return value;
}

static int byte(const struct ldcache *c, char value)
{
    return c->signed_char ? (signed char)value : (unsigned char)value;
}

/*
 * The order of the file, largest first: runs of digits compare as numbers ("libn.so.01" equals
 * "libn.so.1"), a digit comes after anything else, other bytes are signed as the loader's are.
 */
static int compare_keys(const struct ldcache *c, const char *a, const char *b)
{
    while (*a) {
        const bool digit_a = *a >= '0' && *a <= '9', digit_b = *b >= '0' && *b <= '9';

        if (digit_a && digit_b) {
            const uint32_t x = number(&a), y = number(&b);

            if (x != y)
                return (int32_t)(x - y);
        } else if (digit_a || digit_b) {
            return digit_a ? 1 : -1;
        } else if (*a != *b) {
            return byte(c, *a) - byte(c, *b);
        } else {
            a++;
            b++;
        }
    }
    return byte(c, *a) - byte(c, *b);
}

static const char *key_of(const struct ldcache *c, uint32_t entry)
{
    return string_at(c, word(c, HEADER_SIZE + (size_t)entry * ENTRY_SIZE + 4));
}

/*
 * The loader's binary search: the range of entries whose key equals `name`. It matters when keys
 * are not in order, or a key is broken: then the search ends, or takes another path.
 */
static bool find_range(const struct ldcache *c, const char *name, uint32_t *ret_from,
                       uint32_t *ret_to)
{
    int64_t left = 0, right = (int64_t)c->n_entries - 1;

    while (left <= right) {
        const int64_t middle = (left + right) / 2;
        const char *key = key_of(c, (uint32_t)middle);
        int64_t from = middle, to = middle;
        int order;

        if (!key)
            return false;
        order = compare_keys(c, name, key);
        if (order != 0) {
            left = order < 0 ? middle + 1 : left;
            right = order < 0 ? right : middle - 1;
            continue;
        }
        while (from > 0 && (key = key_of(c, (uint32_t)from - 1)) && !compare_keys(c, name, key))
            from--;
        while (to < right && (key = key_of(c, (uint32_t)to + 1)) && !compare_keys(c, name, key))
            to++;
        *ret_from = (uint32_t)from;
        *ret_to = (uint32_t)to;
        return true;
    }
    return false;
}

/* The rank of a glibc-hwcaps name in CAPS; SIZE_MAX: not active. */
static size_t level_rank(const struct profile *profile, const char *level)
{
    for (size_t i = 0; level && i < profile->n_levels; i++) {
        const char *cap = profile->caps[i] + strlen("glibc-hwcaps/");

        if (strncmp(cap, level, strlen(level)) == 0 && strcmp(cap + strlen(level), "/") == 0)
            return i;
    }
    return SIZE_MAX;
}

static bool kind_matches(const struct profile *profile, uint32_t flags)
{
    return flags == profile->cache_flags || flags == profile->cache_flags_old;
}

/*
 * Among the entries of a name those with a glibc-hwcaps level stand first; the best of them wins.
 * The first plain entry ends the search, whatever follows.
 */
const char *ldcache_find(const struct ldcache *cache, const struct profile *profile,
                         const char *name)
{
    const uint64_t usable = profile->version >= V_PLAIN_ONLY ? 0 : profile->cache_hwcaps;
    const char *best = NULL;
    size_t best_rank = SIZE_MAX;
    uint32_t from, to;

    if (!find_range(cache, name, &from, &to))
        return NULL;
    for (uint32_t i = from; i <= to; i++) {
        const size_t at = HEADER_SIZE + (size_t)i * ENTRY_SIZE;
        const char *value = string_at(cache, word(cache, at + 8));
        const uint64_t hwcap = long_word(cache, at + 16);

        if (!value || !kind_matches(profile, word(cache, at)))
            continue;
        if (profile->version >= V_HWCAPS && hwcap & HWCAPS_BIT) {
            const uint32_t index = (uint32_t)hwcap;
            const size_t rank =
                index < cache->n_hwcaps ? level_rank(profile, cache->hwcaps[index]) : SIZE_MAX;

            if (rank < best_rank) {
                best_rank = rank;
                best = value;
            }
            continue;
        }
        if (best)
            return best;
        if (!(hwcap & ~usable))
            return value;
    }
    return best;
}
