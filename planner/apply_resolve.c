#include "base/str.h"
#include "planner/apply_internal.h"

#include <errno.h>
#include <string.h>

/* ---- where a plan's package is */

static const struct apply_output *find_output(const struct apply_options *o, const char *name)
{
    for (size_t i = 0; i < o->n_outputs; i++)
        if (strcmp(o->output[i].name, name) == 0)
            return &o->output[i];
    return NULL;
}

const struct policy *policy_for(const struct apply_options *options,
                                const struct apply_output *output, const struct policy *base,
                                struct arena *arena)
{
    struct policy *p = arena_memdup(arena, base, sizeof(*base));

    if (options->store) {
        p->store = arena_calloc(arena, base->n_stores + 1, sizeof(*p->store));
        if (base->n_stores)
            memcpy(p->store, base->store, base->n_stores * sizeof(*p->store));
        p->store[p->n_stores++] = options->store;
    }
    if (output && output->allowed) {
        p->allowed = output->allowed;
        p->n_allowed = output->n_allowed;
    }
    if (output && output->disallowed) {
        p->disallowed = output->disallowed;
        p->n_disallowed = output->n_disallowed;
    }
    return p;
}

/* The directory of the plan's output as programs see it, without links; NULL: of no package. */
static int find_package(struct apply *apply, const struct plan *plan, const struct policy *policy,
                        const char **ret_dir, struct err *err)
{
    const struct apply_output *output = find_output(apply->options, plan->key.output);
    const char *dir = output ? output->dir : NULL;
    struct place at;

    *ret_dir = NULL;
    if (plan->n_objects == 0)
        return 0;
    if (plan->object[0].path[0] == '/')
        return 0;
    if (!dir && apply->options->copies)
        dir = policy_package(policy, apply->arena, plan->object[0].program);
    if (!dir)
        return err_set(err, EINVAL, "the plan is for output '%s' of %s, which was not given",
                       plan->key.output, plan->key.pname);
    at = world_walk(apply->world, NULL, dir);
    if (at.error || at.node->kind != NODE_DIR)
        return err_set(err, at.error ? at.error : ENOTDIR, "output '%s', '%s': %s",
                       plan->key.output, dir, strerror(at.error ? at.error : ENOTDIR));
    *ret_dir = world_path(apply->arena, at.node);
    if (!str_same(policy_package(policy, apply->arena, *ret_dir), *ret_dir))
        return err_set(err, EINVAL,
                       "'%s' is no package of the plan's stores: edit copies of one (--out)",
                       *ret_dir);
    return 0;
}

/* ---- what a program is like now */

static const char *list_text(struct arena *arena, const char *const *name, size_t n)
{
    struct str out = {.arena = arena};

    str_add(&out, "");
    for (size_t i = 0; i < n; i++)
        str_printf(&out, "%s%s", i ? " " : "", str_escape(arena, name[i]));
    return out.text;
}

/* NULL: it is what the plan expects; else what differs. */
static const char *guard(const struct target *t, struct arena *arena)
{
    const struct plan_expect *expect = &t->object->expect;
    const struct plan_expect now = plan_expect_of(t->subject, arena);
    const char *a = list_text(arena, now.needed, now.n_needed);
    const char *b = list_text(arena, expect->needed, expect->n_needed);

    if (strcmp(a, b) != 0)
        return arena_printf(arena, "it needs '%s', and the plan is for '%s'", a, b);
    if (!str_same(now.run_path, expect->run_path))
        return arena_printf(arena, "its run path is '%s', and the plan is for '%s'",
                            now.run_path ? now.run_path : "",
                            expect->run_path ? expect->run_path : "");
    if (!str_same(now.interp, expect->interp))
        return arena_printf(arena, "its loader is '%s', and the plan is for '%s'",
                            now.interp ? now.interp : "", expect->interp ? expect->interp : "");
    return NULL;
}

/* ---- edits for the file as it is now */

static const char *propose(struct target *t, enum method method, struct arena *arena,
                           struct err *err, int *ret_error)
{
    const char *why_not = NULL;

