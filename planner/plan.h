/*
 * Plans: what is to be done with a package, as data that outlives everything it was made from.
 *
 *	plan_put(&plan, n, &decision, &arena);	one object more
 *	plan_write(...), plan_read(...)		planner/plan_json.h
 *
 * A store path's hash changes as soon as a plan is carried out, so that a plan is keyed by (system,
 * pname, version, output, path in the output, soname), and what it changes is told without hashes;
 * store paths stand in it as evidence only.
 */
#pragma once

#include "planner/decide.h"

#define PLAN_SCHEMA "stormlint-plan/1"

struct plan_key {
    const char *system;  /* "x86_64-linux" */
    const char *pname;   /* "ffmpeg" */
    const char *version; /* "7.1.5"; NULL: the name has none */
    const char *output;  /* "out", "bin", ... */
};

struct plan_level {
    const char *cpu;
    struct storm before, after; /* start-up; after: this package alone */
};

struct plan_judgement {
    const char *criterion;
    enum verdict verdict;
    const char *reason, *scenario; /* scenario: NULL when nothing was simulated */
    struct evidence *evidence;
    size_t n_evidence;
    uint32_t left_out; /* evidence that was counted, but not kept */
};

/* One method: the chosen one, and each that lost. */
struct plan_option {
    const char *strategy, *scope;
    const char *standing; /* "chosen", "gated", "nothing-to-do", "failed", "no-reader", "lost" */
    const char *rule, *reason; /* the gate, criterion or branch that spoke */
    struct plan_level *level;  /* of judged ones; before is the same in all */
    size_t n_levels;
    struct plan_judgement *judgement;
    size_t n_judgements;
};

/* What an object must be like for the plan to hold; paths without hashes. */
struct plan_expect {
    const char **needed;
    size_t n_needed;
    const char *run_path; /* NULL: none */
    const char *interp;
};

/* A rule that fired (planner/rules.h). */
struct plan_ruling {
    const char *rule;
    const char *on, *what;              /* "name" and "libGL.so.1"; without hashes */
    const char *absolute, *farm, *note; /* its verdicts */
    const char *why;
};

struct plan_object {
    const char *path;   /* in its output, "bin/ffmpeg"; outside packages: absolute */
    const char *soname; /* NULL: none */
    const char *kind;   /* "program", "root", "library" */
    const char *strategy, *scope;
    const char *rule, *reason;
    struct plan_expect expect;
    struct edits edits; /* with the store paths of when the plan was made: evidence */
    struct plan_option *option;
    size_t n_options;
    const char *program;  /* evidence: the file */
    const char *loader;   /* evidence: "glibc 2.41" */
    uint32_t n_libraries; /* evidence: start-up closure */
    /* Starts with everything planned that is; NULL: not looked at. On the plan's CPU. */
    const struct storm *own_package, *whole_closure;
    struct plan_ruling *ruling;
    size_t n_rulings;
    const char **note; /* sentences a maintainer should know */
    size_t n_notes;
};

struct plan {
    struct plan_key key;
    const char *policy; /* JSON text of policy_json(), one line */
    const char *cpu;    /* whose numbers decide */
    const char **store; /* what "without hashes" was made with */
    size_t n_stores;
    struct plan_object *object;
    size_t n_objects;
};

/* Start a plan for the package (or lone program) of a subject. All memory is `arena`'s. */
void plan_init(struct plan *ret_plan, const struct subject *subject, struct arena *arena);

/*
 * Make the object of a decision the plan's n-th: one more, or in place of the one that is there.
 * All memory is `arena`'s: a plan outlives its subjects and their world, but not its policy.
 */
void plan_put(struct plan *plan, size_t n, const struct decision *decision, struct arena *arena);

/* What the program of a subject is like now, paths without hashes. */
struct plan_expect plan_expect_of(const struct subject *subject, struct arena *arena);

/* Has a program the facts that an object of a plan was planned for, whatever its store paths? */
bool plan_expects(const struct plan *plan, const struct plan_object *of,
                  const struct object *object, struct arena *arena);

/* Is this a word for how an option stands? */
bool plan_is_standing(const char *word);

/* The option chosen for an object; never NULL. */
const struct plan_option *plan_chosen(const struct plan_object *object);

/* The level of a CPU in an option; NULL: it was not judged. */
const struct plan_level *plan_level(const struct plan_option *option, const char *cpu);
