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
     false, judge_same_libraries},
    {"ld-library-path", "Can every library still be replaced by LD_LIBRARY_PATH?", true,
     judge_library_path},
    {"ld-preload", "Can every library still be preloaded?", true, judge_preload},
    {"duplicate-soname", "Where there are two builds of a library, does everyone get the same one?",
     false, judge_duplicate_soname},
    {"hwcaps", "Are builds for better CPUs still chosen?", false, judge_hwcaps},
    {"self-location", "Do objects that find files from their own path keep it?", false,
     judge_self_location},
    {"references", "Which store paths are newly referenced?", false, judge_references},
    {"size", "What does it take on disk?", false, judge_size},
    {"version-needs", "Does every file that a version is wanted from stay a needed name?", false,
     judge_version_needs},
};

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
        r = simulate(judge->subject, judge->edits, &as_is, i, &judge->after[i], err);
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
    int r = run_levels(&judge, err);

    for (i = 0; i < N_CRITERIA && r == 0; i++) {
        v.judgement[i] =
            (struct judgement){.arena = trial->arena, .criterion = table[i].id, .reason = ""};
        r = table[i].judge(&judge, &v.judgement[i], err);
        if (v.judgement[i].verdict != VERDICT_FAIL)
            continue;
        if (table[i].overrides && !trial->subject->policy->overrides)
            v.judgement[i].verdict = VERDICT_WARN; /* the policy does not ask for it */
        else
            v.fails = true;
    }
    for (i = 0; i < trial->subject->n_levels; i++) {
        v.after[i] = judge.after[i].trace.storm;
        run_close(&judge.after[i]);
    }
    if (r == 0)
        *ret_verdicts = v;
    return r;
}
