#include "loader/shebang.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

int shebang_read(const char *bytes, size_t len, struct arena *arena, struct shebang *ret_shebang,
                 struct err *err)
{
    const size_t seen = len < SHEBANG_MAX ? len : SHEBANG_MAX;
    const char *at = bytes + 2, *end, *word;
    bool cut = false;

    if (len < 2 || memcmp(bytes, "#!", 2) != 0)
        return err_set(err, ENOEXEC, "not a script");
    end = memchr(bytes, '\n', seen);
    if (!end) {
        end = bytes + seen;
        cut = true;
    }
    while (end > at && is_blank(end[-1]) && !cut)
        end--;
    while (at < end && is_blank(*at))
        at++;
    word = at;
    while (at < end && !is_blank(*at) && *at)
        at++;
    if (at == word || (cut && at == end && len > seen))
        return err_set(err, ENOTSUP, "a script whose first line names no interpreter");
    ret_shebang->interpreter = arena_strndup(arena, word, (size_t)(at - word));
    while (at < end && is_blank(*at))
        at++;
    ret_shebang->arg =
        at < end && *at ? arena_strndup(arena, at, strnlen(at, (size_t)(end - at))) : NULL;
    return 0;
}

/* What follows one of sbang's marks at the start of a line; NULL: none stands there. */
static const char *behind_mark(const char *line)
{
    static const char *const marks[] = {"#!", "//!", "--!", "<?php #!"};
    const char *const *mark;

    for_each (mark, marks)
        if (str_starts(line, *mark))
            return line + strlen(*mark);
    return NULL;
}

int shebang_second(const char *bytes, size_t len, struct arena *arena, const char ***ret_word,
                   size_t *ret_n, struct err *err)
{
    const char **word = NULL, *text = NULL, *last_line = NULL, *at = bytes;
    size_t n = 0;

    for (int i = 0; i < 2 && at < bytes + len; i++) {
        const char *end = memchr(at, '\n', len - (size_t)(at - bytes));
        const size_t size = (size_t)((end ? end : bytes + len) - at);

        last_line = arena_strndup(arena, at, size);
        if (behind_mark(last_line))
            text = behind_mark(last_line);
        at += size + 1;
    }
    while (text && *text) {
        const size_t blanks = strspn(text, " \t\r"), size = strcspn(text + blanks, " \t\r");

        if (size && !str_starts(text + blanks, "?>")) {
            word = arena_grow(arena, word, n, sizeof(*word));
            word[n++] = arena_strndup(arena, text + blanks, size);
        }
        text += blanks + size;
    }
    if (n == 0 || (n > 1 && strcmp(str_base(word[1]), "sbang") == 0) ||
        strcmp(str_base(word[0]), "sbang") == 0)
        return err_set(err, ENOTSUP, "sbang finds no interpreter in its second line");
    *ret_word = word;
    *ret_n = n;
    return 0;
}
