/*
 * none: leave the program as it is. Always possible, never better.
 */
#include "planner/strategy.h"

static int propose(const struct subject *subject UNUSED, enum scope scope UNUSED,
                   struct edits *ret_edits UNUSED, const char **ret_why_not UNUSED,
                   struct err *err UNUSED)
{
    return 0;
}

const struct strategy strategy_none = {
    .name = "none",
    .scope = SCOPE_OWN,
    .summary = "nothing is changed",
    .propose = propose,
};
