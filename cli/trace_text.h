/*
 * A trace for people: who asked for what, where it was found, what the search cost.
 *
 * Written for readers who know packages and have never read a loader's source: every line says in
 * words what happened. Sections, each a function: the header (what was started, where, by which
 * loader), the tree of who pulled in whom or the calls one by one, and what it comes to.
 */
#pragma once

#include "base/term.h"
#include "cli/follow.h"
#include "loader/trace.h"

struct trace_view {
    FILE *to;
    struct term term;
    struct arena *arena; /* scratch */
    const struct trace *trace;
    const char *root, *cwd; /* of the start; root NULL: "/" */
    const char *const *env; /* NAME=VALUE */
    size_t n_env;
    const struct followed *followed; /* the way to the program; NULL: none was looked for */
    const char *const *ld_args;      /* of an explicit invocation: what follows the loader */
    size_t n_ld_args;
    const char *note; /* NULL, or one more assumption: a sentence */
};

/* ---- trace_text.c */

void trace_text_header(const struct trace_view *view);

/* ---- trace_tree.c */

void trace_text_tree(const struct trace_view *view);

/* ---- trace_calls.c */

void trace_text_calls(const struct trace_view *view);

/* What was asked for in vain, by whom, and where it was looked for, in order. */
void trace_text_missing(const struct trace_view *view);

/* ---- trace_summary.c */

/* Totals, how the start ends, whose searches and which directories cost most. */
void trace_text_summary(const struct trace_view *view);

/* ---- words */

/* What happened at one call, in words: "not there", "found, loaded", ... */
const char *call_words(const struct trace *trace, const struct call *call, struct arena *arena);

/* Where a request was satisfied, in words: "RUNPATH", "LD_LIBRARY_PATH", ... */
const char *stage_words(enum stage stage);

/* A phase's heading: "after the start, dlopen by app: its dlopen note, suggested, for sound". */
const char *phase_words(const struct trace_view *view, size_t phase);

/* Did somebody ask for the dlopen on the command line, so that its failure is worth a word? */
bool phase_is_asked(const struct trace *trace, int phase);

/* Does a start go on when this request fails? */
bool request_is_optional(const struct request *request);

/* A store path with the hash left out: "/nix/store/...-glibc-2.36/lib". */
const char *path_short(struct arena *arena, const char *path);

/* ---- for the files that render: text escaped, styles, a heading, an object's short name */

const char *trace_shown(const struct trace_view *view, const char *text);
const char *trace_on(const struct trace_view *view, enum style style);
const char *trace_off(const struct trace_view *view);
void trace_heading(const struct trace_view *view, const char *text);
const char *trace_object(const struct trace_view *view, int index);

/* What a request's search cost. */
struct cost {
    uint32_t failed_opens, failed_stats;
};

struct cost trace_cost(const struct trace *trace, const struct request *request);
