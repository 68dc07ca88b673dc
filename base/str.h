/*
 * Strings: joining paths, and the one way bytes become printable.
 *
 * Store names, sonames and run paths are bytes, not text. Wherever they are shown (terminal, JSON,
 * SQL views) a byte that is not part of printable UTF-8, and the backslash itself, is written
 * `\xNN`; str_unescape() reads that form back.
 */
#pragma once

#include "base/arena.h"

/* `text` with everything unprintable written as `\xNN`; the input itself when it needs nothing. */
const char *str_escape(struct arena *arena, const char *text);
const char *str_escape_n(struct arena *arena, const char *bytes, size_t len);

/*
 * A sentence for people, which may hold escaped names already: its backslashes stay. What it says may
 * come from others (a plan's reasons, an error with a file's name), and a terminal obeys what it reads.
 */
const char *str_sentence(struct arena *arena, const char *text);

/* The bytes that str_escape() was given. Anything that is not `\xNN` stays as it is. */
char *str_unescape(struct arena *arena, const char *text);

/* The same for HTML and XML, in text and in quoted attributes: escaped, then `<`, `>`, `&` and quotes
 * as entities. */
const char *str_markup(struct arena *arena, const char *text);

/* "dir/name" with exactly one slash between; `name` alone when it is absolute or dir is "". */
char *str_join(struct arena *arena, const char *dir, const char *name);

/* Lexically: "." and ".." resolved, single slashes, one at the end. For absolute paths. */
char *str_normal(struct arena *arena, const char *path);

bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);

/* The word that goes with a number: `one` for 1, else `many`. */
const char *str_count(size_t n, const char *one, const char *many);

/* True when both are NULL or both are equal strings. */
bool str_same(const char *a, const char *b);

/* What follows the last slash; the whole text when there is none. Points into `path`. */
const char *str_base(const char *path);

/* "2026-11-30T12:00:00Z" of seconds since 1970; "": no year has that. */
const char *str_time(struct arena *arena, int64_t at);

/* A string that grows. `text` is always ended and never NULL after the first append. */
struct str {
    struct arena *arena;
    char *text;
    size_t len, size;
};

void str_add(struct str *str, const char *text);
void str_add_n(struct str *str, const char *bytes, size_t len);
/* Text that is printable already, with entities as str_markup() writes them. */
void str_add_markup(struct str *str, const char *text);
void str_printf(struct str *str, const char *fmt, ...) PRINTF(2, 3);
