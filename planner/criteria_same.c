/*
 * Criteria that compare the start as built with the start after the edits: which files, in which
 * order, by which path.
 */
#include "planner/criteria.h"

#include <string.h>

/* The requests of one object: they follow each other in the list. */
static size_t first_of(const struct trace *trace, int asker, size_t *ret_n)
{
    size_t i, first;

    for (first = 0; first < trace->n_requests; first++)
        if (trace->request[first].asker == asker && trace->request[first].phase == 0)
            break;
    for (i = first; i < trace->n_requests && trace->request[i].asker == asker; i++)
        ;
    *ret_n = i - first;
    return first;
}

static const char *path_of(const struct trace *trace, int answer)
{
    return answer >= 0 ? trace->loaded[answer].path : "nothing";
}

/*
 * Who asked for what and got which: the same for every object but the program, whose list of
 * names may be another one. Load lists are equal already, so that indices can be compared. `only`:
 * NULL, or one name.
 */
static void compare_answers(const struct trace *before, const struct trace *after, const char *only,
                            struct judgement *ret)
{
    size_t i, k, a, b, n_a, n_b;

    for (i = 1; i < before->n_loaded; i++) {
        a = first_of(before, (int)i, &n_a);
        b = first_of(after, (int)i, &n_b);
        for (k = 0; k < n_a; k++) {
            const struct request *x = &before->request[a + k];
            const struct request *y = k < n_b ? &after->request[b + k] : NULL;

            if (only && strcmp(x->name, only) != 0)
                continue;
            if (!y || strcmp(x->name, y->name) != 0 || x->answer != y->answer)
                judgement_add(ret, (struct evidence){.object = before->loaded[i].path,
                                                     .soname = x->name,
                                                     .before = path_of(before, x->answer),
                                                     .after = path_of(after, y ? y->answer : -1)});
        }
    }
}

/* One start: false, and evidence, when something is another. */
static bool same_start(const struct judge *judge, const struct trace *before,
                       const struct trace *after, const char *cpu, struct judgement *ret)
{
    size_t at = first_load_difference(before, after), had = ret->n_evidence;

    if (before->exit != after->exit)
        judgement_add(
            ret,
            (struct evidence){.before = before->exit_text, .after = after->exit_text, .note = cpu});
    else if (at != SIZE_MAX)
        judgement_add(
            ret,
            (struct evidence){.before = at < before->n_loaded ? before->loaded[at].path : "the end",
                              .after = at < after->n_loaded ? after->loaded[at].path : "the end",
                              .note = arena_printf(judge->arena, "place %zu on %s", at + 1, cpu)});
    else
        compare_answers(before, after, NULL, ret);
    return ret->n_evidence == had;
}

/* The same under the variables that its wrapper sets. `ret_text`: what it costs there. */
static int same_overridden(struct judge *judge, struct judgement *ret, bool *ret_same,
                           const char **ret_text, struct err *err)
{
    const struct subject *s = judge->subject;
    const struct scenario scenario = {.overridden = true, .reader = judge->reader};
    const struct scenario as_built = {.overridden = true};
    CLEANUP(run_close) struct run before = {0};
    CLEANUP(run_close) struct run after = {0};
    const struct storm *b = &before.trace.storm, *a = &after.trace.storm;
    int r;

    if ((r = rig_start(judge->trial->rig, &as_built, s->policy_level, &before, err)) < 0 ||
        (r = rig_start(&judge->rig, &scenario, s->policy_level, &after, err)) < 0)
        return r;
    *ret_same = same_start(judge, &before.trace, &after.trace, "with its environment", ret);
    *ret_text = arena_printf(judge->arena,
                             "; with the variables of its environment, too (failed opens and stats "
                             "there: %u+%u become %u+%u)",
                             b->failed_opens, b->failed_stats, a->failed_opens, a->failed_stats);
    return 0;
}

int judge_same_libraries(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct subject *s = judge->subject;
    const char *overridden = "";
    bool same = true, more = true;
    size_t i;
    int r;

    for (i = 0; i < s->n_levels; i++)
        same &= same_start(judge, &s->level[i].trace, &judge->after[i].trace, s->level[i].cpu.name,
                           ret);
    if (subject_is_overridden(s) && (r = same_overridden(judge, ret, &more, &overridden, err)) < 0)
        return r;
    ret->scenario = "start on every CPU level";
    ret->verdict = same && more ? VERDICT_PASS : VERDICT_FAIL;
    if (!same)
        ret->reason = "another file, another order, or another end";
    else if (!more)
        ret->reason = "another file or order with LD_LIBRARY_PATH or LD_PRELOAD as its wrapper "
                      "sets them";
    else
        ret->reason = arena_printf(
            judge->arena, "the same %zu objects in the same order on %zu CPU level%s%s",
            s->trace->n_loaded, s->n_levels, s->n_levels > 1 ? "s" : "", overridden);
    return 0;
}