    *ret_error = strategy_propose(strategy_of(method), t->subject, &t->edits, &why_not, err);
    if (*ret_error < 0)
        return NULL;
    if (why_not)
        return arena_printf(arena, "what was planned cannot be done now: %s", why_not);
    if (!edits_agree(&t->edits, &t->object->edits, t->policy, arena))
        return "its libraries are found otherwise than when the plan was made";
    t->after = promised(t, arena);
    return t->after ? NULL : "the plan was made for other CPU levels";
}

static int replan(struct target *t, struct arena *arena, struct err *err)
{
    struct decision *d = arena_alloc(arena, sizeof(*d));
    int r = decide(t->subject, d, err);

    if (r < 0)
        return r;
    if (t->object->edits.n) /* the plan has found its package worth an edit */
        decide_along(d);
    t->applied.replanned = true;
    t->applied.strategy = d->option[d->chosen].strategy->name;
    t->applied.scope = scope_name(d->option[d->chosen].strategy->scope);
    t->edits = d->option[d->chosen].edits;
    t->after = d->option[d->chosen].verdicts.after;
    if (t->edits.n == 0)
        t->applied.reason = d->reason;
    return 0;
}

static int stale(struct apply *apply, struct target *t, const char *why, struct err *err)
{
    t->edits = (struct edits){0};
    t->applied.reason = why;
    switch (apply->options->stale) {
    case STALE_REPLAN:
        if (t->subject)
            return replan(t, apply->arena, err);
        break;
    case STALE_SKIP:
        break;
    case STALE_FAIL:
        return err_set(err, ESTALE, "'%s': the plan is stale: %s", t->applied.path, why);
    }
    t->applied.state = APPLIED_SKIPPED;
    return 0;
}

static int resolve_edits(struct apply *apply, struct target *t, struct err *err)
{
    const enum method method = method_find(t->object->strategy, t->object->scope);
    const char *why = guard(t, apply->arena), *gate;
    int r = 0;

    if (edits_are_done(t, apply->arena))
        return check_done(t, apply->arena, err);
    if (!why && method == METHOD_NONE)
        return 0;
    if (!why && gate_shut(t->subject, method, &gate))
        why = gate;
    if (!why)
        why = propose(t, method, apply->arena, err, &r);
    if (r == 0 && why)
        r = stale(apply, t, why, err);
    return r;
}

/* ---- objects */

static const struct program *find_program(const struct program *program, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(program[i].path, path) == 0)
            return &program[i];
    return NULL;
}

/*
 * Where the farm is to be: as in the plan, in the package as it is called now. Plans come from
 * anywhere: none may have it made outside the package, or among the package's own files. NULL: the
 * usual place.
 */
static int farm_of(const struct target *t, struct arena *arena, const char **ret_farm,
                   struct err *err)
{
    const struct edit *farm = edits_find(&t->object->edits, EDIT_FARM, NULL);
    const char *package = farm ? policy_package(t->policy, arena, farm->path) : NULL, *place, *own;

    *ret_farm = NULL;
    if (!package || !t->dir)
        return 0;
    place = farm->path + strlen(package) + 1;
    own = str_starts(place, FARM_IN_PACKAGE) ? place + strlen(FARM_IN_PACKAGE) : NULL;
    if (!own || (*own && *own != '-') || strchr(own, '/'))
        return err_set(err, EINVAL, "'%s': the plan wants a farm in '%s': farms lie in '%s'",
                       t->object->path, place, FARM_IN_PACKAGE);
    *ret_farm = str_join(arena, t->dir, place);
    return 0;
}

/* Does an earlier program's farm lead one of these names elsewhere? */
static bool farms_clash(const struct apply *apply, const struct target *t)
{
    const struct edit *mine = edits_find(&t->edits, EDIT_FARM, NULL);

    for (const struct target *other = apply->target; mine && other < t; other++) {
        const struct edit *farm = edits_find(&other->edits, EDIT_FARM, mine->path);

        for (size_t i = 0; farm && i < farm->n_links; i++)
            for (size_t k = 0; k < mine->n_links; k++)
                if (strcmp(farm->link[i].name, mine->link[k].name) == 0 &&
                    strcmp(farm->link[i].target, mine->link[k].target) != 0)
                    return true;
    }
    return false;
}

/* The target's subject is what `query` asks for; released with it. */
static int open_subject(const struct apply *apply, struct target *t,
                        const struct subject_query *query, struct err *err)
{
    struct subject *subject = arena_alloc(apply->arena, sizeof(*subject));
    int r = subject_init(subject, query, apply->arena, err);

    if (r == 0 && t->subject)
        subject_release(t->subject);
    if (r == 0)
        t->subject = subject;
    return r;
}

