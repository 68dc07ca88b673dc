/*
 * Deciding: which strategy a program gets, and why each other one lost.
 *
 * Every strategy that its gates let through proposes, is simulated and judged; then the branches of
 * the decision rule are asked in order, and the first one that answers decides
 * (docs/planner.md, the decision rule).
 */
#pragma once

#include "planner/criteria.h"
#include "planner/gates.h"

enum standing {
    STANDING_CHOSEN,
    STANDING_GATED,     /* not tried: a gate is shut */
    STANDING_NOTHING,   /* it had nothing to propose */
    STANDING_FAILED,    /* a criterion fails */
    STANDING_NO_READER, /* it works with something that the policy's target does not have */
    STANDING_LOST,      /* it would do, another one is better */
};

/* What became of one method. */
struct candidate {
    enum method method;
    const struct strategy *strategy;
    enum standing standing;
    const char *rule;      /* id of the gate, criterion or branch that spoke */
    const char *criterion; /* of gated ones: what the gate settles; else NULL */
    const char *reason;    /* a sentence */
    struct edits edits;    /* empty when it was not tried */
    bool judged;
    struct verdicts verdicts; /* of judged ones */
};

struct decision {
    const struct subject *subject;
    struct candidate option[N_METHODS];
    enum method chosen;
    const char *rule;   /* the branch that decided */
    const char *reason; /* a sentence */
    bool along;         /* its package is worth an edit: what little it saves is saved, too */
};

/* One branch of the decision rule. */
struct branch {
    const char *id;
    const char *text; /* as it is shown in the documentation of plans */
    /* The method it settles on and a reason, or false: ask the next one. */
    bool (*settle)(const struct decision *decision, enum method *ret_method,
                   const char **ret_reason);
};

/* The rule, in order; ends with a row without id. The last branch always answers. */
const struct branch *branches(void);

MUST_CHECK int decide(const struct subject *subject, struct decision *ret_decision,
                      struct err *err);

/*
 * Settle again for a program whose package is edited anyway: the policy's minimum saving is about
 * packages, so that it need not be reached by this program alone. Nothing is simulated again.
 */
void decide_along(struct decision *decision);

/* Failed opens that a start saves by what was chosen. */
uint32_t decision_saves(const struct decision *decision);

/* Failed opens and stats of a start with this option, on the policy's level. */
uint64_t option_failed(const struct decision *decision, enum method method);

/* What the policy says about its package by name; NULL: nothing. */
const struct policy_package *subject_pin(const struct subject *subject);

/* Libraries of the start-up closure: without program, loader and vDSO. */
size_t subject_libraries(const struct subject *subject);

/*
 * A library of the graph that loads drivers of the machine (GL, GBM, Vulkan, CL, VA), by soname:
 * what replaces such a library brings needed names of its own. NULL: there is none.
 */
const char *subject_driver_loader(const struct subject *subject);
