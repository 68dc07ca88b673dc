/*
 * Criteria: the checklist that edits are held against, as a table (docs/planner.md, criteria).
 *
 *	struct trial trial;
 *	trial_init(&trial, subject, &err);			the scenarios as built
 *	criteria_judge(&trial, method, &edits, &ret_judgement, &err);	and with the edits
 *	trial_release(&trial);
 *
 * Whatever a scenario can decide is decided by simulation: the same loader model is run as built
 * and with the edits, and the two answers are compared. Each verdict comes with evidence.
 */
#pragma once

#include "loader/storm.h"
#include "planner/simulate.h"
#include "planner/strategy.h"

enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_WARN, VERDICT_NOT_APPLICABLE };

/* "pass", "fail", "warn", "not-applicable"; -1: no such verdict. */
const char *verdict_name(enum verdict verdict);
int verdict_find(const char *name);

/* One thing seen. What does not apply is NULL. */
struct evidence {
    const char *object;         /* path or soname of who asked or was found */
    const char *soname;         /* the name asked for */
    const char *before, *after; /* what it was answered with */
    const char *note;           /* anything else, a short phrase */
};

enum { MAX_EVIDENCE = 12 }; /* kept of each judgement; the rest is counted */

struct judgement {
    struct arena *arena; /* where the evidence is copied to; NULL: it is borrowed */
    const char *criterion;
    enum verdict verdict;
    const char *reason;   /* one sentence */
    const char *scenario; /* what was simulated; NULL: nothing was */
    struct evidence evidence[MAX_EVIDENCE];
    size_t n_evidence, n_left_out;
};

/* A scenario as built: compared with the same one under each proposal. */
struct baseline {
    struct scenario scenario;
    struct run run;
};

enum baseline_id {
    BASELINE_SHAPES,        /* LD_LIBRARY_PATH: a copy of each library, with its needed names */
    BASELINE_EMPTY,         /* LD_LIBRARY_PATH: decoys that need nothing */
    BASELINE_PRELOAD,       /* LD_PRELOAD: decoys that need nothing, by path */
    BASELINE_PRELOAD_NAMES, /* LD_PRELOAD: real libraries by bare name */
    N_BASELINES,
};

/* Two builds of one soname within reach of the program. */
struct duplicate {
    const char *soname;
    const char *taken, *other; /* files: the one loaded, and one more */
};

struct trial {
    const struct subject *subject;
    struct arena *arena; /* the subject's */
    struct decoy *shape, *empty;
    size_t n_decoys; /* of each kind */
    struct baseline baseline[N_BASELINES];
    struct duplicate *duplicate;
    size_t n_duplicates;
};

MUST_CHECK int trial_init(struct trial *ret_trial, const struct subject *subject, struct err *err);
void trial_release(struct trial *trial);

/* One proposal under judgement; criteria.c fills it for the table's functions. */
struct judge {
    const struct trial *trial;
    const struct subject *subject;
    struct arena *arena;
    enum method method;
    const struct edits *edits;
    bool reader;                  /* simulated under a loader that reads notes */
    struct run after[MAX_LEVELS]; /* as is, a run for each level */
};

struct criterion {
    const char *id;
    const char *question;
    bool overrides; /* asked for only where the policy wants overrides to keep winning */
    int (*judge)(struct judge *judge, struct judgement *ret, struct err *err);
};

enum { N_CRITERIA = 9 };

/* The table. */
const struct criterion *criteria(void);

/* What came of one proposal. */
struct verdicts {
    struct judgement judgement[N_CRITERIA];
    struct storm after[MAX_LEVELS]; /* start-up, a level each */
    bool fails;                     /* a criterion that the policy asks for fails */
};

/*
 * Simulate the edits on every level and under every scenario, and hold them against the table.
 * Evidence is the arena's. Fails only when the world does.
 */
MUST_CHECK int criteria_judge(const struct trial *trial, enum method method,
                              const struct edits *edits, struct verdicts *ret_verdicts,
                              struct err *err);

/* ---- for the files that hold the table's functions */

void judgement_add(struct judgement *judgement, struct evidence evidence);

/* criteria_same.c */
int judge_same_libraries(struct judge *judge, struct judgement *ret, struct err *err);
int judge_duplicate_soname(struct judge *judge, struct judgement *ret, struct err *err);
int judge_hwcaps(struct judge *judge, struct judgement *ret, struct err *err);
int judge_self_location(struct judge *judge, struct judgement *ret, struct err *err);
/* criteria_override.c */
int judge_library_path(struct judge *judge, struct judgement *ret, struct err *err);
int judge_preload(struct judge *judge, struct judgement *ret, struct err *err);
/* criteria_file.c */
int judge_references(struct judge *judge, struct judgement *ret, struct err *err);
int judge_size(struct judge *judge, struct judgement *ret, struct err *err);
int judge_version_needs(struct judge *judge, struct judgement *ret, struct err *err);

/* trial.c: run a scenario of the trial again with edits; NULL edits: as built. */
MUST_CHECK int trial_run(const struct trial *trial, enum baseline_id id, const struct edits *edits,
                         bool reader, struct run *ret_run, struct err *err);
