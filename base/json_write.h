/*
 * JSON as text that grows while it is told, for what is too much to be built as values first.
 *
 *	struct json_writer w = {.indented = false};
 *	json_write_begin(&w, NULL, '{');
 *	json_write_text(&w, "path", path);
 *	json_write_begin(&w, "calls", '[');
 *	json_write_int(&w, NULL, 1);
 *	json_write_end(&w);
 *	json_write_end(&w);
 *	... w.text, w.len; free(w.text)
 *
 * Byte for byte what json_print() writes of the same values. `key` is printable, NULL in arrays and
 * at the top. Out of memory ends the process.
 */
#pragma once

#include "base/json.h"

enum { JSON_WRITE_DEPTH = 2100 }; /* containers in containers; what jansson reads is not so deep */

struct json_writer {
    bool indented; /* for people's terminals */

    char *text; /* malloc()ed, not ended; the caller's */
    size_t len, size;

    /* private */
    unsigned depth;
    char close[JSON_WRITE_DEPTH]; /* what ends each open container */
    bool filled;                  /* the innermost one has something in it */
};

/* `open` is '{' or '['. What follows, up to its end, is in it. */
void json_write_begin(struct json_writer *w, const char *key, char open);
void json_write_end(struct json_writer *w);

/* Bytes that are not printable UTF-8 come out as json_text() has them; null for NULL. */
void json_write_text(struct json_writer *w, const char *key, const char *text);
void json_write_int(struct json_writer *w, const char *key, int64_t value);

/* A value built elsewhere; its reference is stolen. */
void json_write_value(struct json_writer *w, const char *key, json_t *value);

/* The line end that all our documents have, to the text; then all of it to a file. */
void json_write_finish(struct json_writer *w);
MUST_CHECK int json_write_print(struct json_writer *w, FILE *to, struct err *err);
