/*
 * What `stormlint apply` is given beside files: what a derivation says about itself.
 *
 * With structured attributes Nix writes all of a derivation's attributes to one JSON file
 * (NIX_ATTRS_JSON_FILE); without, each is a variable that the hook hands on by an option.
 */
#pragma once

#include "planner/apply.h"

struct apply_inputs {
    struct plan *plan;
    size_t n_plans;
    const struct policy *policy; /* NULL: none was given */
};

/* One plan file. */
MUST_CHECK int inputs_plan_file(struct apply_inputs *inputs, struct arena *arena, const char *path,
                                struct err *err);

/*
 * stormlintPlan (a path, a plan, or a list of them), stormlintPolicy (a path or a policy) and
 * outputChecks of the JSON file; references go to the outputs they are for.
 */
MUST_CHECK int inputs_attrs(struct apply_inputs *inputs, struct arena *arena, const char *path,
                            struct apply_output *output, size_t n_outputs, struct err *err);

/*
 * Words of `text`, separated by blanks, as what all outputs may (`allowed`) or may not refer to.
 * A word that is the name of an output stands for that output.
 */
void inputs_references(struct arena *arena, const char *text, bool allowed,
                       struct apply_output *output, size_t n_outputs);
