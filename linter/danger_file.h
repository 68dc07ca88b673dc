/*
 * Dangerous libraries from a user's file, in the form that `stormlint rules --dangers --json`
 * prints: a list of
 *
 *	{"id": "acme", "match": {"soname": ["libacme.so.*"]},
 *	 "absolute": "bare", "farm": "ok", "note": "ok", "why": "replaced by the site"}
 *
 * What a strategy is not named for is "ok". Keys of `match` are those of the table's columns that
 * files can be asked for: soname, path, pname, run_path, symbol, env, interp.
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "linter/danger.h"

/* Read such a list (null: an empty one). Rows are the arena's and end with one without id. */
MUST_CHECK int danger_parse(json_t *list, struct arena *arena, const struct danger **ret_rows,
                            struct err *err);

/* The same from a file. */
MUST_CHECK int danger_read(const char *path, struct arena *arena, const struct danger **ret_rows,
                           struct err *err);

/* The list again; `rows` NULL: an empty one. New reference. */
json_t *danger_list_json(const struct danger *rows);

/* danger_next() in `rows`, after the table: what the table says comes first. */
const struct danger *danger_next_in(const struct danger *rows, enum danger_key key,
                                    const char *value, const struct danger *after);
