/*
 * Terminals: whether there is one, how wide it is, and what makes text stand out on it.
 *
 *	const struct term term = term_of(stdout);
 *	printf("%s%s%s\n", term_style(&term, STYLE_BOLD), name, term_style(&term, STYLE_PLAIN));
 *
 * Colours and bold are for terminals alone, and not there when NO_COLOR is set (to anything but
 * nothing) or TERM is "dumb" or unset: term_style() is then "" and output is plain text.
 */
#pragma once

#include "base/base.h"

#include <stdio.h>

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW };

struct term {
    bool is_terminal;
    bool styled;    /* colours and bold may be used */
    unsigned width; /* columns; 0: not a terminal, lines may have any length */
};

struct term term_of(FILE *to);

/* The bytes that switch to a style; "" where styles are not to be used. */
const char *term_style(const struct term *term, enum style style);

/* Columns that escaped text takes: its UTF-8 characters, each counted as one column. */
size_t term_columns(const char *text);
