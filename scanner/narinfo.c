#include "scanner/narinfo.h"

#include "base/str.h"
#include "scanner/nar_hash.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LEN = 211, HASH_LEN = 32, REFERENCES_MAX = 1 << 20, SIGNATURES_MAX = 64 };

struct reading {
    struct arena *arena;
    const char *store;
    struct narinfo info;
    struct err *err;
};

static int malformed(struct reading *r, const char *what)
{
    return err_set(r->err, EINVAL, "malformed narinfo: %s", what);
}

/* A name that a package of a store may have, with its hash. */
static bool is_store_name(const char *name)
{
    const size_t len = strlen(name);

    if (len < HASH_LEN + 2 || len > NAME_MAX_LEN || name[HASH_LEN] != '-')
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("+-._?=", *c))
            return false;
    for (size_t i = 0; i < HASH_LEN; i++)
        if (!strchr("0123456789abcdfghijklmnpqrsvwxyz", name[i]))
            return false;
    return true;
}

/* ---- one key */

static int read_path(struct reading *r, const char *value)
{
    const size_t len = strlen(r->store);

    if (strncmp(value, r->store, len) != 0 || value[len] != '/' || !is_store_name(value + len + 1))
        return malformed(r, "StorePath is no path of the store");
    r->info.base = arena_strdup(r->arena, value + len + 1);
    return 0;
}

/* Below the cache, and not above it on the way; or somewhere else by http. */
static int read_url(struct reading *r, const char *value)
{
    const bool absolute = value[strcspn(value, ":/")] == ':'; /* of any scheme */

    for (const char *c = value; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
            return malformed(r, "URL has characters that have to be escaped");
    if (absolute
            ? !str_starts(value, "http://") && !str_starts(value, "https://")
            : !*value || *value == '/' || strstr(arena_printf(r->arena, "/%s/", value), "/../"))
        return malformed(r, "URL leads out of the cache");
    r->info.url = arena_strdup(r->arena, value);
    return 0;
}

static int read_compression(struct reading *r, const char *value)
{
    r->info.compression = arena_strdup(r->arena, value);
    return 0;
}

static int read_number(struct reading *r, const char *value, uint64_t *ret, const char *what)
{
    char *end;

    errno = 0;
    *ret = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end || errno || *ret > INT64_MAX)
        return malformed(r, what);
    return 0;
}

static int read_file_size(struct reading *r, const char *value)
{
    return read_number(r, value, &r->info.file_size, "FileSize is no number");
}

static int read_nar_size(struct reading *r, const char *value)
{
    return read_number(r, value, &r->info.nar_size, "NarSize is no number");
}

static int read_nar_hash(struct reading *r, const char *value)
{
    r->info.nar_hash = nar_hash_text(r->arena, value);
    if (!r->info.nar_hash || strlen(r->info.nar_hash) != strlen("sha256:") + 64 ||
        !str_starts(r->info.nar_hash, "sha256:"))
        return malformed(r, "NarHash is no SHA-256");
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_references(struct reading *r, const char *value)
{
    struct narinfo *info = &r->info;

    while (*value) {
        const size_t len = strcspn(value, " ");
        const char *name = arena_strndup(r->arena, value, len);

        value += len + (value[len] == ' ');
        if (len == 0)
            continue;
        if (!is_store_name(name) || info->n_references == REFERENCES_MAX)
            return malformed(r, "References are no names of store paths");
        info->reference =
            arena_grow(r->arena, info->reference, info->n_references, sizeof(*info->reference));
        info->reference[info->n_references++] = name;
    }
    if (info->n_references)
        qsort(info->reference, info->n_references, sizeof(*info->reference), compare_names);
    return 0;
}

static int read_deriver(struct reading *r, const char *value)
{
    if (is_store_name(value) && str_ends(value, ".drv"))
        r->info.deriver = arena_strdup(r->arena, value);
    return 0; /* "unknown-deriver", and whatever else: not known */
}

static int read_signature(struct reading *r, const char *value)
{
    struct narinfo *info = &r->info;

    if (info->n_signatures == SIGNATURES_MAX)
        return malformed(r, "too many signatures");
    info->signature =
        arena_grow(r->arena, info->signature, info->n_signatures, sizeof(*info->signature));
    info->signature[info->n_signatures++] = arena_strdup(r->arena, value);
    return 0;
}

static const struct key {
    const char *name;
    bool again, must; /* it may stand there twice; it has to be there */
    int (*read)(struct reading *r, const char *value);
} keys[] = {
    {"StorePath", false, true, read_path},
    {"URL", false, true, read_url},
    {"Compression", false, false, read_compression},
    {"FileSize", false, false, read_file_size},
    {"NarHash", false, true, read_nar_hash},
    {"NarSize", false, true, read_nar_size},
    {"References", false, true, read_references},
    {"Deriver", false, false, read_deriver},
    {"Sig", true, false, read_signature},
};

/* ---- all of it */

static int read_line(struct reading *r, const char *line, unsigned *seen)
{
    const char *colon = strchr(line, ':'), *value;

    if (!colon)
        return malformed(r, "a line without a key");
    value = colon + 1 + (colon[1] == ' ');
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const size_t len = (size_t)(colon - line);

        if (strlen(keys[i].name) != len || memcmp(keys[i].name, line, len) != 0)
            continue;
        if (*seen & 1u << i && !keys[i].again)
            return malformed(r, "a key stands there twice");
        *seen |= 1u << i;
        return keys[i].read(r, value);
    }
    return 0;
}

