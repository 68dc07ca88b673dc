/*
 * stormlint rules: the table of lint rules; with --dangers that of dangerous libraries.
 */
#include "base/json.h"
#include "cli/options.h"
#include "linter/danger.h"
#include "linter/rule.h"

struct rules_arguments {
    struct options common; /* of these only --json */
    bool dangers;
};

static const struct flag rows[] = {
    {"dangers", NULL, "The table of libraries and files that make a strategy unsafe instead",
     INTO(struct rules_arguments, dangers)},
    {ROWS(struct rules_arguments, common, json_rows)},
    {0},
};

static const struct flags flags = {
    .row = rows,
    .doc = "Print the rules that 'stormlint lint' asks.\v"
           "'stormlint lint --explain RULE' prints the page of one.",
};

/* ---- lint rules */

static json_t *rule_json(const struct rule *rule)
{
    json_t *out = json_object();

    json_put_text(out, "code", rule->code);
    json_put_text(out, "rule", rule->id);
    json_put_text(out, "severity", severity_name(rule->severity));
    json_put_text(out, "confidence", confidence_name(rule->confidence));
    json_put_text(out, "scope", rule_scope_name(rule->scope));
    json_put(out, "opt_in", json_boolean(rule->opt_in));
    json_put(out, "live", json_boolean(rule->live));
    json_put_text(out, "summary", rule->summary);
    json_put_text(out, "fix", rule->fix);
    return out;
}

static json_t *rules_json(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < N_RULES; i++)
        json_push(list, rule_json(&rules()[i]));
    return list;
}

static void rules_text(void)
{
    for (size_t i = 0; i < N_RULES; i++) {
        const struct rule *rule = &rules()[i];

        printf("%s %-7s %-27s %s%s\n", rule->code, severity_name(rule->severity), rule->id,
               rule->summary, rule->opt_in ? " (opt-in)" : "");
    }
}

/* ---- dangerous libraries */

static const struct {
    const char *name;
    size_t at;
} columns[] = {
    {"soname", offsetof(struct danger, soname)},
    {"path", offsetof(struct danger, path)},
    {"pname", offsetof(struct danger, pname)},
    {"run_path", offsetof(struct danger, run_path)},
    {"symbol", offsetof(struct danger, symbol)},
    {"env", offsetof(struct danger, env)},
    {"exec", offsetof(struct danger, exec)},
    {"interp", offsetof(struct danger, interp)},
    {"section", offsetof(struct danger, section)},
    {"attribute", offsetof(struct danger, attribute)},
    {"role", offsetof(struct danger, role)},
};

static const char *const *column(const struct danger *d, size_t i)
{
    return *(const char *const *const *)(const void *)((const char *)d + columns[i].at);
}

static json_t *danger_json(const struct danger *d)
{
    json_t *out = json_object(), *match = json_object();

    json_put_text(out, "id", d->id);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        json_t *list = column(d, i) ? json_array() : NULL;

        for (const char *const *glob = column(d, i); glob && *glob; glob++)
            json_push(list, json_text(*glob));
        if (list)
            json_put(match, columns[i].name, list);
    }
    if (d->fact)
        json_put_text(match, "fact", d->fact);
    json_put(out, "match", match);
    json_put_text(out, "absolute", danger_verdict_name(d->absolute));
    json_put_text(out, "farm", danger_verdict_name(d->farm));
    json_put_text(out, "note", danger_verdict_name(d->note));
    json_put_text(out, "why", d->why);
    return out;
}

static json_t *dangers_json(void)
{
    json_t *list = json_array();

    for (const struct danger *d = dangers(); d->id; d++)
        json_push(list, danger_json(d));
    return list;
}

static void dangers_text(void)
{
    printf("%-24s %-8s %-8s %-8s %s\n", "", "absolute", "farm", "note", "");
    for (const struct danger *d = dangers(); d->id; d++)
        printf("%-24s %-8s %-8s %-8s %s\n", d->id, danger_verdict_name(d->absolute),
               danger_verdict_name(d->farm), danger_verdict_name(d->note), d->why);
}

static int print(void *into, struct arena *arena UNUSED, struct err *err)
{
    const struct rules_arguments *a = into;
    json_t *json;
    int r;

    if (!a->common.json) {
        if (a->dangers)
            dangers_text();
        else
            rules_text();
        return EXIT_FINE;
    }
    json = a->dangers ? dangers_json() : rules_json();
    r = json_print(json, stdout, true, err);
    json_decref(json);
    return r < 0 ? command_failed(EXIT_FAILED, err) : EXIT_FINE;
}

const struct command cmd_rules = {
    .name = "rules",
    .summary = "the rules of lint, and what is known to be dangerous",
    .flags = &flags,
    WORK(print, struct rules_arguments),
};
