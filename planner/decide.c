#include "planner/decide.h"
#include "base/str.h"
#include "planner/rules.h"
#include "scanner/store_name.h"

#include <inttypes.h>
#include <string.h>

size_t subject_libraries(const struct subject *s)
{
    size_t i, n = 0;

    for (i = 1; i < s->trace->n_loaded; i++)
        n += s->trace->loaded[i].node && !s->trace->loaded[i].object->ldso;
    return n;
}

uint64_t option_failed(const struct decision *d, enum method method)
{
    if (method == METHOD_NONE || !d->option[method].judged)
        return storm_failed(&d->subject->trace->storm);
    return storm_failed(&d->option[method].verdicts.after[d->subject->policy_level]);
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

/* ---- the branches */

static bool would_do(const struct decision *d, enum method method)
{
    const struct candidate *o = &d->option[method];

    return o->judged && o->standing == STANDING_LOST;
}

/* Absolute paths stand for choice only when the policy asks for them. */
static bool stands(const struct decision *d, enum method method)
{
    return method != METHOD_NONE && would_do(d, method) &&
           (d->subject->policy->absolute || !(METHOD_BIT(method) & METHODS_ABSOLUTE));
}

/* What declared dlopens cost more than as built: a shorter start learns less about directories. */
static uint64_t dlopen_loss(const struct decision *d, enum method method)
{
    const struct verdicts *v = &d->option[method].verdicts;
    uint64_t before, after;

    if (method == METHOD_NONE || !d->option[method].judged)
        return 0;
    before = storm_failed(&v->declared_before);
    after = storm_failed(&v->declared_after);
    return after > before ? after - before : 0;
}

static uint64_t saving(const struct decision *d, enum method method)
{
    uint64_t before = option_failed(d, METHOD_NONE), after = option_failed(d, method);

    return before > after ? before - after : 0;
}

static uint32_t failed_opens(const struct decision *d, enum method method)
{
    if (method == METHOD_NONE || !d->option[method].judged)
        return d->subject->trace->storm.failed_opens;
    return d->option[method].verdicts.after[d->subject->policy_level].failed_opens;
}

static uint32_t saved_opens(const struct decision *d, enum method method)
{
    uint32_t before = failed_opens(d, METHOD_NONE), after = failed_opens(d, method);

    return before > after ? before - after : 0;
}

/*
 * Does a start save what the policy asks for, so many failed opens and such a part of them? What
 * declared dlopens cost more then must not eat it up.
 */
static bool is_worth_it(const struct decision *d, enum method method)
{
    const struct policy *p = d->subject->policy;
    const uint64_t saved = saved_opens(d, method);

    uint32_t least = d->along ? 1 : p->min_saving;

    if (method == METHOD_NOTE_CLOSURE) /* that has a minimum of its own, which its gate has seen */
        least = 1;
    return saved >= least && saving(d, method) > dlopen_loss(d, method) &&
           saved * 100 >= (uint64_t)failed_opens(d, METHOD_NONE) * p->min_percent;
}

/* What lifting saves at a start beyond a method that would do, too. */
static uint64_t lifting_adds(const struct decision *d, enum method method)
{
    const uint64_t other = option_failed(d, method), lifted = option_failed(d, METHOD_FARM_LIFTED);

    return other > lifted ? other - lifted : 0;
}

/* What the policy says about this package by name; NULL: nothing. */
static const struct policy_package *pinned(const struct subject *s)
{
    struct store_name name;

    if (!s->package)
        return NULL;
    store_name_parse(s->arena, str_base(s->package), NULL, &name);
    return policy_pin(s->policy, name.pname);
}

static bool pinned_by_policy(const struct decision *d, enum method *ret_method,
                             const char **ret_reason)
{
    const struct policy_package *pin = pinned(d->subject);
    const char *why = "";
    size_t i;

    if (!pin)
        return false;
    *ret_method = METHOD_NONE;
    for (i = N_METHODS; strcmp(pin->strategy, "none") != 0 && i-- > 1;) {
        const struct candidate *o = &d->option[i];

        if (strcmp(o->strategy->name, pin->strategy) != 0 ||
            (pin->scope && strcmp(scope_name(o->strategy->scope), pin->scope) != 0))
            continue;
        if (would_do(d, o->method)) {
            *ret_method = o->method;
            why = "";
            break;
        }
        why = arena_printf(d->subject->arena, "; %s %s is not possible: %s", pin->strategy,
                           scope_name(o->strategy->scope), o->reason);
    }
    *ret_reason = arena_printf(d->subject->arena, "the policy says so for '%s': %s%s", pin->pname,
                               pin->reason, why);
    return true;
}

static bool nothing_safe(const struct decision *d, enum method *ret_method, const char **ret_reason)
{
    const struct candidate *lifted = &d->option[METHOD_FARM_LIFTED];
    size_t i;

    for (i = 0; i < N_METHODS; i++)
        if (stands(d, (enum method)i))
            return false;
    *ret_method = METHOD_NONE;
    *ret_reason = arena_printf(d->subject->arena, "%s: %s",
                               lifted->standing == STANDING_NOTHING ? "there is nothing to do"
                                                                    : "nothing is safe here",
                               lifted->reason);
    return true;
}

static bool not_worth_it(const struct decision *d, enum method *ret_method, const char **ret_reason)
{
    uint64_t loss = 0;
    uint32_t best = 0;
    size_t i;

    for (i = 0; i < N_METHODS; i++) {
        if (stands(d, (enum method)i) && is_worth_it(d, (enum method)i))
            return false;
        if (stands(d, (enum method)i) && saved_opens(d, (enum method)i) > best) {
            best = saved_opens(d, (enum method)i);
            loss = dlopen_loss(d, (enum method)i);
        }
    }
    *ret_method = METHOD_NONE;
    *ret_reason = arena_printf(
        d->subject->arena,
        "not worth an edit: of %" PRIu32 " failed opens at most %" PRIu32
        " would be saved (the policy asks for %u, and %u %%%s)%s",
        failed_opens(d, METHOD_NONE), best, d->subject->policy->min_saving,
        d->subject->policy->min_percent,
        d->subject->kind == SUBJECT_PROGRAM ? ", of a program or of a package's together" : "",
        loss ? arena_printf(d->subject->arena,
                            "; its declared dlopens would then fail %" PRIu64 " calls more", loss)
             : "");
    return true;
}

/*
 * Beyond a note lifting must save twice as much: what libraries ask costs less, too, once they have
 * notes of their own.
 */
static bool reader_there(const struct decision *d, enum method *ret_method, const char **ret_reason)
{
    if (d->subject->policy->reader == READER_NONE || !would_do(d, METHOD_NOTE_OWN))
        return false;
    if (would_do(d, METHOD_FARM_LIFTED) &&
        lifting_adds(d, METHOD_NOTE_OWN) > 2 * (uint64_t)d->subject->policy->lift_saving)
        return false;
    *ret_method = METHOD_NOTE_OWN;
    *ret_reason = "the target's loader reads notes: nothing but a note has to be added";
    return true;
}

static bool resolver_there(const struct decision *d, enum method *ret_method,
                           const char **ret_reason)
{
    if (!d->subject->policy->resolver || !would_do(d, METHOD_NOTE_CLOSURE) ||
        !is_worth_it(d, METHOD_NOTE_CLOSURE))
        return false;
    if (would_do(d, METHOD_FARM_LIFTED) &&
        option_failed(d, METHOD_FARM_LIFTED) < option_failed(d, METHOD_NOTE_CLOSURE))
        return false;
    *ret_method = METHOD_NOTE_CLOSURE;
    *ret_reason = "the target has the resolver: one note, and needed names and libraries stay";
    return true;
}

static bool absolute_asked(const struct decision *d, enum method *ret_method,
                           const char **ret_reason)
{
    if (!d->subject->policy->absolute)
        return false;
    if (would_do(d, METHOD_ABSOLUTE_LIFTED))
        *ret_method = METHOD_ABSOLUTE_LIFTED;
    else if (would_do(d, METHOD_ABSOLUTE_OWN))
        *ret_method = METHOD_ABSOLUTE_OWN;
    else
        return false;
    *ret_reason = "the policy asks for absolute paths";
    return true;
}

static bool drivers(const struct decision *d, enum method *ret_method, const char **ret_reason)
{
    const char *library = subject_driver_loader(d->subject);

    if (!library || !would_do(d, METHOD_FARM_OWN) || !subject_is_overridden(d->subject))
        return false;
    *ret_method = !is_worth_it(d, METHOD_FARM_OWN) ? METHOD_NONE : METHOD_FARM_OWN;
    *ret_reason =
        arena_printf(d->subject->arena,
                     "it reaches %s, and a driver directory or its wrapper's "
                     "LD_LIBRARY_PATH replaces such libraries: a replacement with needed "
                     "names of its own is loaded in the order as built only with scope "
                     "own%s",
                     library, *ret_method == METHOD_NONE ? ", which saves too little" : "");
    return true;
}

static bool little_more(const struct decision *d, enum method *ret_method, const char **ret_reason)
{
    if (!would_do(d, METHOD_FARM_OWN) || !would_do(d, METHOD_FARM_LIFTED) ||
        !is_worth_it(d, METHOD_FARM_OWN) ||
        lifting_adds(d, METHOD_FARM_OWN) >= d->subject->policy->lift_saving)
        return false;
    *ret_method = METHOD_FARM_OWN;
    *ret_reason = arena_printf(d->subject->arena,
                               "lifting would save %" PRIu64 " failed calls more (the policy asks "
                               "for %u): scope own does no harm when a later tool changes the run "
                               "path",
                               lifting_adds(d, METHOD_FARM_OWN), d->subject->policy->lift_saving);
    return true;
}

static bool lifted_farm(const struct decision *d, enum method *ret_method, const char **ret_reason)
{
    if (!would_do(d, METHOD_FARM_LIFTED))
        return false;
    *ret_method = METHOD_FARM_LIFTED;
    *ret_reason = arena_printf(d->subject->arena,
                               "%" PRIu64 " failed calls become %" PRIu64
                               " on a stock loader; every name is asked once, "
                               "first and bare, so that overrides keep winning",
                               option_failed(d, METHOD_NONE), option_failed(d, METHOD_FARM_LIFTED));
    return true;
}

static bool best_left(const struct decision *d, enum method *ret_method, const char **ret_reason)
{
    *ret_method = METHOD_NONE;
    *ret_reason = "no strategy that the policy allows is left";
    if (would_do(d, METHOD_FARM_OWN) && is_worth_it(d, METHOD_FARM_OWN)) {
        *ret_method = METHOD_FARM_OWN;
        *ret_reason =
            arena_printf(d->subject->arena,
                         "%" PRIu64 " failed calls become %" PRIu64 "; lifting is not possible: %s",
                         option_failed(d, METHOD_NONE), option_failed(d, METHOD_FARM_OWN),
                         d->option[METHOD_FARM_LIFTED].reason);
    }
    return true;
}

static const struct branch table[] = {
    {"pinned", "the policy names a strategy for the package, and it passes: that one; else none",
     pinned_by_policy},
    {"nothing-safe", "no strategy passes its gates and criteria: none", nothing_safe},
    {"not-worth-it",
     "the best of them saves less than min_saving failed opens or min_percent of them, the "
     "package's programs together do, too, or declared dlopens would lose as much: none",
     not_worth_it},
    {"absolute-asked", "the policy asks for absolute paths: absolute, lifted before own",
     absolute_asked},
    {"resolver-there", "the target has the resolver: note closure, unless lifting leaves less",
     resolver_there},
    {"reader-there",
     "the target's loader reads notes: note, unless lifting saves more than twice lift_saving "
     "beyond",
     reader_there},
    {"drivers",
     "it reaches libraries that load drivers, and its wrapper overrides libraries: farm own",
     drivers},
    {"little-more", "lifting saves less than lift_saving calls beyond own: farm own", little_more},
    {"lifted", "farm lifted", lifted_farm},
    {"left", "what is left: farm own, or none", best_left},
    {0},
};

const struct branch *branches(void)
{
    return table;
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
    for (b = table; b->id; b++)
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
    if (most >= s->policy->min_saving || pinned(s))
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
           (method == METHOD_NOTE_OWN && s->policy->reader != READER_NONE) || pinned(s);
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

uint32_t decision_saves(const struct decision *decision)
{
    return saved_opens(decision, decision->chosen);
}

void decide_along(struct decision *decision)
{
    decision->along = true;
    settle(decision);
}