int judge_duplicate_soname(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct trial *t = judge->trial;
    const struct trace *before = judge->subject->trace;
    const struct trace *after = &judge->after[judge->subject->policy_level].trace;
    size_t i;

    (void)err;
    ret->scenario = "start; who asks for a name that has two builds, and gets which";
    if (t->n_duplicates == 0) {
        ret->verdict = VERDICT_NOT_APPLICABLE;
        ret->reason = "no library has two builds within reach of this program";
        return 0;
    }
    ret->verdict = VERDICT_PASS;
    if (first_load_difference(before, after) != SIZE_MAX) {
        ret->verdict = VERDICT_FAIL;
        ret->reason = "other files are loaded: see same-libraries";
        return 0;
    }
    for (i = 0; i < t->n_duplicates; i++)
        compare_answers(before, after, t->duplicate[i].soname, ret);
    if (ret->n_evidence) {
        ret->verdict = VERDICT_FAIL;
        ret->reason = "somebody gets another build than before";
        return 0;
    }
    for (i = 0; i < t->n_duplicates; i++)
        judgement_add(ret, (struct evidence){.soname = t->duplicate[i].soname,
                                             .object = t->duplicate[i].other,
                                             .note = "another build within reach, not taken"});
    ret->reason = arena_printf(judge->arena,
                               "%zu name%s another build within reach; everybody gets "
                               "the same one as before",
                               t->n_duplicates, t->n_duplicates > 1 ? "s have" : " has");
    return 0;
}

/* ---- builds for better CPUs */

static bool is_variant(const char *path)
{
    return strstr(path, "/glibc-hwcaps/") != NULL;
}

int judge_hwcaps(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct subject *s = judge->subject;
    size_t i, k, n_variants = 0;

    (void)err;
    ret->scenario = "start on every CPU level";
    ret->verdict = VERDICT_PASS;
    for (i = 0; i < s->n_levels; i++) {
        const struct trace *before = &s->level[i].trace, *after = &judge->after[i].trace;

        for (k = 1; k < before->n_loaded; k++) {
            const struct loaded *is = k < after->n_loaded ? &after->loaded[k] : NULL;

            /* a build for better CPUs that is taken where it was not is wrong, too */
            if (!before->loaded[k].node ||
                (!is_variant(before->loaded[k].path) && !(is && is->node && is_variant(is->path))))
                continue;
            n_variants++;
            if (is && same_file(&before->loaded[k], is))
                continue;
            ret->verdict = VERDICT_FAIL;
            judgement_add(ret, (struct evidence){
                                   .soname = before->loaded[k].soname,
                                   .before = before->loaded[k].path,
                                   .after = k < after->n_loaded ? after->loaded[k].path : "nothing",
                                   .note = s->level[i].cpu.name});
        }
    }
    if (n_variants == 0) {
        ret->verdict = VERDICT_NOT_APPLICABLE;
        ret->reason = "no library comes in builds for some CPUs";
    } else if (ret->verdict == VERDICT_FAIL)
        ret->reason = "some CPU gets a build that is not the one for it";
    else
        ret->reason = "every build for better CPUs is chosen as before";
    return 0;
}

/* ---- objects that find files from their own path */

int judge_self_location(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct subject *s = judge->subject;
    const struct trace *after = &judge->after[s->policy_level].trace;
    size_t i, k, n_keep = 0, n_lost = 0, n_cleared = 0;

    (void)err;
    ret->scenario = "start; the path each object is opened by";
    for (i = 1; i < s->trace->n_loaded; i++) {
        const struct member *m = &s->member[i];

        if (!m->keep && !m->cleared)
            continue;
        for (k = 1; k < after->n_loaded && !same_file(m->loaded, &after->loaded[k]); k++)
            ;
        n_keep += m->keep != NULL;
        if (k < after->n_loaded && !strcmp(m->loaded->path, after->loaded[k].path))
            continue;
        n_lost += m->keep != NULL;
        n_cleared += m->cleared != NULL;
        judgement_add(
            ret, (struct evidence){.soname = m->loaded->soname,
                                   .before = m->loaded->path,
                                   .after = k < after->n_loaded ? after->loaded[k].path : "nothing",
                                   .note = m->keep ? m->keep : m->cleared});
    }
    ret->verdict = n_lost               ? VERDICT_FAIL
                   : n_keep + n_cleared ? VERDICT_PASS
                                        : VERDICT_NOT_APPLICABLE;
    if (n_lost)
        ret->reason = arena_printf(judge->arena,
                                   "%zu object%s find%s files from the path, and the "
                                   "path is another one",
                                   n_lost, n_lost > 1 ? "s" : "", n_lost > 1 ? "" : "s");
    else if (n_keep + n_cleared)
        ret->reason =
            arena_printf(judge->arena,
                         "%zu object%s could find files from the path: %zu keep it, for "
                         "%zu it does not matter",
                         n_keep + n_cleared, n_keep + n_cleared > 1 ? "s" : "", n_keep, n_cleared);
    else
        ret->reason = "no object whose path changes could find files from it";
    return 0;
}
