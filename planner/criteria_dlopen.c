/*
 * Criteria that run more than a plain start: dlopens that are known beforehand, set-id starts, and
 * what a start still asks of directories for CPUs.
 */
#include "planner/criteria.h"

#include <inttypes.h>
#include <string.h>

static const struct phase *phase_of(const struct trace *trace, size_t i)
{
    return i < trace->n_phases ? &trace->phase[i] : NULL;
}

/* The file that the i-th dlopen was answered with; NULL: none. */
static const struct loaded *opened_by(const struct trace *trace, size_t i)
{
    size_t k;

    for (k = 0; k < trace->n_requests; k++) {
        const struct request *q = &trace->request[k];

        if (q->kind == REQUEST_DLOPEN && q->phase == (int)i + 1)
            return q->answer >= 0 ? &trace->loaded[q->answer] : NULL;
    }
    return NULL;
}

static const char *caller_of(const struct trace *trace, const struct phase *phase)
{
    return phase->caller >= 0 ? trace->loaded[phase->caller].path : NULL;
}

int judge_dlopen(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct trace *before = &judge->trial->baseline[BASELINE_DECLARED].run.trace;
    CLEANUP(run_close) struct run run = {0};
    const struct trace *after = &run.trace;
    size_t i;
    int r;

    ret->scenario = judge->trial->baseline[BASELINE_DECLARED].scenario.name;
    if (before->n_phases == 0) {
        ret->verdict = VERDICT_NOT_APPLICABLE;
        ret->reason = "nothing that it loads declares a dlopen";
        return 0;
    }
    r = trial_run(judge, BASELINE_DECLARED, &run, err);
    if (r < 0)
        return r;
    judge->declared_after = after->dlopen;
    for (i = 0; i < before->n_phases; i++) {
        const struct phase *x = phase_of(before, i), *y = phase_of(after, i);
        const struct loaded *was = opened_by(before, i), *is = y ? opened_by(after, i) : NULL;

        if (y && !strcmp(x->name, y->name) && x->succeeds == y->succeeds &&
            (!was || (is && same_file(was, is))))
            continue;
        judgement_add(ret, (struct evidence){.object = caller_of(before, x),
                                             .soname = x->name,
                                             .before = was ? was->path : "nothing",
                                             .after = is ? is->path : "nothing"});
    }
    ret->verdict = ret->n_evidence ? VERDICT_FAIL : VERDICT_PASS;
    ret->reason = arena_printf(
        judge->arena,
        "%zu declared dlopens, each once: %s; %" PRIu32 "+%" PRIu32
        " failed calls as built, %" PRIu32 "+%" PRIu32 " afterwards",
        before->n_phases, ret->n_evidence ? "some are answered otherwise" : "answered as before",
        before->dlopen.failed_opens, before->dlopen.failed_stats, after->dlopen.failed_opens,
        after->dlopen.failed_stats);
    return 0;
}

int judge_secure_exec(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct trace *before = &judge->trial->baseline[BASELINE_SECURE].run.trace;
    CLEANUP(run_close) struct run run = {0};
    size_t at;
    int r;

    ret->scenario = judge->trial->baseline[BASELINE_SECURE].scenario.name;
    if (judge->subject->kind != SUBJECT_PROGRAM) {
        ret->verdict = VERDICT_NOT_APPLICABLE;
        ret->reason = "set-id starts are a matter of the program that loads it";
        return 0;
    }
    if (before->exit != EXIT_OK) {
        ret->verdict = VERDICT_NOT_APPLICABLE;
        ret->reason = arena_printf(
            judge->arena, "as built it does not start as a set-id program: %s", before->exit_text);
        return 0;
    }
    r = trial_run(judge, BASELINE_SECURE, &run, err);
    if (r < 0)
        return r;
    at = first_load_difference(before, &run.trace);
    ret->verdict = VERDICT_PASS;
    ret->reason = "the same files in the same order";
    if (run.trace.exit == EXIT_OK && at == SIZE_MAX)
        return 0;
    ret->verdict = VERDICT_FAIL;
    ret->reason = run.trace.exit == EXIT_OK
                      ? "another file or another order"
                      : arena_printf(judge->arena, "it would not start: %s", run.trace.exit_text);
    if (at != SIZE_MAX)
        judgement_add(
            ret, (struct evidence){
                     .before = at < before->n_loaded ? before->loaded[at].path : "the end",
                     .after = at < run.trace.n_loaded ? run.trace.loaded[at].path : "the end"});
    return 0;
}

int judge_hwcaps_floor(struct judge *judge, struct judgement *ret, struct err *err)
{
    const size_t level = judge->subject->policy_level;
    const struct trace *traces[] = {&judge->subject->level[level].trace,
                                    &judge->after[level].trace};
    size_t n[2] = {0}, i, k;

    (void)err;
    for (k = 0; k < ARRAY_LEN(traces); k++)
        for (i = 0; i < traces[k]->n_calls; i++) {
            const struct call *call = &traces[k]->call[i];

            if (call->error == 0 || call->phase || !strstr(call->path, "/glibc-hwcaps/"))
                continue;
            n[k]++;
            if (k == 1)
                judgement_add(ret, (struct evidence){.object = call->path});
        }
    ret->scenario = "start on the policy's CPU; failed calls below glibc-hwcaps";
    ret->verdict = n[1] ? VERDICT_WARN : VERDICT_PASS;
    ret->reason = arena_printf(judge->arena, "%zu of %zu such probes remain", n[1], n[0]);
    return 0;
}
