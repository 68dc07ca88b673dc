/*
 * Criteria that put something in the way: overrides that won before must win after.
 */
#include "planner/criteria.h"

#include <stdlib.h>
#include <string.h>

/* ---- who won */

/* The paths of what is loaded, sorted. */
struct paths {
    const char **path;
    size_t n;
};

static int by_bytes(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

static struct paths paths_of(const struct trace *trace, struct arena *arena)
{
    struct paths paths = {.path = arena_calloc(arena, trace->n_loaded + 1, sizeof(char *))};
    size_t i;

    for (i = 1; i < trace->n_loaded; i++)
        paths.path[paths.n++] = trace->loaded[i].path;
    if (paths.n > 1)
        qsort(paths.path, paths.n, sizeof(*paths.path), by_bytes);
    return paths;
}

static bool has_path(const struct paths *paths, const char *path)
{
    return paths->n && bsearch(&path, paths->path, paths->n, sizeof(*paths->path), by_bytes);
}

static const char *loaded_original(const struct trace *trace, const struct decoy *d)
{
    size_t i;

    for (i = 1; i < trace->n_loaded; i++)
        if (trace->loaded[i].node && trace->loaded[i].node->dev == d->dev &&
            trace->loaded[i].node->ino == d->ino)
            return trace->loaded[i].path;
    return NULL;
}

size_t compare_winners(const struct trace *before, const struct trace *after,
                       const struct decoy *decoy, size_t n, struct judgement *ret)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const struct paths was = paths_of(before, &scratch), is = paths_of(after, &scratch);
    size_t i, more = 0;

    for (i = 0; i < n; i++) {
        bool won = has_path(&was, decoy[i].path);
        bool wins = has_path(&is, decoy[i].path);
        const char *original = loaded_original(after, &decoy[i]);

        if ((won && !wins) || (original && !loaded_original(before, &decoy[i])))
            judgement_add(ret, (struct evidence){.soname = decoy[i].name,
                                                 .before = won ? decoy[i].path : "not asked for",
                                                 .after = original ? original : "nothing"});
        more += wins && !won;
    }
    return more;
}

bool same_order(const struct trace *before, const struct trace *after)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const struct paths was = paths_of(before, &scratch), is = paths_of(after, &scratch);
    size_t i, at = 0;

    for (i = 1; i < before->n_loaded; i++) {
        if (!has_path(&is, before->loaded[i].path))
            continue;
        /* the next one of `after` that `before` has, too */
        for (at++; at < after->n_loaded && !has_path(&was, after->loaded[at].path); at++)
            ;
        if (at >= after->n_loaded || strcmp(before->loaded[i].path, after->loaded[at].path) != 0)
            return false;
    }
    return true;
}

/* ---- which of them does it: bisect */

struct suspects {
    struct judge *judge;
    struct decoy *decoy;
    size_t n;
};

/* Does the start with these decoys alone differ from what it was with them? 1: yes. */
static int differs(struct suspects *s, size_t first, size_t n, struct err *err)
{
    struct scenario scenario = s->judge->trial->baseline[BASELINE_SHAPES].scenario;
    CLEANUP(run_close) struct run before = {0};
    CLEANUP(run_close) struct run after = {0};
    struct judgement winners = {0};
    size_t level = s->judge->subject->policy_level;
    int r;

    scenario.decoys = s->decoy + first;
    scenario.n_decoys = n;
    if ((r = simulate(s->judge->subject, NULL, &scenario, level, &before, err)) < 0)
        return r;
    scenario.reader = s->judge->reader;
    if ((r = simulate(s->judge->subject, s->judge->edits, &scenario, level, &after, err)) < 0)
        return r;
    compare_winners(&before.trace, &after.trace, s->decoy + first, n, &winners);
    return winners.n_evidence > 0 || !same_order(&before.trace, &after.trace);
}

/* Halve the set as long as one half alone shows the difference. */
static int bisect(struct suspects *s, size_t *ret_first, size_t *ret_n, struct err *err)
{
    size_t first = 0, n = s->n, half;
    int r;

    while (n > 1) {
        half = n / 2;
        if ((r = differs(s, first, half, err)) < 0)
            return r;
        if (r) {
            n = half;
            continue;
        }
        if ((r = differs(s, first + half, n - half, err)) < 0)
            return r;
        if (!r)
            break; /* it takes some of both halves */
        first += half;
        n -= half;
    }
    *ret_first = first;
    *ret_n = n;
    return 0;
}

static int name_culprits(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct trial *t = judge->trial;
    struct suspects s = {.judge = judge, .decoy = t->shape, .n = t->n_decoys};
    size_t first, n, i;
    int r = bisect(&s, &first, &n, err);

    for (i = 0; r == 0 && i < n; i++)
        judgement_add(ret, (struct evidence){.soname = s.decoy[first + i].name,
                                             .before = "replaced, in this order",
                                             .after = "replaced, in another order"});
    return r;
}

/* ---- the criteria */