int narinfo_read(const char *text, size_t len, const char *store, struct arena *arena,
                 struct narinfo *ret_info, struct err *err)
{
    struct reading r = {
        .arena = arena, .store = store, .err = err, .info = {.compression = "bzip2"}};
    unsigned seen = 0;
    int code = 0;

    if (len > NARINFO_MAX || memchr(text, '\0', len))
        return malformed(&r, "no text, or too much of it");
    while (len && code == 0) {
        const char *end = memchr(text, '\n', len);
        const size_t n = end ? (size_t)(end - text) : len;
        const char *line = arena_strndup(arena, text, n);

        if (n)
            code = read_line(&r, line, &seen);
        text += n + (end != NULL);
        len -= n + (end != NULL);
    }
    for (size_t i = 0; i < ARRAY_LEN(keys) && code == 0; i++)
        if (keys[i].must && !(seen & 1u << i))
            code = malformed(&r, arena_printf(arena, "%s is missing", keys[i].name));
    if (code == 0)
        *ret_info = r.info;
    return code;
}

/* ---- signatures */

/* "sha256:<base16>" in Nix's base 32: five bits a digit, the last ones first. */
static const char *base32(struct arena *arena, const char *hash)
{
    unsigned char bytes[32];
    char out[53];

    hash += strlen("sha256:");
    for (size_t i = 0; i < sizeof(bytes); i++) {
        const char pair[] = {hash[2 * i], hash[2 * i + 1], '\0'};

        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    for (size_t n = 0; n < sizeof(out) - 1; n++) {
        const size_t bit = (sizeof(out) - 2 - n) * 5, at = bit / 8, shift = bit % 8;
        unsigned two = bytes[at];

        if (at + 1 < sizeof(bytes))
            two |= (unsigned)bytes[at + 1] << 8;
        out[n] = "0123456789abcdfghijklmnpqrsvwxyz"[two >> shift & 31];
    }
    out[sizeof(out) - 1] = '\0';
    return arena_printf(arena, "sha256:%s", out);
}

bool narinfo_is_signed(const struct narinfo *info, const char *store, const struct public_key *key,
                       size_t n_keys)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct str message = {.arena = &a};

    str_printf(&message, "1;%s/%s;%s;%llu;", store, info->base, base32(&a, info->nar_hash),
               (unsigned long long)info->nar_size);
    for (size_t i = 0; i < info->n_references; i++)
        str_printf(&message, "%s%s/%s", i ? "," : "", store, info->reference[i]);
    for (size_t i = 0; i < info->n_signatures; i++)
        if (signature_is_good(info->signature[i], message.text, key, n_keys))
            return true;
    return false;
}
