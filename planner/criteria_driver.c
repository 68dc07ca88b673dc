/*
 * Criteria about what hosts replace: libraries that load drivers, and the driver link.
 */
#include "base/str.h"
#include "planner/criteria.h"

#include <string.h>

static size_t place_of(const struct trace *trace, const char *path)
{
    size_t i;

    for (i = 1; i < trace->n_loaded && strcmp(trace->loaded[i].path, path) != 0; i++)
        ;
    return i < trace->n_loaded ? i : SIZE_MAX;
}

/* What stands before `path`, among what both starts load. */
static const char *before_it(const struct trace *in, const struct trace *other, const char *path)
{
    size_t i = place_of(in, path);

    while (i != SIZE_MAX && --i > 0)
        if (place_of(other, in->loaded[i].path) != SIZE_MAX)
            return in->loaded[i].path;
    return "the program";
}

/* The needed names of replacements that are loaded at another place than before. */
static void name_moved(const struct judge *judge, const struct trace *before,
                       const struct trace *after, struct judgement *ret)
{
    const struct trial *t = judge->trial;
    size_t i;

    for (i = 1; i < t->n_bringing; i += 2) {
        const char *path = t->bringing[i].path, *was, *is;

        if (place_of(before, path) == SIZE_MAX || place_of(after, path) == SIZE_MAX)
            continue;
        was = before_it(before, after, path);
        is = before_it(after, before, path);
        if (strcmp(was, is) != 0)
            judgement_add(ret, (struct evidence){
                                   .soname = t->bringing[i - 1].name,
                                   .before = arena_printf(judge->arena,
                                                          "what it needs comes "
                                                          "after %s",
                                                          str_base(was)),
                                   .after = arena_printf(judge->arena, "after %s", str_base(is)),
                               });
    }
}

int judge_override_needed(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct trial *t = judge->trial;
    const struct trace *before = &t->baseline[BASELINE_NEEDED].run.trace;
    CLEANUP(run_close) struct run run = {0};
    const char *what = t->driver ? t->driver : "any library";
    int r;

    ret->scenario = t->baseline[BASELINE_NEEDED].scenario.name;
    if (t->n_bringing == 0) {
        ret->verdict = VERDICT_NOT_APPLICABLE;
        ret->reason = "it asks for no library by name";
        return 0;
    }
    if ((r = trial_run(judge, BASELINE_NEEDED, &run, err)) < 0)
        return r;
    compare_winners(before, &run.trace, t->bringing, t->n_bringing, ret);
    if (ret->n_evidence) {
        ret->verdict = VERDICT_FAIL;
        ret->reason = "a replacement, or what it needs, is not loaded any more";
        return 0;
    }
    name_moved(judge, before, &run.trace, ret);
    if (ret->n_evidence == 0 && same_order(before, &run.trace)) {
        ret->verdict = VERDICT_PASS;
        ret->reason = arena_printf(
            judge->arena, "replacements of %s bring what they need, in the order as built", what);
        return 0;
    }
    ret->verdict = t->host_replaces ? VERDICT_FAIL : VERDICT_WARN;
    ret->reason = arena_printf(
        judge->arena, "what a replacement of %s needs itself is loaded later than as built%s", what,
        t->host_replaces
            ? arena_printf(judge->arena, ", and here hosts do replace such libraries (%s)",
                           t->host_replaces)
            : "");
    return 0;
}

int judge_glvnd_switch(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct trial *t = judge->trial;
    const struct trace *before = &t->baseline[BASELINE_DRIVERS].run.trace;
    CLEANUP(run_close) struct run run = {0};
    int r;

    ret->scenario = t->baseline[BASELINE_DRIVERS].scenario.name;
    if (t->n_in_link == 0) {
        ret->verdict = VERDICT_NOT_APPLICABLE;
        ret->reason = "it reaches no library that loads drivers, and nobody's run path has the "
                      "driver link";
        return 0;
    }
    if ((r = trial_run(judge, BASELINE_DRIVERS, &run, err)) < 0)
        return r;
    compare_winners(before, &run.trace, t->in_link, t->n_in_link, ret);
    ret->verdict = VERDICT_PASS;
    if (ret->n_evidence) {
        ret->verdict = VERDICT_FAIL;
        ret->reason = arena_printf(judge->arena,
                                   "%zu libraries are not taken from where hosts put "
                                   "them any more",
                                   ret->n_evidence + ret->n_left_out);
    } else
        ret->reason =
            t->driver_link
                ? arena_printf(judge->arena, "what appears in %s later wins where it won before",
                               t->driver_link)
                : arena_printf(judge->arena, "%s can be switched by LD_LIBRARY_PATH", t->driver);
    return 0;
}
