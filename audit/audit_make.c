#include "audit/audit_make.h"

#include "base/str.h"
#include "planner/decide.h"

#include <string.h>

struct making {
    struct closure *closure;
    const struct audit_options *options;
    struct arena *arena;
    struct audit *audit;
};

static const char *copy(const struct making *m, const char *text)
{
    return text ? arena_strdup(m->arena, text) : NULL;
}

static void add_program(void *data, const struct lint_object *program, const struct trace *trace)
{
    const struct making *m = data;
    struct audit *a = m->audit;

    a->program = arena_grow(m->arena, a->program, a->n_programs, sizeof(*a->program));
    a->program[a->n_programs++] = (struct audit_program){
        .key = program->key,
        .version = program->package ? program->package->name.version : "",
        .path = program->path,
        .loader = copy(m, trace->profile.text),
        .exit = trace->exit_text ? closure_shown(m->closure, m->arena, trace->exit_text) : "ok",
        .storm = trace->storm,
    };
}

static void add_packages(const struct making *m)
{
    struct audit *a = m->audit;

    for (size_t i = 0; i < m->closure->n_packages; i++) {
        const struct lint_package *p = m->closure->package[i];

        if (!p->selected)
            continue;
        a->package = arena_grow(m->arena, a->package, a->n_packages, sizeof(*a->package));
        a->package[a->n_packages++] = (struct audit_package){p->key, p->name.version, p->path};
    }
}

/* ---- plans */

static const char *standing_name(enum standing standing)
{
    static const char *const names[] = {"chosen", "gated",     "nothing-to-do",
                                        "failed", "no-reader", "lost"};

    return names[standing];
}

static const char *reason_shown(const struct making *m, const char *reason)
{
    return reason ? closure_shown(m->closure, m->arena, reason) : "";
}

static struct audit_plan *plan_of(const struct making *m, const struct decision *d,
                                  const struct storm *before)
{
    struct audit_plan *plan = arena_alloc(m->arena, sizeof(*plan));
    const struct candidate *chosen = &d->option[d->chosen];

    plan->strategy = chosen->strategy->name;
    plan->scope = scope_name(chosen->strategy->scope);
    plan->rule = d->rule;
    plan->reason = reason_shown(m, d->reason);
    plan->after = chosen->judged ? chosen->verdicts.after[d->subject->policy_level] : *before;
    plan->lost = arena_calloc(m->arena, N_METHODS, sizeof(*plan->lost));
    for (int i = 0; i < N_METHODS; i++) {
        const struct candidate *c = &d->option[i];

        if (i == (int)d->chosen || !c->strategy || !strcmp(c->strategy->name, "none"))
            continue;
        plan->lost[plan->n_lost++] = (struct audit_lost){
            c->strategy->name, scope_name(c->strategy->scope), standing_name(c->standing),
            copy(m, c->rule), reason_shown(m, c->reason)};
    }
    return plan;
}

/* One program by itself; what cannot be planned stays without a plan. */
static void plan_program(const struct making *m, struct audit_program *program)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const struct subject_query query = {.world = m->closure->world,
                                        .policy = m->options->policy,
                                        .program = program->path,
                                        .cpu = m->options->lint.cpu->name};
    struct subject subject;
    struct decision decision;
    struct err err;

    if (subject_init(&subject, &query, &scratch, &err) < 0 || decide(&subject, &decision, &err) < 0)
        return;
    program->plan = plan_of(m, &decision, &program->storm);
}

static void plan_programs(const struct making *m)
{
    struct audit *a = m->audit;

    for (size_t i = 0; i < a->n_programs && m->options->policy; i++) {
        if (a->program[i].storm.failed_opens >= m->options->policy->min_saving)
            plan_program(m, &a->program[i]);
        progress_update(m->options->lint.progress, "plans", i + 1, a->n_programs);
    }
}

/* ---- all of it */

static void fill_header(const struct making *m)
{
    const struct audit_options *o = m->options;
    struct audit *a = m->audit;

    a->name = o->name;
    a->time = o->time;
    a->source = o->source;
    a->version = VERSION;
    a->model = STORM_MODEL;
    a->cpu = o->lint.cpu->name;
    a->probe_budget = o->lint.probe_budget ? o->lint.probe_budget : PROBE_BUDGET;
    a->root = arena_calloc(m->arena, o->n_paths + 1, sizeof(*a->root));
    for (size_t i = 0; i < o->n_paths; i++)
        a->root[a->n_roots++] = closure_shown(m->closure, m->arena, o->path[i]);
}

int audit_make(struct closure *closure, const struct audit_options *options, struct arena *arena,
               struct audit *ret_audit, struct err *err)
{
    struct audit audit = {0};
    struct making m = {closure, options, arena, &audit};
    struct lint_options lint = options->lint;
    struct lint_result result;
    int r;

    lint.each_start = add_program;
    lint.data = &m;
    fill_header(&m);
    r = lint_run(closure, &lint, arena, &result, err);
    if (r == 0 && options->judge)
        r = options->judge(options->data, &result.findings, err);
    if (r < 0)
        return r;
    audit.incomplete = result.incomplete;
    add_packages(&m);
    audit.finding = arena_calloc(arena, result.findings.n + 1, sizeof(*audit.finding));
    for (size_t i = 0; i < result.findings.n; i++)
        audit.finding[audit.n_findings++] = audit_finding_of(result.findings.item[i], arena);
    audit.unasked = arena_calloc(arena, result.n_unasked + 1, sizeof(*audit.unasked));
    for (size_t i = 0; i < result.n_unasked; i++)
        audit.unasked[audit.n_unasked++] = result.unasked[i]->id;
    plan_programs(&m);
    *ret_audit = audit;
    return 0;
}
