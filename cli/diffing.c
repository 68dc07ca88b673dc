#include "cli/diffing.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_MIN_CALLS = 0x300,
    OPT_MIN_PERCENT,
    OPT_ALLOW_NEW,
    OPT_ALLOW_WORSE,
    OPT_ALLOW_TOTAL,
    OPT_FAIL_ON
};

static const struct argp_option rows[] = {
    {"min-calls", OPT_MIN_CALLS, "N", 0,
     "A start changes when its failed calls change by N or more (default: 10)", 0},
    {"min-percent", OPT_MIN_PERCENT, "N", 0, "... and by N percent or more (default: 5)", 0},
    {"allow-new", OPT_ALLOW_NEW, "N", 0, "Budget: new offenders (default: 0)", 0},
    {"allow-worse", OPT_ALLOW_WORSE, "N", 0, "Budget: programs that got worse (default: 0)", 0},
    {"allow-total", OPT_ALLOW_TOTAL, "N", 0,
     "Budget: growth of all failed calls together (default: any)", 0},
    {"fail-on", OPT_FAIL_ON, "SEVERITY", 0,
     "Budget: new findings from this severity on: error, warning, note; never: nothing fails "
     "(default: error)",
     0},
    {0},
};

static uint64_t number(const char *text, const struct argp_state *state)
{
    char *end;
    unsigned long long n;

    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || n > UINT32_MAX)
        argp_error(state, "a number is wanted, not '%s'", text);
    return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct diff_limits *l = state->input;

    switch (key) {
    case OPT_MIN_CALLS:
        l->min_calls = (uint32_t)number(arg, state);
        return 0;
    case OPT_MIN_PERCENT:
        l->min_percent = (uint32_t)number(arg, state);
        return 0;
    case OPT_ALLOW_NEW:
        l->allow_new = number(arg, state);
        return 0;
    case OPT_ALLOW_WORSE:
        l->allow_worse = number(arg, state);
        return 0;
    case OPT_ALLOW_TOTAL:
        l->limits_total = true;
        l->allow_total = number(arg, state);
        return 0;
    case OPT_FAIL_ON:
        l->never_fail = !strcmp(arg, "never");
        if (!l->never_fail && !severity_find(arg, &l->fail_on))
            argp_error(state, "--fail-on wants error, warning, note or never, not '%s'", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp diffing_argp = {.options = rows, .parser = parse};

const struct argp_child diffing_children[] = {{&diffing_argp, 0, NULL, 0}, {0}};

int diffing_run(const struct argp *argp, int argc, char **argv, void *arguments,
                int (*work)(const void *arguments, struct arena *arena, struct err *err))
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct err err = {0};
    int code;

    options_parse(argp, argc, argv, arguments);
    code = work(arguments, &arena, &err);
    if (err.code)
        log_error("%s", str_escape(&arena, err.text));
    return code;
}
