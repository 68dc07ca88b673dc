/*
 * none: leave the program as it is. Always possible, never better.
 */
#include "planner/strategy.h"

static int propose(const struct subject *subject, struct edits *ret_edits, const char **ret_why_not,
                   struct err *err)
{
    (void)subject;
    (void)err;
    *ret_edits = (struct edits){0};
    *ret_why_not = NULL;
    return 0;
}

const struct strategy strategy_none = {
    .name = "none",
    .scope = SCOPE_OWN,
    .summary = "nothing is changed",
    .propose = propose,
};
