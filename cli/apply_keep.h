/*
 * `stormlint apply --keep-plan`: plans made on the spot, left in their outputs.
 *
 *	r = keep_prepare(&kept, root, outputs, n, plans, n_plans, &arena, &err);	before anything is edited
 *	r = keep_finish(&kept, r == 0 ? &result : NULL, &err);			afterwards
 *
 * A plan is written beside its place first: where that fails nothing has been edited yet.
 */
#pragma once

#include "planner/apply.h"

struct kept_plan {
    const char *output;        /* its directory, as programs see it */
    const char *path, *beside; /* on disk: the place, and where the plan waits */
    const char *made[2];       /* directories that were made for it, outermost first; NULL: none */
};

struct kept {
    struct arena *arena;
    struct kept_plan *item;
    size_t n;
};

/* Write each plan of an output beside `nix-support/stormlint/plan.json`. All memory is `arena`'s. */
MUST_CHECK int keep_prepare(struct kept *ret_kept, const struct apply_options *options,
                            const struct plan *plan, size_t n_plans, struct arena *arena,
                            struct err *err);

/*
 * Give plans their names where something was edited, or none is there yet: a plan made for what is
 * edited already says that nothing is to be done. `result` NULL: nothing came of it, and nothing is
 * left behind.
 */
MUST_CHECK int keep_finish(const struct kept *kept, const struct apply_result *result,
                           struct err *err);
