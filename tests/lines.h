/*
 * Calls as lines of text, "open PATH = RESULT", and the first difference between two lists.
 *
 * A list ends in "-- starts" or "-- fails"; a later phase begins with "-- dlopen NAME".
 */
#pragma once

#include "loader/loader.h"

struct lines {
    struct arena *arena;
    const char **line;
    size_t n;
};

void lines_add(struct lines *lines, const char *line);

/* What the model says. */
void lines_of_trace(struct lines *lines, const struct trace *trace,
                    const struct dlopen_call *dlopens, size_t n_dlopens);

/* True: equal. Otherwise *ret_at is the first line that differs. */
bool lines_same(const struct lines *a, const struct lines *b, size_t *ret_at);

/* The surroundings of line `at`: "-" what really happened, "+" what was predicted. */
void lines_print(const struct lines *expected, const struct lines *predicted, size_t at);
