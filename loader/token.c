#include "loader/token.h"

#include "base/str.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

/* The tokens by name, with the member of struct tokens that holds the value. */
static const struct token {
    const char *name;
    size_t value; /* offset in struct tokens */
} table[] = {
    {"ORIGIN", offsetof(struct tokens, origin)},
    {"PLATFORM", offsetof(struct tokens, platform)},
    {"LIB", offsetof(struct tokens, lib)},
};

/* The token that starts at `text` (which points to '$') and its length there; NULL: literal. */
static const struct token *token_at(const char *text, size_t *ret_len)
{
    const bool curly = text[1] == '{';
    const char *name = text + 1 + curly;
    const struct token *token;

    for_each (token, table) {
        const size_t len = strlen(token->name);

        if (strncmp(name, token->name, len) != 0)
            continue;
        if (curly ? name[len] != '}' : isalnum((unsigned char)name[len]) || name[len] == '_')
            continue;
        *ret_len = 1 + len + (curly ? 2 : 0);
        return token;
    }
    return NULL;
}

bool token_present(const char *text)
{
    size_t len;

    for (text = strchr(text, '$'); text; text = strchr(text + 1, '$'))
        if (token_at(text, &len))
            return true;
    return false;
}

const char *token_expand(struct arena *arena, const char *text, const struct tokens *tokens)
{
    struct str out = {.arena = arena};
    const char *dollar = text;

    if (!token_present(text))
        return text;
    str_add(&out, "");
    while ((dollar = strchr(text, '$'))) {
        size_t len = 1;
        const struct token *token = token_at(dollar, &len);
        const char *value = "$";

        str_add_n(&out, text, (size_t)(dollar - text));
        if (token)
            memcpy(&value, (const char *)tokens + token->value, sizeof(value));
        if (!value)
            return NULL;
        if (out.len <= PATH_MAX) /* else no system call takes it, whatever else is in it */
            str_add(&out, value);
        text = dollar + len;
    }
    str_add(&out, text);
    return out.len ? out.text : NULL;
}

bool token_origin_is_secure(const char *text)
{
    for (const char *dollar = strchr(text, '$'); dollar; dollar = strchr(dollar + 1, '$')) {
        size_t len;
        const struct token *token = token_at(dollar, &len);

        if (token != &table[0])
            continue;
        if (dollar != text || (dollar[len] != '\0' && dollar[len] != '/'))
            return false;
    }
    return true;
}
