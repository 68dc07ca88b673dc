/*
 * JSON: the one door to jansson's text handling.
 *
 * Bytes that are not printable UTF-8 are written in str_escape()'s form, so building a string can
 * never fail on what a hostile store contains. Every function that makes a value returns a new
 * reference and never NULL: out of memory ends the process.
 */
#pragma once

#include "base/base.h"

#include <jansson.h>
#include <stdio.h>

/* A string value of `text`, escaped; null for NULL. */
json_t *json_text(const char *text);

/* A list of texts. */
json_t *json_texts(const char *const *text, size_t n);

/* "2026-11-30T12:00:00Z" of seconds since 1970; null for 0. */
json_t *json_time(int64_t at);

/* Add `value` (reference stolen) under `key` / at the end. */
void json_put(json_t *object, const char *key, json_t *value);
void json_push(json_t *array, json_t *value);

/* Shorthands of the two commonest values. */
void json_put_text(json_t *object, const char *key, const char *text);
void json_put_int(json_t *object, const char *key, int64_t value);

/* Write `value` and a line end: indented for people's terminals, or one line. */
MUST_CHECK int json_print(const json_t *value, FILE *to, bool indented, struct err *err);

/*
 * The same, indented, of a value whose longest list is made while it is written: in `frame` that list
 * has JSON_ITEMS as its only item, in whose place stand `n` others. item() returns a new reference.
 */
#define JSON_ITEMS "\1"
struct json_items {
    json_t *(*item)(void *data, size_t i);
    void *data;
    size_t n;
};
MUST_CHECK int json_print_items(const json_t *frame, const struct json_items *items, FILE *to,
                                struct err *err);
/* The list for it: empty when there are no items. New reference. */
json_t *json_items(size_t n);

/*
 * An object on a line of its own, written as it is told: for answers of many rows, which would be
 * built and thrown away one by one, with a number formatted by printf for every value.
 *
 *	json_line_begin(&line, stdout);
 *	json_line_text(&line, "program", path);	(escaped; NULL: null)
 *	json_line_open(&line, "storm");
 *	json_line_int(&line, "opens", 12);
 *	json_line_close(&line);
 *	r = json_line_end(&line, err);
 */
struct json_line {
    FILE *to;
    size_t n;
    bool failed;
    char before;      /* what stands before the next member: its object's brace, or a comma */
    char bytes[4096]; /* stdio sees them together */
};

/* Keys are constants of the program that need no escaping. */
void json_line_begin(struct json_line *line, FILE *to);
void json_line_open(struct json_line *line, const char *key);
void json_line_close(struct json_line *line);
void json_line_text(struct json_line *line, const char *key, const char *text);
void json_line_texts(struct json_line *line, const char *key, const char *const *text, size_t n);
void json_line_int(struct json_line *line, const char *key, int64_t value);
void json_line_bool(struct json_line *line, const char *key, bool value);
MUST_CHECK int json_line_end(struct json_line *line, struct err *err);

/*
 * Read one JSON document of at most `max_bytes` (SIZE_MAX: of any size, for what we write ourselves)
 * from `path`; duplicate keys are refused. The error names the file, the line and what was expected.
 */
MUST_CHECK int json_read_file(const char *path, size_t max_bytes, json_t **ret_value,
                              struct err *err);
