/*
 * Apply: carry plans out on files, prove what came of it, or undo everything.
 *
 *	struct apply_options o = {.root = "/", .output = outputs, .n_outputs = n, .stale =
 *STALE_FAIL}; r = apply_plans(plans, n_plans, &o, &arena, &result, &err);
 *
 * Plans name no hashes, so each program is resolved again as it is now. Then, for all plans
 * together (docs/apply.md says why in this order):
 *
 *	resolve   is each program what the plan expects, and would it get the same edits?
 *	prepare   edited copies beside the files, read back, simulated: same files, promised calls
 *	farms     links, on disk before anything names them
 *	exchange  each copy takes its file's name, one system call each
 *	prove     everything is looked at anew, from the file system as it is now
 *
 * A failure anywhere puts back what was there. Each file is the old or the new one at every moment;
 * who is killed in between leaves a state that the next call completes.
 */
#pragma once

#include "planner/plan.h"

/* What to do with a program that is not what its plan expects. */
enum stale {
    STALE_FAIL,   /* change nothing at all */
    STALE_REPLAN, /* decide anew for this program, under the plan's policy */
    STALE_SKIP,   /* leave this program alone */
};

/* An output of the package: where it is, as programs see it. */
struct apply_output {
    const char *name; /* "out", "bin" */
    const char *dir;
    /* What its derivation allows and disallows it to refer to, store paths; NULL: not told. */
    const char **allowed, **disallowed;
    size_t n_allowed, n_disallowed;
};

struct apply_options {
    const char *root; /* the directory that plays "/" */
    const struct apply_output *output;
    size_t n_outputs;
    const char *copies; /* NULL: in place; else below here, the package stays as it is */
    enum stale stale;
    const struct policy *policy; /* NULL: the plan's own, or the default */
    const char *store;           /* one more directory of packages; NULL: none */
};

enum applied_state {
    APPLIED_EDITED,
    APPLIED_DONE,    /* it was edited before, as planned */
    APPLIED_NOTHING, /* nothing is planned */
    APPLIED_SKIPPED, /* stale, and to be left alone */
};

struct applied {
    const char *path; /* as programs see it */
    enum applied_state state;
    bool replanned;
    const char *strategy, *scope;
    const char *reason;          /* why nothing is done, why it was stale; NULL: nothing to say */
    const char *cpu;             /* whose totals these are */
    struct storm before, after;  /* start-up; of APPLIED_EDITED and APPLIED_DONE */
    uint64_t old_size, new_size; /* bytes; of APPLIED_EDITED */
    const char *how;             /* "in place", or what was appended */
};

struct apply_result {
    struct applied *item;
    size_t n;
    size_t n_links; /* made in farms */
};

/*
 * 0, or a negative errno when nothing was changed, or everything was put back: -ESTALE when a
 * program is not what its plan expects (STALE_FAIL), -EBUSY when another one works on an output.
 */
MUST_CHECK int apply_plans(const struct plan *plan, size_t n_plans,
                           const struct apply_options *options, struct arena *arena,
                           struct apply_result *ret_result, struct err *err);

/*
 * Plans for the outputs as they are now, one for each that has something to plan, to be carried out by
 * apply_plans().
 */
MUST_CHECK int apply_plan_outputs(const struct apply_options *options, struct arena *arena,
                                  struct plan **ret_plan, size_t *ret_n, struct err *err);

/* "edited", "done", "nothing-to-do", "skipped" */
const char *applied_name(enum applied_state state);
