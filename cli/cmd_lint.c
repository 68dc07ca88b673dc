/*
 * stormlint lint [PATH...]: what is wrong, by the rules.
 */
#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/lint_text.h"
#include "cli/linting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct lint_arguments {
    struct options common;
    const struct format *format; /* NULL: text */
    enum severity fail_on;
    bool never_fail;
    bool whole; /* --closure */
    bool has_rules, rules[N_RULES];
    uint32_t budget;
    const char *explain, *baseline, *suppressions;
};

enum {
    OPT_FORMAT = 0x200,
    OPT_FAIL_ON,
    OPT_EXPLAIN,
    OPT_BASELINE,
    OPT_SUPPRESSIONS,
    OPT_RULE,
    OPT_CLOSURE,
    OPT_BUDGET,
    OPT_JSON,
};

static const struct argp_option rows[] = {
    {"format", OPT_FORMAT, "FORMAT", 0, "text, json, sarif, junit or github (default: text)", 0},
    {"json", OPT_JSON, NULL, 0, "The same as --format json", 0},
    {"fail-on", OPT_FAIL_ON, "SEVERITY", 0,
     "Exit with 1 from this severity on: error, warning, note, or never (default: error)", 0},
    {"rule", OPT_RULE, "RULE[,...]", 0,
     "Ask these rules alone, by id or code (repeatable); 'all': opt-in ones, too", 0},
    {"closure", OPT_CLOSURE, NULL, 0, "Lint everything that the packages refer to, too", 0},
    {"explain", OPT_EXPLAIN, "RULE", 0, "Print the page of a rule", 0},
    {"baseline", OPT_BASELINE, "FILE", 0,
     "What this earlier run (--format json, or an audit) found is known, and does not fail", 0},
    {"suppressions", OPT_SUPPRESSIONS, "FILE", 0,
     "What is not to be told, and why (default: " SUPPRESSIONS ", when it is there)", 0},
    {"probe-budget", OPT_BUDGET, "N", 0, "Failed opens that a start may make (default: 200)", 0},
    {0},
};

static void choose_rules(struct lint_arguments *a, const char *list, const struct argp_state *state)
{
    while (*list) {
        const size_t len = strcspn(list, ",");
        const char *name = arena_strndup(&a->common.arena, list, len);
        const struct rule *rule = rule_find(name);

        if (!rule && strcmp(name, "all") != 0)
            argp_error(state, "there is no rule '%s'; 'stormlint rules' lists them", name);
        for (size_t i = 0; i < N_RULES; i++)
            a->rules[i] |= !rule || rule == &rules()[i];
        list += len + (list[len] == ',');
    }
    a->has_rules = true;
}

static void set_fail_on(struct lint_arguments *a, const char *name, const struct argp_state *state)
{
    a->never_fail = !strcmp(name, "never");
    if (!a->never_fail && !severity_find(name, &a->fail_on))
        argp_error(state, "--fail-on wants error, warning, note or never, not '%s'", name);
}

static void set_format(struct lint_arguments *a, const char *name, const struct argp_state *state)
{
    a->format = format_find(name);
    if (!a->format && strcmp(name, "text") != 0)
        argp_error(state, "--format wants text, json, sarif, junit or github, not '%s'", name);
}

