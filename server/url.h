/*
 * URLs: percent escapes, queries, and opaque cursors. Nothing here trusts its input.
 */
#pragma once

#include "base/arena.h"

enum { URL_ARGUMENTS_MAX = 64 };

/* One NAME=VALUE of a query, unescaped. */
struct argument {
    const char *name, *value;
};

/*
 * Undo percent escapes; `plus`: a plus is a space (in queries). NULL: an escape is broken, or
 * stands for a zero byte.
 */
char *url_unescape(struct arena *arena, const char *text, size_t len, bool plus);

/* `text` so that it can stand as one segment of a path or as a value. */
const char *url_escape(struct arena *arena, const char *text);

/* Take a query apart. -EINVAL: an escape is broken, or there are too many arguments. */
MUST_CHECK int url_query(struct arena *arena, const char *query, struct argument **ret_argument,
                         size_t *ret_n, struct err *err);

/* Bytes as letters, digits, '-' and '_' (base64url without padding), and back (NULL: it is none).
 * What comes back is a text: without zero bytes. */
char *url_pack(struct arena *arena, const char *text);
char *url_unpack(struct arena *arena, const char *packed);

/* Compare a secret with what somebody sent, in a time that tells nothing about where they differ.
 */
bool secret_equal(const char *secret, const char *sent);
