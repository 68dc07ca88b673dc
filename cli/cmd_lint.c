/*
 * stormlint lint [PATH...]: what is wrong, by the rules.
 */
#include "cli/lint_text.h"
#include "cli/linting.h"
#include "cli/whose.h"

#include <errno.h>
#include <string.h>

struct lint_arguments {
    struct options common;
    struct maintainer whose;
    const struct format *format; /* NULL: text */
    enum severity fail_on;
    bool whole; /* --closure */
    bool has_rules, rules[N_RULES];
    uint32_t budget;
    const char *explain, *baseline, *suppressions;
};

static int take_rules(void *into, const char *list, struct arena *arena, struct err *err)
{
    struct lint_arguments *a = into;

    while (*list) {
        const size_t len = strcspn(list, ",");
        const char *name = arena_strndup(arena, list, len);
        const struct rule *rule = rule_find(name);

        if (!rule && strcmp(name, "all") != 0)
            return err_set(err, EINVAL, "there is no rule '%s'; 'stormlint rules' lists them",
                           name);
        for (size_t i = 0; i < N_RULES; i++)
            a->rules[i] |= !rule || rule == &rules()[i];
        list += len + (list[len] == ',');
    }
    a->has_rules = true;
    return 0;
}

static int take_format(void *into, const char *name, struct arena *arena UNUSED, struct err *err)
{
    struct lint_arguments *a = into;

    a->format = format_find(name);
    if (!a->format && strcmp(name, "text") != 0)
        return err_set(err, EINVAL, "--format wants text, json, sarif, junit or github, not '%s'",
                       name);
    return 0;
}

static int take_json(void *into, const char *text UNUSED, struct arena *arena, struct err *err)
{
    return take_format(into, "json", arena, err);
}

static const struct flag rows[] = {
    {"format", "FORMAT", "text, json, sarif, junit or github (default: text)", CALL(take_format)},
    {"json", NULL, "The same as --format json", CALL(take_json)},
    {"fail-on", "SEVERITY",
     "Exit with 1 from this severity on: error, warning, note, or never (default: error)",
     CALL_ON(struct lint_arguments, fail_on, linting_fail_on)},
    {"rule", "RULE[,...]",
     "Ask these rules alone, by id or code (repeatable); 'all': opt-in ones, too",
     CALL(take_rules)},
    {"closure", NULL, "Lint everything that the packages refer to, too",
     INTO(struct lint_arguments, whole)},
    {"explain", "RULE", "Print the page of a rule", INTO(struct lint_arguments, explain)},
    {"baseline", "FILE",
     "What this earlier run (--format json, or an audit) found is known, and does not fail",
     INTO(struct lint_arguments, baseline)},
    {"suppressions", "FILE",
     "What is not to be told, and why (default: " SUPPRESSIONS ", when it is there)",
     INTO(struct lint_arguments, suppressions)},
    {"probe-budget", "N", "Failed opens that a start may make (default: 200)",
     INTO(struct lint_arguments, budget), .min = 1},
    {ROWS(struct lint_arguments, whose, whose_rows)},
    {ROWS(struct lint_arguments, common, linting_rows)},
    {0},
};

static const struct flags flags = {
    .row = rows,
    .args = "[PATH...]",
    .doc =
        "Find what is wrong with the ELF files of a closure: run paths, sonames, versions, "
        "notes, farms, and starts that cost too much.\v"
        "A PATH is a file, a package or a directory, read as it is; with --db, or without a "
        "slash, it is looked up in the index. Without PATH the whole index is linted. "
        "Exit code: 0, nothing from --fail-on on; 1, findings; 3, something could not be read, or "
        "nobody of --maintainer's NAME is known.",
};

static int explain(const char *name, struct err *err)
{
    const struct rule *rule = rule_find(name);

    if (!rule)
        return err_set(err, EINVAL, "there is no rule '%s'; 'stormlint rules' lists them", name);
    fputs(rule_page(rule), stdout);
    return EXIT_FINE;
}

/* Everything was linted: findings follow from starts of others, too. */
static void keep_own(struct lint_arguments *a, const struct closure *closure,
                     struct lint_result *result)
{
    for (size_t i = 0; i < closure->n_packages; i++)
        if (closure->package[i]->selected)
            maintainer_see(&a->whose, closure->package[i]->origin);
    findings_keep_own(&result->findings, &a->whose);
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
                                       .arena = arena};
    const struct term term = term_of(stdout);
    int r = 0;

    if (a->format)
        r = a->format->print(&report, stdout, err);
    else
        lint_text(stdout, &term, &report);
    if (r < 0)
        return command_failed(EXIT_FAILED, err);
    if (result->incomplete)
        return EXIT_INCOMPLETE;
    return report_fails(&report) ? EXIT_FINDINGS : EXIT_FINE;
}

static int lint(void *into, struct arena *arena, struct err *err)
{
    CLEANUP(linting_release) struct linting linting = {0};
    CLEANUP(progress_line_end) struct progress_line line = progress_line(stderr);
    struct lint_arguments *a = into;
    struct suppressions suppressions = {0};
    struct lint_options o = {.rules = a->has_rules ? a->rules : NULL,
                             .probe_budget = a->budget,
                             .progress = &line.progress};
    struct lint_result result;
    int r;

    if (a->explain)
        return explain(a->explain, err);
    r = linting_open(&a->common, a->whole, &linting, arena, err);
    if (r < 0)
        return r;
    o.cpu = &linting.setting->cpu;
    o.cwd = linting.setting->cwd;
    r = lint_run(&linting.closure, &o, arena, &result, err);
    progress_line_end(&line);
    if (r == 0)
        r = judge(a, &result, &suppressions, arena, err);
    if (r < 0)
        return r;
    a->whose.arena = arena;
    if (a->whose.name)
        keep_own(a, &linting.closure, &result);
    r = print(a, &result, &suppressions, arena, err);
    return r < 0 ? r : whose_code(&a->whose, result.findings.n, r);
}

const struct command cmd_lint = {
    .name = "lint",
    .summary = "what is wrong in a closure, by the rules",
    .flags = &flags,
    WORK(lint, struct lint_arguments, .fail_on = SEVERITY_ERROR),
};
