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
    BASELINE_NEEDED,        /* LD_LIBRARY_PATH: decoys that bring a needed name of their own */
    BASELINE_DRIVERS,       /* the driver link has a build of every library, or LD_LIBRARY_PATH */
    BASELINE_DECLARED,      /* what the loaded objects declare they will dlopen */
    BASELINE_SECURE,        /* a set-id start */
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
    /*
     * Decoys with one more needed name, and those names: of the libraries that load drivers, where
     * there are some, else of all.
     */
    struct decoy *bringing;
    size_t n_bringing;
    const char *driver;      /* a library of the graph that loads drivers; NULL: none */
    const char *driver_link; /* the driver directory in somebody's run path; NULL: in none */
    /*
     * Hosts do replace its driver libraries: the driver link has its say before a library is found,
     * or the environment overrides libraries. How, for people; NULL: they do not.
     */
    const char *host_replaces;
    size_t initrd_missing; /* as built: needed names that no run path finds */
    struct decoy *in_link; /* of BASELINE_DRIVERS */
    size_t n_in_link;
    struct rig *rig; /* as built, with the decoys of every scenario but BASELINE_DRIVERS */
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
    struct rig rig;               /* with the edits, and the decoys as in the trial's */
    struct run after[MAX_LEVELS]; /* as is, a run for each level */
    struct storm declared_after;  /* filled by the criterion dlopen */
};

/* How a verdict comes about. */
enum decided_by { BY_SIMULATION, BY_RULES, BY_COUNTING, BY_DATA };

struct criterion {
    const char *id;
    const char *question;
    enum decided_by by;
    enum {
        NOT_REQUIRED,      /* a failure is a warning */
        REQUIRED,          /* a failure rules the proposal out */
        REQUIRED_OVERRIDE, /* ... where the policy wants overrides to keep winning */
    } required;            /* unless the policy lists what is required */
    int (*judge)(struct judge *judge, struct judgement *ret, struct err *err);
};

enum { N_CRITERIA = 20 };

/* The table. */
const struct criterion *criteria(void);

/* "simulate", "rules", "counted", "data" */
const char *decided_by_name(enum decided_by by);

/* Must this criterion not fail under the policy? */
bool criterion_required(const struct criterion *criterion, const struct policy *policy);

/* Its row by id; NULL: none. */
const struct criterion *criterion_find(const char *id);

/* What came of one proposal. */
struct verdicts {
    struct judgement judgement[N_CRITERIA];
    struct storm after[MAX_LEVELS];               /* start-up, a level each */
    struct storm declared_before, declared_after; /* declared dlopens, on the policy's level */
    bool fails;                                   /* a criterion that the policy asks for fails */
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

struct edits_cost {
    uint64_t bytes;  /* of links and of what files grow by */
    uint64_t inodes; /* links and directories of farms */
};
struct edits_cost edits_cost(const struct subject *subject, const struct edits *edits);

/* criteria_driver.c */
int judge_override_needed(struct judge *judge, struct judgement *ret, struct err *err);
int judge_glvnd_switch(struct judge *judge, struct judgement *ret, struct err *err);
/* criteria_dlopen.c */
int judge_dlopen(struct judge *judge, struct judgement *ret, struct err *err);
int judge_secure_exec(struct judge *judge, struct judgement *ret, struct err *err);
int judge_hwcaps_floor(struct judge *judge, struct judgement *ret, struct err *err);
/* criteria_data.c */
int judge_cross(struct judge *judge, struct judgement *ret, struct err *err);
int judge_needs(struct judge *judge, struct judgement *ret, struct err *err);
int judge_maintenance(struct judge *judge, struct judgement *ret, struct err *err);
int judge_rewrite_safety(struct judge *judge, struct judgement *ret, struct err *err);
int judge_initrd(struct judge *judge, struct judgement *ret, struct err *err);
size_t initrd_missing(const struct subject *subject);
int judge_graft_safe(struct judge *judge, struct judgement *ret, struct err *err);

/*
 * criteria_override.c: every decoy that was loaded before must be loaded after, and what it stands
 * for must not come in beside it. Returns how many more are loaded than before.
 */
size_t compare_winners(const struct trace *before, const struct trace *after,
                       const struct decoy *decoy, size_t n, struct judgement *ret);

/* Is the order of what both load the same, by path? */
bool same_order(const struct trace *before, const struct trace *after);

/* trial.c: a world with edits (NULL: none), and the decoys of every scenario that shares it. */
MUST_CHECK int trial_rig(const struct trial *trial, const struct edits *edits, bool reader,
                         struct rig *ret_rig, struct err *err);

/* trial.c: run a scenario of the trial again, with the judge's edits. */
MUST_CHECK int trial_run(struct judge *judge, enum baseline_id id, struct run *ret_run,
                         struct err *err);
