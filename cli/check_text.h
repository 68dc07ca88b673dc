/*
 * What checks found, for people and as JSON.
 */
#pragma once

#include "base/term.h"
#include "check/check.h"
#include "check/proctree.h"

/* How many calls are shown around a difference, before and after it, on both sides. */
enum { CHECK_CONTEXT = 3 };

/* One program: a line, and below it the first difference with its surroundings. */
void check_text(FILE *to, const struct term *term, const struct checked *checked);
json_t *check_json(const struct checked *checked);

/* Programs of a tree as a table, most failed calls first; `top` 0: all. */
void proctree_text(FILE *to, const struct term *term, const struct proctree *tree, size_t top);
json_t *proctree_json(const struct proctree *tree);
