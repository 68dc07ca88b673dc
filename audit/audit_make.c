#include "audit/audit_make.h"

#include "linter/wrappers.h"
#include "planner/package.h"
#include "planner/plan_json.h"

#include <stdlib.h>
#include <string.h>

/* A program of the audit, and how it is started. */
struct started {
    struct audit_program *program;
    struct program start;
};

struct making {
    struct closure *closure;
    const struct audit_options *options;
    const struct policy *policy; /* with the closure's stores, while plans are made */
    struct arena *arena;
    struct intern *texts; /* in it: what several say */
    struct audit *audit;
    struct started *started; /* beside audit->program */
    const struct lint_package **package;
    size_t n_started;
};

static const char *copy(const struct making *m, const char *text)
{
    return text ? arena_strdup(m->arena, text) : NULL;
}

static const char *kept(const struct making *m, const char *text)
{
    return text ? intern(m->texts, text)->text : NULL;
}

static void add_program(void *data, const struct lint_object *program, const struct trace *trace)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct making *m = data;
    const struct wrapper *w = program->wrapper;
    struct arena *lists = &m->closure->arena;
    struct audit *a = m->audit;

    m->started = arena_grow(lists, m->started, m->n_started, sizeof(*m->started));
    m->package = arena_grow(lists, m->package, m->n_started, sizeof(*m->package));
    m->package[m->n_started] = program->package;
    m->started[m->n_started++] = (struct started){.start = {.path = program->path,
                                                            .env = w ? w->env : NULL,
                                                            .n_env = w ? w->n_env : 0,
                                                            .wrapper = w ? w->path : NULL}};
    a->program = arena_grow(lists, a->program, a->n_programs, sizeof(*a->program));
    a->program[a->n_programs++] = (struct audit_program){
        .key = kept(m, closure_key(program, &scratch)),
        .version = program->package ? kept(m, program->package->name.version) : "",
        .path = kept(m, program->path),
        .loader = kept(m, trace->profile.text),
        .exit = trace->exit_text ? closure_shown(m->closure, m->arena, trace->exit_text) : "ok",
        .storm = trace->storm,
        .origin = program->package ? program->package->origin : NULL,
    };
}

static void add_packages(const struct making *m, size_t n)
{
    struct audit *a = m->audit;

    a->package = arena_calloc(m->arena, n + 1, sizeof(*a->package));
    for (size_t i = 0; i < m->closure->n_packages; i++) {
        const struct lint_package *p = m->closure->package[i];

        if (p->selected)
            a->package[a->n_packages++] = (struct audit_package){
                kept(m, p->key), kept(m, p->name.version), kept(m, p->path), p->origin};
    }
}

static void add_findings(const struct making *m, const struct findings *findings)
{
    struct audit *a = m->audit;

    a->finding = arena_calloc(m->arena, findings->n + 1, sizeof(*a->finding));
    for (size_t i = 0; i < findings->n; i++) {
        struct audit_finding *f = &a->finding[a->n_findings++];

        *f = audit_finding_of(findings->item[i], m->arena);
        f->path = kept(m, f->path);
        f->package = kept(m, f->package);
    }
}

static void add_unasked(const struct making *m, const struct lint_result *result)
{
    struct audit *a = m->audit;

    a->unasked = arena_calloc(m->arena, result->n_unasked + 1, sizeof(*a->unasked));
    for (size_t i = 0; i < result->n_unasked; i++)
        a->unasked[a->n_unasked++] = result->unasked[i]->id;
}

/* ---- plans */

static const char *reason_shown(const struct making *m, const char *reason)
{
    return reason ? closure_shown(m->closure, m->arena, reason) : "";
}

/* What the plan says about one program; `after`: its start with all of the package planned. */
static struct audit_plan *summary_of(const struct making *m, const struct plan_object *object,
                                     const struct storm *after)
{
    struct audit_plan *plan = arena_alloc(m->arena, sizeof(*plan));

    plan->strategy = copy(m, object->strategy);
    plan->scope = copy(m, object->scope);
    plan->rule = copy(m, object->rule);
    plan->reason = reason_shown(m, object->reason);
    plan->after = *after;
    plan->lost = arena_calloc(m->arena, object->n_options + 1, sizeof(*plan->lost));
    for (size_t i = 0; i < object->n_options; i++) {
        const struct plan_option *o = &object->option[i];

        if (!strcmp(o->standing, "chosen") || !strcmp(o->strategy, "none"))
            continue;
        plan->lost[plan->n_lost++] =
            (struct audit_lost){copy(m, o->strategy), copy(m, o->scope), copy(m, o->standing),
                                copy(m, o->rule), reason_shown(m, o->reason)};
    }
    return plan;
}

/* Of what lost, rule and reason are kept, the criteria are not: they are most of a plan's bytes. */
static void drop_criteria(struct plan *plan)
{
    for (size_t i = 0; i < plan->n_objects; i++)
        for (size_t k = 0; k < plan->object[i].n_options; k++)
            if (strcmp(plan->object[i].option[k].standing, "chosen") != 0)
                plan->object[i].option[k].n_judgements = 0;
}

static void keep_plan(const struct making *m, struct plan *plan, struct arena *scratch)
{
    struct audit *a = m->audit;
    json_t *json;
    char *text;

    drop_criteria(plan);
    json = plan_json(plan, scratch);
    text = json_dumps(json, JSON_COMPACT);
    if (!text)
        abort();
    a->plan = arena_grow(m->arena, a->plan, a->n_plans, sizeof(*a->plan));
    a->plan[a->n_plans++] = arena_strdup(m->arena, text);
    free(text);
    json_decref(json);
}

static struct plan_object *object_of(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->n_objects; i++)
        if (!strcmp(plan->object[i].program, path))
            return &plan->object[i];
    return NULL;
}

