/*
 * Comparisons for people and as JSON.
 */
#pragma once

#include "planner/compare.h"

#include <stdio.h>

struct compare_view {
    FILE *to;
    struct arena *arena; /* scratch */
    double probe_us;     /* -1: no time is told */
};

/* Calls, sizes and what became of each method. */
void compare_text(const struct compare_view *view, const struct comparison *comparison,
                  const char *title);

/* The article's columns: yes and no. */
void compare_table(const struct compare_view *view, const struct comparison *comparison,
                   const char *title);
