/*
 * Findings for people: one line each.
 */
#pragma once

#include "base/term.h"
#include "linter/format.h"

/* "PATH: error[R201]: MESSAGE" lines, what was not checked, and a summary. */
void lint_text(FILE *to, const struct term *term, const struct lint_report *report);
