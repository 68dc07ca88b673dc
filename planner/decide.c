#include "planner/decide.h"
#include "planner/rules.h"

#include <inttypes.h>
#include <string.h>

size_t subject_libraries(const struct subject *s)
{
    size_t i, n = 0;

    for (i = 1; i < s->trace->n_loaded; i++)
        n += s->trace->loaded[i].node && !s->trace->loaded[i].object->ldso;
    return n;
}

const char *subject_driver_loader(const struct subject *s)
{
    static const char *const rules[] = {"glvnd", "gbm-vulkan-cl"};
    const char *const *rule;
    size_t i;

    for (i = 0; i < s->n_rulings; i++)
        for_each (rule, rules)
            if (s->ruling[i].on == RULING_NAME && !strcmp(s->ruling[i].rule->id, *rule))
                return s->ruling[i].what;
    return NULL;
}

/* ---- making the options */

static const struct judgement *first_failure(const struct verdicts *v)
{
    size_t i;

    for (i = 0; i < N_CRITERIA; i++)
        if (v->judgement[i].verdict == VERDICT_FAIL)
            return &v->judgement[i];
    return NULL;
}

/* Judge one proposal and say how it stands before the branches are asked. */
static int judge_option(const struct trial *trial, struct candidate *o, struct err *err)
{
    const struct policy *policy = trial->subject->policy;
    const struct judgement *failure;
    int r = criteria_judge(trial, o->method, &o->edits, &o->verdicts, err);

    if (r < 0)
        return r;
    o->judged = true;
    o->standing = STANDING_LOST;
    if (o->verdicts.fails) {
        failure = first_failure(&o->verdicts);
        o->standing = STANDING_FAILED;
        o->rule = failure->criterion;
        o->reason = failure->reason;
    } else if (o->method == METHOD_NOTE_OWN && policy->reader == READER_NONE) {
        o->standing = STANDING_NO_READER;
        o->rule = "reader";
        o->reason = arena_printf(trial->arena, "it needs %s; the policy '%s' has none",
                                 o->strategy->needs, policy->name);
    }
    return 0;
}

/* The resolver is simulated where the policy says it is, or not at all. */
static bool no_resolver(const struct subject *s, struct candidate *o)
{
    if (o->method != METHOD_NOTE_CLOSURE || s->policy->resolver)
        return false;
    o->standing = STANDING_NO_READER;
    o->rule = "reader";
    o->reason = arena_printf(s->arena, "it needs %s; the policy '%s' has none", o->strategy->needs,
                             s->policy->name);
    return true;
}

static int make_option(const struct subject *s, struct trial *trial, struct candidate *o,
                       struct err *err)
{
    const struct gate *gate;
    const char *why_not = NULL;
    int r;

    if (no_resolver(s, o))
        return 0;
    gate = gate_shut(s, o->method, &o->reason);
    if (gate) {
        o->standing = STANDING_GATED;
        o->rule = gate->id;
        o->criterion = gate->criterion;
        return 0;
    }
    if ((r = strategy_propose(o->strategy, s, &o->edits, &why_not, err)) < 0)
        return r;
    if (why_not || o->edits.n == 0) {
        o->standing = STANDING_NOTHING;
        o->rule = "nothing-to-do";
        o->reason = why_not ? why_not : "there is nothing to edit";
        return 0;
    }
    if (!trial->subject && (r = trial_init(trial, s, err)) < 0)
        return r;
    return judge_option(trial, o, err);
}

/* Tell the ones that would have done why another is better. */
static const char *why_lost(const struct decision *d, const struct candidate *o)
{
    uint64_t mine = option_failed(d, o->method), best = option_failed(d, d->chosen);

    if (o->method == METHOD_NONE)
        return arena_printf(d->subject->arena,
                            "it would keep %" PRIu64 " failed calls at each start", mine);
    if (d->chosen == METHOD_NONE)
        return d->reason;
    if ((METHOD_BIT(o->method) & METHODS_ABSOLUTE) && !d->subject->policy->absolute)
        return "absolute paths are chosen only when the policy asks for them";
    if (mine > best)
        return arena_printf(d->subject->arena,
                            "it would leave %" PRIu64 " failed calls, the choice %" PRIu64, mine,
                            best);
    return d->reason;
}

