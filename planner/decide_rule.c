/* The decision rule: what each option saves, and the branches that settle on one. */
#include "base/str.h"
#include "planner/decide.h"
#include "scanner/store_name.h"

#include <inttypes.h>
#include <string.h>

uint64_t option_failed(const struct decision *d, enum method method)
{
    if (method == METHOD_NONE || !d->option[method].judged)
        return storm_failed(&d->subject->trace->storm);
    return storm_failed(&d->option[method].verdicts.after[d->subject->policy_level]);
}

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

const struct policy_package *subject_pin(const struct subject *s)
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
    const struct policy_package *pin = subject_pin(d->subject);
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

uint32_t decision_saves(const struct decision *decision)
{
    return saved_opens(decision, decision->chosen);
}
