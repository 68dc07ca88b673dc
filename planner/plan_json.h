/*
 * The plan format, written and read back: the only place that knows it (docs/plan.schema.json).
 *
 * Writing is deterministic: the same plan gives the same bytes. Reading is strict: unknown keys,
 * unknown words, other types, and a plan whose two tellings of one thing differ are refused, with
 * the place and what was expected.
 */
#pragma once

#include "planner/plan.h"

enum {
    MAX_PLAN_OBJECTS = 10000,
    MAX_PLAN_RULINGS = 4096, /* of one object */
    MAX_PLAN_EDITS = 64,     /* of one object */
    MAX_PLAN_LIST = 100000,  /* names, links, renames of one edit */
};

/* The JSON of a plan. New reference. */
json_t *plan_json(const struct plan *plan, struct arena *scratch);

/*
 * What is found out when the plan is written already: the starts of its n-th object with its package
 * and with everything planned; that an object is left as it is (strategy none), by this rule, whatever
 * was chosen.
 */
void plan_json_started(json_t *plan, size_t object, const struct storm *own_package,
                       const struct storm *whole_closure);
void plan_json_take_back(json_t *plan, size_t object, const char *rule, const char *reason);

/*
 * Read one plan; everything is copied into `arena`. `where` names it in errors (a file). A file is
 * of any size: whatever is written can be read. What comes over HTTP has its limits there.
 */
MUST_CHECK int plan_parse(json_t *json, const char *where, struct arena *arena,
                          struct plan *ret_plan, struct err *err);
MUST_CHECK int plan_read(const char *path, struct arena *arena, struct plan *ret_plan,
                         struct err *err);

/* The JSON of edits; `policy` given: store paths without their hashes. New reference. */
json_t *edits_json(const struct edits *edits, const struct policy *policy, struct arena *scratch);
