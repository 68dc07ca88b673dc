#include "planner/criteria.h"

#include <string.h>

static const char *const verdict_names[] = {
    [VERDICT_PASS] = "pass",
    [VERDICT_FAIL] = "fail",
    [VERDICT_WARN] = "warn",
    [VERDICT_NOT_APPLICABLE] = "not-applicable",
};

const char *verdict_name(enum verdict verdict)
{
    return verdict_names[verdict];
}

int verdict_find(const char *name)
{
    int i;

    for (i = 0; i < (int)ARRAY_LEN(verdict_names); i++)
        if (!strcmp(verdict_names[i], name))
            return i;
    return -1;
}

static const struct criterion table[N_CRITERIA] = {
    {"same-libraries", "Does every object get the same files, in the same order, on every CPU?",
     BY_SIMULATION, REQUIRED, judge_same_libraries},
    {"ld-library-path", "Can every library still be replaced by LD_LIBRARY_PATH?", BY_SIMULATION,
     REQUIRED_OVERRIDE, judge_library_path},
    {"ld-preload", "Can every library still be preloaded?", BY_SIMULATION, REQUIRED_OVERRIDE,
     judge_preload},
    {"override-needed", "What of a replacement that brings needed names of its own?", BY_SIMULATION,
     REQUIRED_OVERRIDE, judge_override_needed},
    {"glvnd-switch", "Does the driver link keep its say, can driver libraries be switched?",
     BY_SIMULATION, REQUIRED_OVERRIDE, judge_glvnd_switch},
    {"duplicate-soname", "Where there are two builds of a library, does everyone get the same one?",
     BY_SIMULATION, REQUIRED, judge_duplicate_soname},
    {"dlopen", "Is what is known to be dlopened found as before?", BY_SIMULATION, REQUIRED,
     judge_dlopen},
    {"self-location", "Do objects that find files from their own path keep it?", BY_RULES, REQUIRED,
     judge_self_location},
    {"hwcaps", "Are builds for better CPUs still chosen?", BY_SIMULATION, REQUIRED, judge_hwcaps},
    {"hwcaps-floor", "How many probes of directories for CPUs remain?", BY_COUNTING, NOT_REQUIRED,
     judge_hwcaps_floor},
    {"cross", "Can it be decided and carried out without running target code?", BY_DATA,
     NOT_REQUIRED, judge_cross},
    {"needs", "Does it need a glibc, a patchelf or a library that is not there everywhere?",
     BY_DATA, REQUIRED, judge_needs},
    {"size", "What does it take on disk?", BY_COUNTING, REQUIRED, judge_size},
    {"references", "Which store paths are newly referenced?", BY_COUNTING, REQUIRED,
     judge_references},
    {"version-needs", "Does every file that a version is wanted from stay a needed name?",
     BY_COUNTING, REQUIRED, judge_version_needs},
    {"rewrite-safety", "Can the file be edited?", BY_RULES, REQUIRED, judge_rewrite_safety},
    {"secure-exec", "Does a set-id start load the same?", BY_SIMULATION, REQUIRED,
     judge_secure_exec},
    {"initrd", "Do makers of initial file systems find its libraries?", BY_SIMULATION, NOT_REQUIRED,
     judge_initrd},
    {"graft-safe", "Does it survive when hashes of store paths are rewritten?", BY_COUNTING,
     NOT_REQUIRED, judge_graft_safe},
    {"maintenance", "What must be carried along for years, and by whom?", BY_DATA, NOT_REQUIRED,
     judge_maintenance},
};

const char *decided_by_name(enum decided_by by)
{
    static const char *const names[] = {"simulate", "rules", "counted", "data"};

    return names[by];
}

bool criterion_required(const struct criterion *c, const struct policy *policy)
{
    size_t i;

    if (!policy->required)
        return c->required == REQUIRED || (c->required == REQUIRED_OVERRIDE && policy->overrides);
    for (i = 0; i < policy->n_required; i++)
        if (!strcmp(policy->required[i], c->id))
            return true;
    return false;
}

const struct criterion *criterion_find(const char *id)
{
    const struct criterion *c;

    for_each (c, table)
        if (!strcmp(c->id, id))
            return c;
    return NULL;
}

const struct criterion *criteria(void)
{
    return table;
}

static void keep(struct arena *arena, const char **text)
{
    if (*text)
        *text = arena_strdup(arena, *text);
}

void judgement_add(struct judgement *j, struct evidence evidence)
{
    struct evidence *e = &j->evidence[j->n_evidence];

    if (j->n_evidence == MAX_EVIDENCE) {
        j->n_left_out++;
        return;
    }
    *e = evidence;
    j->n_evidence++;
    if (!j->arena)
        return;
    keep(j->arena, &e->object); /* what it points into may be a run that is closed soon */
    keep(j->arena, &e->soname);
    keep(j->arena, &e->before);
    keep(j->arena, &e->after);
    keep(j->arena, &e->note);
}

static int run_levels(struct judge *judge, struct err *err)
{
    const struct scenario as_is = {.name = "as it is", .reader = judge->reader};
    size_t i;
    int r = 0;

    for (i = 0; i < judge->subject->n_levels && r == 0; i++)
        r = rig_start(&judge->rig, &as_is, i, &judge->after[i], err);
    return r;
}

int criteria_judge(const struct trial *trial, enum method method, const struct edits *edits,
                   struct verdicts *ret_verdicts, struct err *err)
{
    struct judge judge = {
        .trial = trial,
        .subject = trial->subject,
        .arena = trial->arena,
        .method = method,
        .edits = edits,
        .reader = method == METHOD_NOTE_OWN,
    };
    struct verdicts v = {0};
    size_t i;
    int r = trial_rig(trial, edits, judge.reader, &judge.rig, err);

    if (r < 0)
        return r;
    r = run_levels(&judge, err);
    for (i = 0; i < N_CRITERIA && r == 0; i++) {
        v.judgement[i] =
            (struct judgement){.arena = trial->arena, .criterion = table[i].id, .reason = ""};
        r = table[i].judge(&judge, &v.judgement[i], err);
        if (v.judgement[i].verdict != VERDICT_FAIL)
            continue;
        if (criterion_required(&table[i], trial->subject->policy))
            v.fails = true;
        else
            v.judgement[i].verdict = VERDICT_WARN; /* the policy does not ask for it */
    }
    for (i = 0; i < trial->subject->n_levels; i++) {
        v.after[i] = judge.after[i].trace.storm;
        run_close(&judge.after[i]);
    }
    rig_close(&judge.rig);
    v.declared_before = trial->baseline[BASELINE_DECLARED].run.trace.dlopen;
    v.declared_after = judge.declared_after;
    if (r == 0)
        *ret_verdicts = v;
    return r;
}