/* A program whose plan was made anew may need a farm of its own, as in any plan. */
static int own_farm(struct apply *apply, struct target *t, struct subject_query *query,
                    struct err *err)
{
    int r;

    if (!t->applied.replanned || !farms_clash(apply, t))
        return 0;
    query->farm = arena_printf(apply->arena, "%s-%s", t->subject->farm, str_base(t->subject->path));
    r = open_subject(apply, t, query, err);
    return r < 0 ? r : replan(t, apply->arena, err);
}

/* Is a file one of the targets before `t`? Its copies would take each other's name. */
static bool is_target(const struct apply *apply, const struct target *t, const char *path)
{
    for (const struct target *other = apply->target; other < t; other++)
        if (other->subject && strcmp(other->applied.path, path) == 0)
            return true;
    return false;
}

static int resolve_object(struct apply *apply, struct target *t, const struct program *program,
                          size_t n, struct err *err)
{
    const char *path = t->dir ? str_join(apply->arena, t->dir, t->object->path) : t->object->path;
    const struct place at = world_walk(apply->world, NULL, path);
    const struct program *found;
    struct subject_query query = {
        .world = apply->world,
        .policy = t->policy,
        .cpu = t->plan->cpu,
        .program = path,
        .kind = (enum subject_kind)subject_kind_find(t->object->kind),
    };
    int r = farm_of(t, apply->arena, &query.farm, err);

    t->applied = (struct applied){.path = path,
                                  .state = APPLIED_NOTHING,
                                  .strategy = t->object->strategy,
                                  .scope = t->object->scope,
                                  .reason = t->object->reason};
    if (r < 0)
        return r;
    if (at.error || !world_object(apply->world, at.node) ||
        (query.kind == SUBJECT_PROGRAM && !object_is_program(world_object(apply->world, at.node))))
        return stale(apply, t,
                     query.kind == SUBJECT_PROGRAM ? "it is no program any more"
                                                   : "it is no library or plugin any more",
                     err);
    query.program = t->applied.path = world_path(apply->arena, at.node);
    if (is_target(apply, t, query.program))
        return err_set(err, EINVAL, "'%s' is planned twice: give one plan for it", query.program);
    found = find_program(program, n, query.program);
    if (found) {
        query.env = found->env;
        query.n_env = found->n_env;
        query.wrapper = found->wrapper;
    }
    r = open_subject(apply, t, &query, err);
    if (r < 0)
        return r;
    if (!str_same(t->subject->package, t->dir))
        return err_set(err, EINVAL, "'%s' leads out of '%s'", path,
                       t->dir ? t->dir : "its directory");
    t->applied.cpu = t->subject->level[t->subject->policy_level].cpu.name;
    r = resolve_edits(apply, t, err);
    return r < 0 ? r : own_farm(apply, t, &query, err);
}

int resolve_plan(struct apply *apply, const struct plan *plan, struct err *err)
{
    const struct policy *policy = apply->options->policy;
    struct subject_query query = {.world = apply->world};
    struct program *program = NULL;
    const char *dir;
    size_t n = 0;
    int r = 0;

    if (!policy) {
        struct policy *own = arena_alloc(apply->arena, sizeof(*own));

        r = policy_of_plan(plan->policy, apply->arena, own, err);
        policy = own;
    }
    if (r == 0)
        query.policy = policy = policy_for(
            apply->options, find_output(apply->options, plan->key.output), policy, apply->arena);
    if (r == 0)
        r = find_package(apply, plan, policy, &dir, err);
    if (r == 0 && dir)
        r = package_programs(&query, dir, apply->arena, &program, &n, err);
    for (size_t i = 0; i < plan->n_objects && r == 0; i++) {
        struct target *t;

        apply->target =
            arena_grow(apply->arena, apply->target, apply->n_targets, sizeof(*apply->target));
        t = &apply->target[apply->n_targets++];
        *t =
            (struct target){.plan = plan, .object = &plan->object[i], .policy = policy, .dir = dir};
        r = resolve_object(apply, t, program, n, err);
    }
    return r;
}
