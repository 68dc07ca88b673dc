#include "scanner/nar_hash.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

enum { BYTES = 32, BASE16 = 64, BASE32 = 52, BASE64 = 44 };

static const char digits32[] = "0123456789abcdfghijklmnpqrsvwxyz";
static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int digit(const char *digits, char c)
{
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

static bool from16(const char *text, uint8_t *to)
{
    for (size_t i = 0; i < BASE16; i++)
        if (!isxdigit((unsigned char)text[i]))
            return false;
    for (size_t i = 0; i < BYTES; i++) {
        const char pair[] = {(char)tolower(text[2 * i]), (char)tolower(text[2 * i + 1]), '\0'};
        const char *hex = "0123456789abcdef";

        to[i] = (uint8_t)(digit(hex, pair[0]) << 4 | digit(hex, pair[1]));
    }
    return true;
}

/* Nix's own: five bits a digit, the last ones first. */
static bool from32(const char *text, uint8_t *to)
{
    memset(to, 0, BYTES);
    for (size_t n = 0; n < BASE32; n++) {
        const int d = digit(digits32, text[BASE32 - 1 - n]);
        const size_t bit = n * 5, byte = bit / 8, shift = bit % 8;

        if (d < 0)
            return false;
        to[byte] = (uint8_t)(to[byte] | d << shift);
        if (byte + 1 < BYTES)
            to[byte + 1] = (uint8_t)(to[byte + 1] | d >> (8 - shift));
        else if (d >> (8 - shift))
            return false;
    }
    return true;
}

static bool from64(const char *text, uint8_t *to)
{
    uint32_t bits = 0;
    size_t n = 0;

    for (size_t i = 0; i < BASE64 - 1; i++) {
        const int d = digit(digits64, text[i]);

        if (d < 0)
            return false;
        bits = bits << 6 | (uint32_t)d;
        if (i % 4 == 3 || i == BASE64 - 2)
            for (size_t k = 0; k < (i % 4 == 3 ? 3u : 2u) && n < BYTES; k++)
                to[n++] = (uint8_t)(bits >> (i % 4 == 3 ? 16 - 8 * k : 10 - 8 * k));
    }
    return text[BASE64 - 1] == '=';
}

const char *nar_hash_text(struct arena *arena, const char *text)
{
    const char *digits = text;
    uint8_t bytes[BYTES];
    char *out;
    size_t len;
    bool known;

    if (!text || !*text)
        return NULL;
    if (str_starts(text, "sha256:") || str_starts(text, "sha256-"))
        digits += strlen("sha256:");
    len = strlen(digits);
    known = (len == BASE16 && from16(digits, bytes)) || (len == BASE32 && from32(digits, bytes)) ||
            (len == BASE64 && from64(digits, bytes));
    if (!known)
        return arena_strdup(arena, text);
    out = arena_alloc(arena, strlen("sha256:") + BASE16 + 1);
    memcpy(out, "sha256:", strlen("sha256:"));
    for (size_t i = 0; i < BYTES; i++) {
        out[7 + 2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        out[8 + 2 * i] = "0123456789abcdef"[bytes[i] & 15];
    }
    return out;
}
