/*
 * A plan for people: what to do, what it saves, and why everything else lost.
 *
 * Written for a maintainer who reads it once: first the choice and its reason, then the numbers of
 * each strategy on the policy's CPU, then one line for each that lost. --explain adds every
 * criterion with its evidence, and the edits name by name.
 */
#pragma once

#include "base/term.h"
#include "planner/plan.h"

struct plan_view {
    FILE *to;
    struct term term;
    struct arena *arena; /* scratch */
    const struct plan *plan;
    double probe_us; /* what a failed call costs; -1: no time is told */
    bool explain;
    bool brief; /* for logs: in full only programs that are edited; of the rest what and why */
};

void plan_text(const struct plan_view *view);
