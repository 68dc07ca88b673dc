/*
 * Rules: what can be wrong, as a table: one row a rule, one small check function each.
 *
 * Codes and ids are stable: never renumbered, never used again for something else. Each rule has
 * its page docs/rules/ID.md (`stormlint lint --explain ID`), and a closure that trips it beside a
 * near miss that does not (tests/lint/).
 */
#pragma once

#include "base/base.h"

enum severity {
    SEVERITY_NOTE,
    SEVERITY_WARNING,
    SEVERITY_ERROR,
    SEVERITY_NEVER, /* of no finding: a limit that none reaches */
};

/* How sure a finding is that there is something wrong. */
enum confidence {
    CONFIDENCE_GUESS,   /* a hint that somebody should look */
    CONFIDENCE_LIKELY,  /* true unless something unknown to the closure helps */
    CONFIDENCE_CERTAIN, /* follows from the files */
};

/* What a check is called for. */
enum rule_scope {
    RULE_OBJECT,  /* each object by itself */
    RULE_PROCESS, /* each start: of a program; of a library that no program has, by itself */
    RULE_PACKAGE, /* each package */
    RULE_CLOSURE, /* once */
};

struct check;

struct rule {
    const char *code; /* "R201" */
    const char *id;   /* "needed-unresolved" */
    enum severity severity;
    enum confidence confidence;
    enum rule_scope scope;
    bool opt_in;         /* only when asked for by --rule */
    bool live;           /* needs files: an index does not hold what it looks at */
    const char *summary; /* the defect, half a sentence */
    const char *fix;     /* what to do, half a sentence */
    void (*check)(struct check *check);
};

enum { N_RULES = 46 };

/* The table, in the order of codes. */
const struct rule *rules(void);

/* By id or code; NULL: there is none. */
const struct rule *rule_find(const char *name);

/* Its page, Markdown. */
const char *rule_page(const struct rule *rule);

/* "error", "warning", "note"; false: no such severity. */
const char *severity_name(enum severity severity);
bool severity_find(const char *name, enum severity *ret_severity);
const char *confidence_name(enum confidence confidence);
const char *rule_scope_name(enum rule_scope scope);
