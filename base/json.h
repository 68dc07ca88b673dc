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

/* Add `value` (reference stolen) under `key` / at the end. */
void json_put(json_t *object, const char *key, json_t *value);
void json_push(json_t *array, json_t *value);

/* Shorthands of the two commonest values. */
void json_put_text(json_t *object, const char *key, const char *text);
void json_put_int(json_t *object, const char *key, int64_t value);

/* Write `value` and a line end: indented for people's terminals, or one line. */
MUST_CHECK int json_print(const json_t *value, FILE *to, bool indented, struct err *err);

/*
 * Read one JSON document of at most `max_bytes` from `path`; duplicate keys are refused. The error
 * names the file, the line and what was expected.
 */
MUST_CHECK int json_read_file(const char *path, size_t max_bytes, json_t **ret_value,
                              struct err *err);