int judge_library_path(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct trial *t = judge->trial;
    CLEANUP(run_close) struct run shapes = {0};
    CLEANUP(run_close) struct run empty = {0};
    const struct trace *before = &t->baseline[BASELINE_SHAPES].run.trace;
    struct judgement ignored = {0};
    size_t more;
    int r;

    ret->scenario = t->baseline[BASELINE_SHAPES].scenario.name;
    if (t->n_decoys == 0) {
        ret->verdict = VERDICT_NOT_APPLICABLE;
        ret->reason = "it asks for no library by name";
        return 0;
    }
    if ((r = trial_run(judge, BASELINE_SHAPES, &shapes, err)) < 0 ||
        (r = trial_run(judge, BASELINE_EMPTY, &empty, err)) < 0)
        return r;
    compare_winners(before, &shapes.trace, t->shape, t->n_decoys, ret);
    if (ret->n_evidence == 0 && !same_order(before, &shapes.trace) &&
        (r = name_culprits(judge, ret, err)) < 0)
        return r;
    before = &t->baseline[BASELINE_EMPTY].run.trace;
    /* what lost in the first scenario need not be told again */
    more = compare_winners(before, &empty.trace, t->empty, t->n_decoys,
                           ret->n_evidence ? &ignored : ret);
    if (ret->n_evidence || !same_order(before, &empty.trace)) {
        ret->verdict = VERDICT_FAIL;
        ret->reason =
            arena_printf(judge->arena, "%zu of %zu libraries cannot be replaced as before",
                         ret->n_evidence + ret->n_left_out, t->n_decoys);
        return 0;
    }
    ret->verdict = VERDICT_PASS;
    ret->reason =
        arena_printf(judge->arena, "all %zu can be replaced, alone and together%s", t->n_decoys,
                     more ? "; what a replacement no longer needs is loaded all the same" : "");
    return 0;
}

/* Audit modules are asked for before preloads. */
static size_t first_preload(const struct trace *trace)
{
    size_t i = 0;

    while (i < trace->n_requests && trace->request[i].kind != REQUEST_PRELOAD)
        i++;
    return i;
}

/* Preloads by bare name: who answered each. Evidence: one that found its file does not any more. */
static void compare_preloads(const struct trace *before, const struct trace *after,
                             struct judgement *ret, size_t *ret_n)
{
    size_t i = first_preload(before), k = first_preload(after);

    *ret_n = 0;
    for (; i < before->n_requests && k < after->n_requests; i++, k++) {
        const struct request *x = &before->request[i], *y = &after->request[k];

        if (x->kind != REQUEST_PRELOAD || y->kind != REQUEST_PRELOAD)
            break;
        if (x->answer < 0)
            continue;
        ++*ret_n;
        if (y->answer < 0 || !same_file(&before->loaded[x->answer], &after->loaded[y->answer]))
            judgement_add(ret,
                          (struct evidence){.soname = x->name,
                                            .before = before->loaded[x->answer].path,
                                            .after = y->answer < 0 ? "nothing"
                                                                   : after->loaded[y->answer].path,
                                            .note = "preloaded by name"});
    }
}

int judge_preload(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct trial *t = judge->trial;
    const struct trace *paths = &t->baseline[BASELINE_PRELOAD].run.trace;
    const struct trace *names = &t->baseline[BASELINE_PRELOAD_NAMES].run.trace;
    CLEANUP(run_close) struct run by_path = {0};
    CLEANUP(run_close) struct run by_name = {0};
    size_t n_names;
    int r;

    ret->scenario = t->baseline[BASELINE_PRELOAD].scenario.name;
    if (t->subject->kind != SUBJECT_PROGRAM) {
        ret->verdict = VERDICT_NOT_APPLICABLE;
        ret->reason = "preloads are a matter of the program that loads it";
        return 0;
    }
    if ((r = trial_run(judge, BASELINE_PRELOAD, &by_path, err)) < 0 ||
        (r = trial_run(judge, BASELINE_PRELOAD_NAMES, &by_name, err)) < 0)
        return r;
    compare_winners(paths, &by_path.trace, t->empty, t->n_decoys, ret);
    compare_preloads(names, &by_name.trace, ret, &n_names);
    if (ret->n_evidence || !same_order(paths, &by_path.trace)) {
        ret->verdict = VERDICT_FAIL;
        ret->reason = arena_printf(judge->arena, "%zu preloads do not replace what they did",
                                   ret->n_evidence + ret->n_left_out);
        return 0;
    }
    if (n_names && first_load_difference(names, &by_name.trace) != SIZE_MAX) {
        ret->verdict = VERDICT_WARN;
        ret->reason = arena_printf(judge->arena,
                                   "all %zu replace by path and %zu by name as before; a preload "
                                   "with needed names of its own sees another load order",
                                   t->n_decoys, n_names);
        return 0;
    }
    ret->verdict = VERDICT_PASS;
    ret->reason = arena_printf(judge->arena, "all %zu replace by path and %zu by name as before",
                               t->n_decoys, n_names);
    return 0;
}
