#include "cli/diffing.h"

#include "cli/linting.h"

const struct flag diffing_rows[] = {
    {"min-calls", "N", "A start changes when its failed calls change by N or more (default: 10)",
     INTO(struct diff_limits, min_calls)},
    {"min-percent", "N", "... and by N percent or more (default: 5)",
     INTO(struct diff_limits, min_percent)},
    {"allow-new", "N", "Budget: new offenders (default: 0)", INTO(struct diff_limits, allow_new),
     .max = UINT32_MAX},
    {"allow-worse", "N", "Budget: programs that got worse (default: 0)",
     INTO(struct diff_limits, allow_worse), .max = UINT32_MAX},
    {"allow-total", "N", "Budget: growth of all failed calls together (default: any)",
     INTO(struct diff_limits, allow_total), .max = UINT32_MAX,
     .given = offsetof(struct diff_limits, limits_total)},
    {"fail-on", "SEVERITY",
     "Budget: new findings from this severity on: error, warning, note; never: nothing fails "
     "(default: error)",
     CALL_ON(struct diff_limits, fail_on, linting_fail_on)},
    {0},
};
