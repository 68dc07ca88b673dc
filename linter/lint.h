/*
 * Linting: every rule asked about everything in a closure.
 *
 *	struct lint_options o = {.cpu = &cpu};
 *	r = lint_run(&closure, &o, &arena, &result, &err);
 *
 * Whatever is a matter of starting is asked of the loader model: each program is started, each
 * library is loaded by itself (`ld.so LIBRARY`, as ldd does), and the checks look at the traces.
 */
#pragma once

#include "base/progress.h"
#include "linter/closure.h"
#include "linter/finding.h"
#include "loader/loader.h"

enum { PROBE_BUDGET = 200, PROBE_BUDGET_ERROR = 1000 };

struct lint_options {
    const struct cpu *cpu;
    const char *cwd;       /* of the loader's processes; NULL: "/" */
    const bool *rules;     /* N_RULES of them: which are asked; NULL: those that are not opt-in */
    uint32_t probe_budget; /* failed opens a start may cost; 0: PROBE_BUDGET */
    struct progress *progress; /* may be NULL */
    /* Told about every program's start; may be NULL. The trace is gone afterwards. */
    void (*each_start)(void *data, const struct lint_object *program, const struct trace *trace);
    void *data;
};

struct lint_result {
    struct findings findings;    /* sorted */
    const struct rule **unasked; /* rules that need files, and had an index only */
    size_t n_unasked;
    size_t n_objects, n_programs, n_packages;
    bool incomplete; /* something could not be read */
};

/*
 * What findings say is `arena`'s; they themselves, paths and packages are the closure's, which must
 * outlive them. -ECANCELED: `progress` wants it to end.
 */
MUST_CHECK int lint_run(struct closure *closure, const struct lint_options *options,
                        struct arena *arena, struct lint_result *ret_result, struct err *err);