static void set_budget(struct lint_arguments *a, const char *text, const struct argp_state *state)
{
    char *end;
    const unsigned long n = strtoul(text, &end, 10);

    if (end == text || *end || *text == '-' || n == 0 || n > UINT32_MAX)
        argp_error(state, "--probe-budget wants a number above 0, not '%s'", text);
    a->budget = (uint32_t)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct lint_arguments *a = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->common;
        break;
    case OPT_FORMAT:
        set_format(a, arg, state);
        break;
    case OPT_FAIL_ON:
        set_fail_on(a, arg, state);
        break;
    case OPT_RULE:
        choose_rules(a, arg, state);
        break;
    case OPT_CLOSURE:
        a->whole = true;
        break;
    case OPT_EXPLAIN:
        a->explain = arg;
        break;
    case OPT_BASELINE:
        a->baseline = arg;
        break;
    case OPT_SUPPRESSIONS:
        a->suppressions = arg;
        break;
    case OPT_BUDGET:
        set_budget(a, arg, state);
        break;
    case OPT_JSON:
        a->format = format_find("json");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_child children[] = {{&linting_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .args_doc = "[PATH...]",
    .doc = "Find what is wrong with the ELF files of a closure: run paths, sonames, versions, "
           "notes, farms, and starts that cost too much.\v"
           "A PATH is a file, a package or a directory, read as it is; with --db, or without a "
           "slash, it is looked up in the index. Without PATH the whole index is linted. "
           "Exit code: 0, nothing from --fail-on on; 1, findings; 3, something could not be read.",
    .children = children,
};

static int explain(const char *name)
{
    const struct rule *rule = rule_find(name);

    if (!rule) {
        log_error("there is no rule '%s'; 'stormlint rules' lists them", name);
        return EXIT_USAGE;
    }
    fputs(rule_page(rule), stdout);
    return EXIT_FINE;
}

/* Suppressions, then the baseline. */
static int judge(struct lint_arguments *a, struct lint_result *result,
                 struct suppressions *ret_suppressions, struct arena *arena, struct err *err)
{
    struct baseline baseline = {0};
    int r = linting_suppress(a->suppressions, &result->findings, ret_suppressions, arena, err);

    if (r == 0 && a->baseline)
        r = linting_baseline(a->baseline, &baseline, arena, err);
    if (r == 0)
        baseline_apply(&baseline, &result->findings, arena);
    return r;
}

static int print(const struct lint_arguments *a, struct lint_result *result,
                 const struct suppressions *suppressions, struct arena *arena, struct err *err)
{
    const struct lint_report report = {.result = result,
                                       .suppressions = suppressions,
                                       .cpu = a->common.cpu,
                                       .compared = a->baseline != NULL,
                                       .fail_on = a->fail_on,
                                       .never_fail = a->never_fail,
                                       .arena = arena};
    const struct term term = term_of(stdout);
    int r = 0;

    if (a->format)
        r = a->format->print(&report, stdout, err);
    else
        lint_text(stdout, &term, &report);
    if (r < 0)
        return EXIT_FAILED;
    if (result->incomplete)
        return EXIT_INCOMPLETE;
    return report_fails(&report) ? EXIT_FINDINGS : EXIT_FINE;
}

/* An exit code, or a negative errno. */
static int lint(struct lint_arguments *a, struct progress_line *line, struct arena *arena,
                struct err *err)
{
    CLEANUP(linting_release) struct linting linting = {0};
    struct suppressions suppressions = {0};
    struct lint_options o = {.rules = a->has_rules ? a->rules : NULL,
                             .probe_budget = a->budget,
                             .progress = &line->progress};
    struct lint_result result;
    int r = linting_open(&a->common, a->whole, &linting, err);

    if (r < 0)
        return r;
    o.cpu = &linting.setting.cpu;
    o.cwd = linting.setting.cwd;
    r = lint_run(&linting.closure, &o, arena, &result, err);
    progress_line_end(line);
    if (r == 0)
        r = judge(a, &result, &suppressions, arena, err);
    return r < 0 ? r : print(a, &result, &suppressions, arena, err);
}

static int run(int argc, char **argv)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct progress_line line = progress_line(stderr);
    struct lint_arguments a = {.fail_on = SEVERITY_ERROR};
    struct err err = {0};
    int r;

    options_parse(&argp, argc, argv, &a);
    r = a.explain ? explain(a.explain) : lint(&a, &line, &arena, &err);
    progress_line_end(&line);
    if (err.code) {
        log_error("%s", str_escape(&arena, err.text));
        r = r < 0 ? setting_failure(r) : r;
    }
    options_release(&a.common);
    return r;
}

const struct command cmd_lint = {
    .name = "lint",
    .summary = "what is wrong in a closure, by the rules",
    .run = run,
};
