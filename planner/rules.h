/*
 * Rules about one subject: which rows of the table of dangerous libraries (and of the policy's own
 * rules) fire, on what, and what that means for a method (docs/planner.md, rules).
 *
 * Simulation outranks rules: `ok`, `keep`, `mirror`, `hint` and `warn` are shown, and it is the
 * criteria that decide. Two verdicts are obeyed: `refuse` shuts the gate `rule`, `bare` leaves a
 * needed name as it is.
 */
#pragma once

#include "linter/danger.h"
#include "planner/strategy.h"

enum ruling_on { RULING_NAME, RULING_OBJECT, RULING_RUN_PATH, RULING_PACKAGE, RULING_ENVIRONMENT };

struct ruling {
    const struct danger *rule;
    enum ruling_on on;
    const char *what; /* the name, path, directory, variable */
};

/* Fill `ruling` of a subject. */
void rulings_find(struct subject *subject);

/* What a rule says about a method. */
enum danger_verdict ruling_verdict(const struct danger *rule, enum method method);

/* The rule that says `bare` about a needed name; NULL: none. */
const struct danger *ruling_bare(const struct subject *subject, const char *name,
                                 enum method method);

/* "name", "object", "run-path", "package", "environment" */
const char *ruling_on_name(enum ruling_on on);
