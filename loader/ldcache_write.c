#include "loader/ldcache_write.h"

#include "base/str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 48, ENTRY = 24, MAX_LEVELS = 32 };
static const uint64_t has_level = UINT64_C(1) << 62;

/* Runs of digits compare as numbers; the file is sorted with the largest first. */
static int compare_names(const char *a, const char *b)
{
    while (*a) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *a_end, *b_end;
            const unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);

            if (x != y)
                return x < y ? -1 : 1;
            a = a_end;
            b = b_end;
        } else if (isdigit((unsigned char)*a)) {
            return 1;
        } else if (isdigit((unsigned char)*b)) {
            return -1;
        } else if (*a != *b) {
            return *a < *b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *b ? -1 : 0;
}

static int by_name(const void *a, const void *b)
{
    const struct cache_entry *x = a, *y = b;

    return compare_names(y->key, x->key);
}

static void add_word(struct str *to, uint64_t value, size_t n)
{
    char bytes[8];

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(value >> (8 * i));
    str_add_n(to, bytes, n);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The distinct level names, sorted: loaders merge them with their own sorted list. */
static size_t collect_levels(const struct cache_entry *entry, size_t n, const char **ret_level)
{
    size_t n_levels = 0;

    for (size_t i = 0; i < n; i++) {
        bool known = entry[i].level == NULL;

        for (size_t j = 0; j < n_levels; j++)
            known |= entry[i].level && !strcmp(ret_level[j], entry[i].level);
        if (known)
            continue;
        if (n_levels == MAX_LEVELS)
            abort();
        ret_level[n_levels++] = entry[i].level;
    }
    qsort(ret_level, n_levels, sizeof(*ret_level), by_text);
    return n_levels;
}

static uint64_t level_hwcap(const char *const *level, const char *name)
{
    uint64_t i = 0;

    while (strcmp(level[i], name) != 0)
        i++;
    return has_level | i;
}

/*
 *	header | entries | strings | [extension: magic, 1 section, array of level name offsets]
 * Offsets count from the start of the file.
 */
void ldcache_write(struct arena *arena, const struct cache_entry *entry, size_t n, bool as_given,
                   const char **ret_bytes, size_t *ret_size)
{
    struct cache_entry *sorted = arena_memdup(arena, entry, n * sizeof(*entry));
    struct str file = {.arena = arena}, text = {.arena = arena};
    const char *level[MAX_LEVELS] = {NULL};
    const size_t strings = HEADER + n * ENTRY;
    uint32_t text_len;
    size_t n_levels, pad, level_at[MAX_LEVELS];

    if (!as_given && n)
        qsort(sorted, n, sizeof(*sorted), by_name);
    n_levels = collect_levels(entry, n, level);
    for (size_t i = 0; i < n; i++)
        if (sorted[i].level)
            sorted[i].hwcap = level_hwcap(level, sorted[i].level);
    for (size_t i = 0; i < n_levels; i++) {
        level_at[i] = strings + text.len;
        str_add_n(&text, level[i], strlen(level[i]) + 1);
    }
    str_add(&file, "glibc-ld.so.cache1.1");
    add_word(&file, n, 4);
    for (size_t i = 0; i < 6; i++) /* string bytes, flags, extension: known at the end */
        add_word(&file, 0, 4);
    for (size_t i = 0; i < n; i++) {
        add_word(&file, (uint32_t)sorted[i].flags, 4);
        add_word(&file, strings + text.len, 4);
        str_add_n(&text, sorted[i].key, strlen(sorted[i].key) + 1);
        add_word(&file, strings + text.len, 4);
        str_add_n(&text, sorted[i].value, strlen(sorted[i].value) + 1);
        add_word(&file, 0, 4);
        add_word(&file, sorted[i].hwcap, 8);
    }
    str_add_n(&file, text.len ? text.text : "", text.len);
    pad = file.len % 4 ? 4 - file.len % 4 : 0;
    if (n_levels) {
        const uint32_t extension = (uint32_t)(file.len + pad);

        str_add_n(&file, "\0\0\0", pad);
        memcpy(file.text + 32, &extension, 4);
        add_word(&file, 0xeaa42174u, 4), add_word(&file, 1, 4);
        add_word(&file, 1, 4), add_word(&file, 0, 4);
        add_word(&file, extension + 8 + 16, 4), add_word(&file, n_levels * 4, 4);
        for (size_t i = 0; i < n_levels; i++)
            add_word(&file, level_at[i], 4);
    }
    text_len = (uint32_t)text.len;
    memcpy(file.text + 24, &text_len, 4);
    file.text[28] = 2; /* little endian */
    *ret_bytes = file.text;
    *ret_size = file.len;
}
