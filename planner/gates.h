/*
 * Gates: what must not even be tried, decided from ELF facts and the directory tree alone
 * (docs/planner.md, gates). A criterion compares what came out; a gate looks at what is there.
 */
#pragma once

#include "planner/strategy.h"

struct gate {
    const char *id;
    const char *criterion; /* the criterion that it settles before anything is simulated */
    const char *question;  /* yes: the gate is shut */
    unsigned methods;      /* METHOD_BIT()s that it guards */
    /* NULL: open. Else the reason, a sentence with names. */
    const char *(*check)(const struct subject *subject, enum method method);
};

/* ---- gates_reader.c: before a closure note */

const char *gate_machine(const struct subject *subject, enum method method);
const char *gate_glibc_too_old(const struct subject *subject, enum method method);
const char *gate_audit_taken(const struct subject *subject, enum method method);
const char *gate_sanitizer(const struct subject *subject, enum method method);
const char *gate_class_machine(const struct subject *subject, enum method method);
const char *gate_interpreter(const struct subject *subject, enum method method);
const char *gate_not_worth_it(const struct subject *subject, enum method method);
const char *gate_static_tls(const struct subject *subject, enum method method);

/* ---- the table, in the order asked; ends with a row without id */

const struct gate *gates(void);

/* The first gate that is shut for a method, with its reason; NULL: all open. */
const struct gate *gate_shut(const struct subject *subject, enum method method,
                             const char **ret_reason);