/* Start each with all edits of the plan, as it is started without. */
static int start_planned(const struct making *m, struct plan *plan, const struct started *started,
                         size_t n, struct arena *scratch, struct err *err)
{
    CLEANUP(world_closep) struct world *overlay = world_overlay(m->closure->world);
    CLEANUP(loader_freep)
    struct loader *loader = loader_new(overlay, m->options->lint.cpu, "/", false);
    int r = 0;

    for (size_t i = 0; i < plan->n_objects && r == 0; i++)
        if (plan->object[i].edits.n)
            r = edits_apply(&plan->object[i].edits, overlay, scratch, err);
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct program *p = &started[i].start;
        const struct start start = {.program = p->path, .env = p->env, .n_env = p->n_env};
        struct plan_object *object = object_of(plan, p->path);
        struct storm *after = arena_alloc(scratch, sizeof(*after));
        struct trace trace;

        if (!object || (r = loader_run(loader, &start, scratch, &trace, err)) < 0)
            continue;
        *after = trace.storm;
        object->own_package = after;
        started[i].program->plan = summary_of(m, object, after);
    }
    return r;
}

/* The programs of one package, or one that is in none; what cannot be planned has no plan. */
static int plan_some(const struct making *m, const struct started *started, size_t n)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const struct subject_query query = {
        .world = m->closure->world, .policy = m->policy, .cpu = m->options->lint.cpu->name};
    struct program *program = arena_calloc(&scratch, n, sizeof(*program));
    struct plan plan;
    struct err err;
    int r;

    for (size_t i = 0; i < n; i++)
        program[i] = started[i].start;
    r = package_plan(&query, program, n, &scratch, &plan, &err);
    if (r == 0)
        r = start_planned(m, &plan, started, n, &scratch, &err);
    if (r == 0)
        keep_plan(m, &plan, &scratch);
    return r;
}

/* One that cannot be planned must not keep the others of its package from it. */
static void plan_package(const struct making *m, const struct started *started, size_t n)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct started *good;
    size_t n_good = 0;

    if (plan_some(m, started, n) == 0 || n == 1)
        return;
    good = arena_calloc(&scratch, n, sizeof(*good));
    for (size_t i = 0; i < n; i++) {
        struct making probe = *m;
        struct audit nothing = {0};

        probe.audit = &nothing;
        if (plan_some(&probe, &started[i], 1) == 0)
            good[n_good++] = started[i];
        started[i].program->plan = NULL;
    }
    if (n_good)
        (void)plan_some(m, good, n_good);
}

static void plan_programs(struct making *m)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct policy policy;
    size_t n;

    if (!m->options->policy)
        return;
    policy = *m->options->policy;
    for (size_t i = 0; i < m->closure->n_stores; i++)
        policy_add_store(&policy, &scratch, m->closure->store[i]);
    m->policy = &policy;
    for (size_t i = 0; i < m->n_started; i += n) {
        for (n = 1; m->package[i] && i + n < m->n_started && m->package[i + n] == m->package[i];)
            n++;
        for (size_t k = i; k < i + n; k++)
            m->started[k].program = &m->audit->program[k];
        plan_package(m, &m->started[i], n);
        progress_update(m->options->lint.progress, "plans", i + n, m->n_started);
    }
    m->policy = NULL;
}

/* ---- all of it */

static void fill_header(const struct making *m)
{
    const struct audit_options *o = m->options;
    struct audit *a = m->audit;

    a->name = o->name;
    a->time = o->time;
    a->source = o->source;
    a->policy = o->policy ? o->policy->name : NULL;
    a->version = VERSION;
    a->model = STORM_MODEL;
    a->cpu = kept(m, o->lint.cpu->name);
    a->probe_budget = o->lint.probe_budget ? o->lint.probe_budget : PROBE_BUDGET;
    a->root = arena_calloc(m->arena, o->n_paths + 1, sizeof(*a->root));
    for (size_t i = 0; i < o->n_paths; i++)
        a->root[a->n_roots++] = closure_shown(m->closure, m->arena, o->path[i]);
}

/* Where the packages come from, as far as it is told now; what an index knows stays. */
static void find_origins(const struct making *m)
{
    for (size_t i = 0; m->options->origins && i < m->closure->n_packages; i++) {
        struct lint_package *p = m->closure->package[i];
        const struct origin *origin =
            origins_find(m->options->origins, p->name.name, p->name.pname);

        if (origin)
            p->origin = origin;
    }
}

static int make(struct making *m, struct err *err)
{
    const struct audit_options *options = m->options;
    struct lint_options lint = options->lint;
    struct lint_result result;
    struct audit *a = m->audit;
    int r;

    lint.each_start = add_program;
    lint.data = m;
    fill_header(m);
    find_origins(m);
    r = lint_run(m->closure, &lint, m->arena, &result, err);
    if (r == 0 && options->judge)
        r = options->judge(options->data, &result.findings, err);
    if (r < 0)
        return r;
    a->incomplete = result.incomplete;
    a->program = arena_memdup(m->arena, a->program, a->n_programs * sizeof(*a->program));
    add_packages(m, result.n_packages);
    add_findings(m, &result.findings);
    add_unasked(m, &result);
    plan_programs(m);
    return 0;
}

int audit_make(struct closure *closure, const struct audit_options *options, struct arena *arena,
               struct audit *ret_audit, struct err *err)
{
    struct audit audit = {0};
    struct making m = {.closure = closure,
                       .options = options,
                       .arena = arena,
                       .texts = intern_new_in(arena),
                       .audit = &audit};
    const int r = make(&m, err);

    intern_free(m.texts);
    if (r == 0)
        *ret_audit = audit;
    return r;
}
