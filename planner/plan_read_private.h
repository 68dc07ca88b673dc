/*
 * What the files that read plans share, nobody else. `place` is where in the plan something stands.
 */
#pragma once

#include "planner/plan_json.h"

struct plan_reader {
    struct arena *arena;
    const char *where; /* the file */
    struct err *err;
};

/* -EINVAL, and why. */
int plan_refuse(const struct plan_reader *r, const char *place, const char *what);

/* json_unpack_ex(), strictly. */
MUST_CHECK int plan_unpack(const struct plan_reader *r, json_t *json, const char *place,
                           const char *format, ...);

/* A text as it was before it was escaped; NULL stays NULL. */
const char *plan_raw_text(const struct plan_reader *r, const char *escaped);

/* A string, or null where there is none. */
MUST_CHECK int plan_read_nullable(const struct plan_reader *r, json_t *value, const char *place,
                                  const char **ret_text);

/* An array of strings. */
MUST_CHECK int plan_read_texts(const struct plan_reader *r, json_t *array, const char *place,
                               const char ***ret_text, size_t *ret_n);

/* ---- plan_read_edits.c */

MUST_CHECK int plan_read_edits(const struct plan_reader *r, json_t *array, const char *place,
                               struct edits *edits);
