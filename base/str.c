#include "base/str.h"

#include <string.h>
#include <time.h>

/*
 * Is the whole character at `s` one that nobody sees, and that makes others be seen differently: of
 * no width, turning the direction of a line (a name could end in another extension than it seems
 * to), ending it; or none that XML has (U+FFFE, U+FFFF)?
 */
static bool is_unseen(const unsigned char *s)
{
    static const struct {
        unsigned char first, second, from, to; /* of the last byte */
    } rows[] = {
        {0xe2, 0x80, 0x8b, 0x8f}, /* U+200B to U+200F */
        {0xe2, 0x80, 0xa8, 0xae}, /* U+2028 to U+202E */
        {0xe2, 0x81, 0xa0, 0xaf}, /* U+2060 to U+206F */
        {0xef, 0xbb, 0xbf, 0xbf}, /* U+FEFF */
        {0xef, 0xbf, 0xbe, 0xbf},
    };

    if (s[0] == 0xd8)
        return s[1] == 0x9c; /* U+061C */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (s[0] == rows[i].first && s[1] == rows[i].second && s[2] >= rows[i].from &&
            s[2] <= rows[i].to)
            return true;
    return false;
}

/*
 * Length of the printable UTF-8 character at `s` (at most `left` bytes), 0 when there is none:
 * control characters, the backslash, overlong forms, surrogates, C1 controls, broken sequences, and
 * what nobody sees.
 */
static size_t printable(const unsigned char *s, size_t left)
{
    static const struct lead {
        unsigned char from, to, len, second_min, second_max;
    } leads[] = {
        {0xc2, 0xc2, 2, 0xa0, 0xbf}, {0xc3, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
        {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
        {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
    };
    const struct lead *lead;

    if (*s >= 0x20 && *s < 0x7f)
        return *s != '\\';
    for_each (lead, leads) {
        if (*s < lead->from || *s > lead->to)
            continue;
        if (left < lead->len || s[1] < lead->second_min || s[1] > lead->second_max)
            return 0;
        for (size_t i = 2; i < lead->len; i++)
            if ((s[i] & 0xc0) != 0x80)
                return 0;
        return is_unseen(s) ? 0 : lead->len;
    }
    return 0;
}

/* The same; in a sentence the backslash is one, too. */
static size_t shown(const unsigned char *s, size_t left, bool sentence)
{
    return sentence && *s == '\\' ? 1 : printable(s, left);
}

/* How many bytes longer `bytes` become when they are escaped. */
static size_t escapes(const char *bytes, size_t len, bool sentence)
{
    const unsigned char *s = (const unsigned char *)bytes;
    size_t extra = 0;

    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        n = shown(s + i, len - i, sentence);
        extra += n ? 0 : 3;
    }
    return extra;
}

static const char *escape(struct arena *arena, const char *bytes, size_t len, bool sentence)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *s = (const unsigned char *)bytes;
    const size_t extra = escapes(bytes, len, sentence);
    char *out, *to;

    to = out = arena_alloc(arena, len + extra + 1);
    for (size_t i = 0; i < len;) {
        const size_t n = shown(s + i, len - i, sentence);

        if (n == 0) {
            *to++ = '\\';
            *to++ = 'x';
            *to++ = hex[s[i] >> 4];
            *to++ = hex[s[i] & 15];
            i++;
        } else {
            memcpy(to, s + i, n);
            to += n;
            i += n;
        }
    }
    return out;
}

/* Always a copy: whether a zero byte follows cannot be asked of bytes that may end there. */
const char *str_escape_n(struct arena *arena, const char *bytes, size_t len)
{
    return escape(arena, bytes, len, false);
}

const char *str_escape(struct arena *arena, const char *text)
{
    const size_t len = strlen(text);

    return escapes(text, len, false) ? escape(arena, text, len, false) : text;
}

const char *str_sentence(struct arena *arena, const char *text)
{
    const size_t len = strlen(text);

    return escapes(text, len, true) ? escape(arena, text, len, true) : text;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

char *str_unescape(struct arena *arena, const char *text)
{
    char *out = arena_strdup(arena, text), *to = out;

    while (*text) {
        if (text[0] == '\\' && text[1] == 'x' && hex_value(text[2]) >= 0 &&
            hex_value(text[3]) >= 0) {
            *to++ = (char)(hex_value(text[2]) * 16 + hex_value(text[3]));
            text += 4;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
    return out;
}

const char *str_time(struct arena *arena, int64_t at)
{
    const time_t t = (time_t)at;
    char text[40] = "";
    struct tm tm;

    if (gmtime_r(&t, &tm))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    return arena_strdup(arena, text);
}

char *str_join(struct arena *arena, const char *dir, const char *name)
{
    const size_t len = strlen(dir), name_len = strlen(name);
    char *path, *to;

    if (*name == '/' || len == 0)
        return arena_memdup(arena, name, name_len + 1);
    to = path = arena_alloc(arena, len + 1 + name_len + 1);
    to = mempcpy(to, dir, len);
    if (to[-1] != '/')
        *to++ = '/';
    memcpy(to, name, name_len);
    return path;
}

const char *str_count(size_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

char *str_normal(struct arena *arena, const char *path)
{
    struct str out = {.arena = arena};

    str_add(&out, "/");
    while (*path) {
        const size_t slashes = strspn(path, "/"), len = strcspn(path + slashes, "/");
        const char *part = path + slashes;

        path = part + len;
        if (len == 0 || (len == 1 && *part == '.'))
            continue;
        if (len == 2 && part[0] == '.' && part[1] == '.') {
            if (out.len > 1)
                out.len--;
            while (out.len > 1 && out.text[out.len - 1] != '/')
                out.len--;
            out.text[out.len] = '\0';
            continue;
        }
        str_add_n(&out, part, len);
        str_add(&out, "/");
    }
    return out.text;
}

bool str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *suffix)
{
    const size_t len = strlen(text), tail = strlen(suffix);

    return len >= tail && strcmp(text + len - tail, suffix) == 0;
}

bool str_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

const char *str_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

void str_add_n(struct str *str, const char *bytes, size_t len)
{
    if (!str->text || str->size - str->len <= len) {
        char *larger;

        str->size = (str->size ? str->size * 2 : 128) + len;
        larger = arena_alloc(str->arena, str->size);
        if (str->text)
            memcpy(larger, str->text, str->len);
        str->text = larger;
    }
    if (len)
        memcpy(str->text + str->len, bytes, len);
    str->len += len;
    str->text[str->len] = '\0';
}

void str_add(struct str *str, const char *text)
{
    str_add_n(str, text, strlen(text));
}

void str_printf(struct str *str, const char *fmt, ...)
{
    va_list ap;
    char *text;

    va_start(ap, fmt);
    text = arena_vprintf(str->arena, fmt, ap);
    va_end(ap);
    str_add(str, text);
}

/* ---- markup */

void str_add_markup(struct str *str, const char *text)
{
    static const struct {
        char c;
        const char *entity;
    } rows[] = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"},
    };

    str_add_n(str, "", 0);
    while (*text) {
        const size_t plain = strcspn(text, "&<>\"'");

        str_add_n(str, text, plain);
        text += plain;
        for (size_t i = 0; i < ARRAY_LEN(rows) && *text; i++)
            if (rows[i].c == *text) {
                str_add(str, rows[i].entity);
                text++;
                break;
            }
    }
}

const char *str_markup(struct arena *arena, const char *text)
{
    struct str out = {.arena = arena};

    str_add_markup(&out, str_escape(arena, text));
    return out.text;
}
