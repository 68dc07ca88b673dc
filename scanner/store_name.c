#include "scanner/store_name.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

enum { HASH_LEN = 32 };

static bool is_hash(const char *text)
{
    for (size_t i = 0; i < HASH_LEN; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]))
            return false;
    return true;
}

/* Split off the hash: in front (Nix, Guix) or behind (Spack). */
static const char *split_hash(struct arena *arena, const char *base, const char **ret_hash)
{
    const char *dash = strrchr(base, '-');

    *ret_hash = NULL;
    if (strlen(base) > HASH_LEN + 1 && base[HASH_LEN] == '-' && is_hash(base)) {
        *ret_hash = arena_strndup(arena, base, HASH_LEN);
        return base + HASH_LEN + 1;
    }
    if (dash && dash != base && strlen(dash + 1) == HASH_LEN && is_hash(dash + 1)) {
        *ret_hash = dash + 1;
        return arena_strndup(arena, base, (size_t)(dash - base));
    }
    return base;
}

/* The dash before the version: the first one that no letter follows. */
static const char *version_dash(const char *name)
{
    for (const char *c = name; *c; c++)
        if (c != name && *c == '-' && c[1] && !isalpha((unsigned char)c[1]))
            return c;
    return NULL;
}

/* The dash before a well-known output that stands behind a version. */
static const char *output_dash(const char *name)
{
    static const char *const outputs[] = {
        "bin",  "data", "debug", "dev",    "devdoc",   "devman", "dist",   "doc",
        "info", "lib",  "man",   "static", "terminfo", "tools",  "python", "tex",
    };
    const char *dash = strrchr(name, '-'), *version = version_dash(name);
    const char *const *output;

    if (!dash || !version || dash <= version)
        return NULL;
    for_each (output, outputs)
        if (strcmp(dash + 1, *output) == 0)
            return dash;
    return NULL;
}

/* The output by the deriver's name: what the path's name has more. NULL: the names do not fit. */
static const char *output_by_deriver(const char *name, const char *deriver)
{
    const size_t len = strlen(deriver);
    size_t stem;

    if (len <= HASH_LEN + 1 + 4 || !is_hash(deriver) || !str_ends(deriver, ".drv"))
        return NULL;
    deriver += HASH_LEN + 1;
    stem = len - HASH_LEN - 1 - 4;
    if (strncmp(name, deriver, stem) != 0)
        return NULL;
    return name[stem] == '\0' || name[stem] == '-' ? name + stem : NULL;
}

void store_name_parse(struct arena *arena, const char *base, const char *deriver,
                      struct store_name *ret)
{
    const char *name = split_hash(arena, base, &ret->hash);
    const char *end = deriver ? output_by_deriver(name, deriver) : NULL;
    const char *dash;

    if (!end)
        end = output_dash(name);
    if (!end)
        end = name + strlen(name);
    ret->output = *end == '-' && end[1] ? end + 1 : "out";
    ret->name = arena_strndup(arena, name, (size_t)(end - name));
    dash = version_dash(ret->name);
    ret->pname = dash ? arena_strndup(arena, ret->name, (size_t)(dash - ret->name)) : ret->name;
    ret->version = dash ? dash + 1 : "";
}

const char *store_path_split(struct arena *arena, const char *store, const char *path,
                             const char **ret_below)
{
    const size_t len = strlen(store);
    char *out = arena_alloc(arena, strlen(path) + 2), *slash;
    size_t n = 0;

    if (path[0] != '/')
        return NULL;
    while (*path) {
        const size_t part = strcspn(path, "/");

        if (part == 2 && memcmp(path, "..", 2) == 0) {
            while (n && out[--n] != '/')
                continue;
        } else if (part && !(part == 1 && *path == '.')) {
            out[n++] = '/';
            memcpy(out + n, path, part);
            n += part;
        }
        path += part + (path[part] == '/');
    }
    out[n] = '\0';
    if (strncmp(out, store, len) != 0 || out[len] != '/')
        return NULL;
    out += len + 1;
    slash = strchr(out, '/');
    *ret_below = slash ? slash + 1 : "";
    if (slash)
        *slash = '\0';
    return out;
}

unsigned store_name_shard(const char *base, unsigned shards)
{
    CLEANUP(arena_release) struct arena a = {0};
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    const char *hash;

    (void)split_hash(&a, base, &hash);
    for (const char *c = hash ? hash : base; *c; c++)
        h = (h ^ (unsigned char)*c) * 0x100000001b3u;
    return (unsigned)((h ^ h >> 32) % shards) + 1;
}

bool store_name_is_entry(const char *base)
{
    return *base && !strchr(base, '/') && strcmp(base, ".") != 0 && strcmp(base, "..") != 0;
}

bool store_name_is_internal(const char *base)
{
    static const char *const tails[] = {".drv", ".lock", ".chroot", ".tmp"};
    const char *const *tail;

    if (base[0] == '.')
        return true;
    for_each (tail, tails)
        if (str_ends(base, *tail))
            return true;
    return false;
}