static void settle(struct decision *d)
{
    const struct branch *b;
    size_t i;

    for (i = 0; i < N_METHODS; i++) /* chosen when it was settled before */
        if (d->option[i].standing == STANDING_CHOSEN)
            d->option[i].standing = STANDING_LOST;
    for (b = branches(); b->id; b++)
        if (b->settle(d, &d->chosen, &d->reason))
            break;
    d->rule = b->id;
    for (i = 0; i < N_METHODS; i++) {
        struct candidate *o = &d->option[i];

        if (o->standing != STANDING_LOST)
            continue;
        o->rule = d->rule;
        if (o->method == d->chosen) {
            o->standing = STANDING_CHOSEN;
            o->reason = d->reason;
        } else
            o->reason = why_lost(d, o);
    }
}

/* Failed opens that the subject's own needed names cost: what scope own could save at most. */
static uint64_t own_failed(const struct subject *s)
{
    uint64_t n = 0;
    size_t i;

    for (i = 0; i < s->trace->n_calls; i++) {
        const struct call *c = &s->trace->call[i];

        n += c->kind == CALL_OPEN && c->error && !c->phase && c->request >= 0 &&
             s->trace->request[c->request].asker == 0;
    }
    return n;
}

/* Everything it needs is of libc's family, which whoever opens it has loaded. */
static bool needs_libc_only(const struct subject *s)
{
    size_t i;

    for (i = 0; i < s->trace->n_requests; i++)
        if (!is_loader_name(s->trace, s->trace->request[i].name) &&
            !danger_is("glibc-family", DANGER_BY_SONAME, s->trace->request[i].name))
            return false;
    return true;
}

/* What need not be tried for a file that is no program; NULL: try. */
static const char *not_worth_a_try(const struct subject *s)
{
    uint64_t most = s->kind == SUBJECT_LIBRARY ? own_failed(s) : s->trace->storm.failed_opens;

    if (s->kind == SUBJECT_PROGRAM)
        return NULL;
    if (needs_libc_only(s))
        return "it needs nothing but libc's family, which whoever loads it has loaded";
    if (most >= s->policy->min_saving || subject_pin(s))
        return NULL;
    return arena_printf(
        s->arena,
        "not worth an edit: its %s cost %" PRIu64 " failed opens at most (the policy asks for %u)",
        s->kind == SUBJECT_LIBRARY ? "own needed names" : "libraries", most, s->policy->min_saving);
}

/* Leave it, without a trial. */
static void settle_untried(struct decision *d, const char *reason)
{
    size_t i;

    d->chosen = METHOD_NONE;
    d->rule = "not-worth-it";
    d->reason = reason;
    for (i = 0; i < N_METHODS; i++) {
        d->option[i].standing = i == METHOD_NONE ? STANDING_CHOSEN : STANDING_NOTHING;
        d->option[i].rule = d->rule;
        d->option[i].reason = reason;
    }
}

/* Of programs every method is told; of other files those that the policy could choose. */
static bool is_tried(const struct subject *s, enum method method)
{
    const unsigned bit = METHOD_BIT(method);

    return s->kind == SUBJECT_PROGRAM || (bit & METHODS_FARM) ||
           ((bit & METHODS_ABSOLUTE) && s->policy->absolute) ||
           (method == METHOD_NOTE_OWN && s->policy->reader != READER_NONE) || subject_pin(s);
}

int decide(const struct subject *s, struct decision *ret_decision, struct err *err)
{
    struct decision d = {.subject = s};
    struct trial trial = {0};
    const char *untried = not_worth_a_try(s);
    size_t i;
    int r = 0;

    for (i = 0; i < N_METHODS && r == 0; i++) {
        struct candidate *o = &d.option[i];

        *o = (struct candidate){.method = (enum method)i,
                                .strategy = strategy_of((enum method)i),
                                .standing = STANDING_NOTHING,
                                .rule = "not-asked",
                                .reason = "the policy could not choose it"};
        if (o->method == METHOD_NONE)
            o->standing = STANDING_LOST;
        else if (!untried && is_tried(s, o->method))
            r = make_option(s, &trial, o, err);
    }
    if (trial.subject)
        trial_release(&trial);
    if (r < 0)
        return r;
    if (untried)
        settle_untried(&d, untried);
    else
        settle(&d);
    *ret_decision = d;
    return 0;
}

void decide_along(struct decision *decision)
{
    decision->along = true;
    settle(decision);
}
