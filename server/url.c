#include "server/url.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *url_unescape(struct arena *arena, const char *text, size_t len, bool plus)
{
    char *out = arena_alloc(arena, len + 1), *to = out;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c == '%') {
            const int a = len - i > 2 ? hex(text[i + 1]) : -1, b = a < 0 ? -1 : hex(text[i + 2]);

            if (b < 0 || (a == 0 && b == 0))
                return NULL;
            c = (char)(a << 4 | b);
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        } else if (!c) {
            return NULL;
        }
        *to++ = c;
    }
    *to = '\0';
    return out;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~", c));
}

const char *url_escape(struct arena *arena, const char *text)
{
    struct str out = {.arena = arena};

    str_add(&out, "");
    for (; *text; text++)
        if (is_plain(*text))
            str_add_n(&out, text, 1);
        else
            str_printf(&out, "%%%02X", (unsigned)(unsigned char)*text);
    return out.text;
}

int url_query(struct arena *arena, const char *query, struct argument **ret_argument, size_t *ret_n,
              struct err *err)
{
    struct argument *argument = NULL;
    size_t n = 0;

    while (*query) {
        const size_t len = strcspn(query, "&"), name = strcspn(query, "=&");
        struct argument a;

        if (len) {
            if (n == URL_ARGUMENTS_MAX)
                return err_set(err, EINVAL, "more than %d parameters", (int)URL_ARGUMENTS_MAX);
            a.name = url_unescape(arena, query, name, true);
            a.value = name < len ? url_unescape(arena, query + name + 1, len - name - 1, true) : "";
            if (!a.name || !a.value)
                return err_set(err, EINVAL, "the query holds a broken percent escape");
            argument = arena_grow(arena, argument, n, sizeof(*argument));
            argument[n++] = a;
        }
        query += len + (query[len] == '&');
    }
    *ret_argument = argument;
    *ret_n = n;
    return 0;
}

/* ---- cursors */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char *url_pack(struct arena *arena, const char *text)
{
    const size_t len = strlen(text);
    char *out = arena_alloc(arena, len / 3 * 4 + 5), *to = out;

    for (size_t i = 0; i < len; i += 3) {
        const size_t n = len - i < 3 ? len - i : 3;
        uint32_t bits = 0;

        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? (unsigned char)text[i + k] : 0);
        for (size_t k = 0; k <= n; k++)
            *to++ = letters[bits >> (18 - 6 * k) & 63];
    }
    *to = '\0';
    return out;
}

char *url_unpack(struct arena *arena, const char *packed)
{
    const size_t len = strlen(packed);
    char *out = arena_alloc(arena, len / 4 * 3 + 4), *to = out;
    uint32_t bits = 0;
    unsigned n = 0;

    if (len % 4 == 1)
        return NULL;
    for (; *packed; packed++) {
        const char *letter = strchr(letters, *packed);

        if (!letter)
            return NULL;
        bits = bits << 6 | (uint32_t)(letter - letters);
        n += 6;
        if (n >= 8) {
            n -= 8;
            *to = (char)(bits >> n & 255);
            if (!*to++)
                return NULL;
        }
    }
    *to = '\0';
    return out;
}

/* ---- secrets */

bool secret_equal(const char *secret, const char *sent)
{
    const size_t len = strlen(secret), n = strlen(sent);
    volatile unsigned char different = len != n;

    /* as many steps as were sent, whatever the secret's length */
    for (size_t i = 0; i < n; i++)
        different = (unsigned char)(different | ((unsigned char)sent[i] ^
                                                 (unsigned char)(len ? secret[i % len] : 0)));
    return !different && len > 0;
}
