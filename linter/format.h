/*
 * Findings in the forms that other programs read. Text for people is cli/lint_text.h.
 *
 *	format_find("sarif")->print(&report, stdout, &err);
 */
#pragma once

#include "base/json.h"
#include "linter/lint.h"
#include "linter/suppress.h"

struct lint_report {
    const struct lint_result *result;
    const struct suppressions *suppressions; /* NULL: none */
    const char *cpu;
    const char *name;      /* what was linted, for whoever compares runs: "nixos:unstable" */
    bool compared;         /* with a baseline: findings are new or known */
    enum severity fail_on; /* open findings of at least this severity fail */
    struct arena *arena;
};

struct format {
    const char *name;
    int (*print)(const struct lint_report *report, FILE *to, struct err *err);
};

/* NULL: no such format. "text" is not among them. */
const struct format *format_find(const char *name);

/* Are there open findings that fail, or suppressions that are told, where notes fail? */
bool report_fails(const struct lint_report *report);

/* Its message, and whom to tell where that is known: "... (hello: maintained by @jane)". */
const char *finding_told(const struct finding *finding, struct arena *arena);

/* Where the page of a rule is on the web. */
const char *rule_url(const struct rule *rule, struct arena *arena);

int format_json(const struct lint_report *report, FILE *to, struct err *err);
int format_sarif(const struct lint_report *report, FILE *to, struct err *err);
int format_junit(const struct lint_report *report, FILE *to, struct err *err);
int format_github(const struct lint_report *report, FILE *to, struct err *err);
