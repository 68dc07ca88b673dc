/* One package of a whole store: planned, its programs started, and what is kept of its plan. */
#include "base/json_write.h"
#include "planner/plan_json.h"
#include "planner/whole_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What settling asks for. */
static void keep_objects(struct whole_planned *p, const struct plan *plan)
{
    struct whole_package *package = &p->package;

    package->edited = arena_calloc(&p->arena, plan->n_objects, sizeof(*package->edited));
    package->program = arena_calloc(&p->arena, plan->n_objects, sizeof(*package->program));
    for (size_t i = 0; i < plan->n_objects; i++) {
        const struct plan_object *o = &plan->object[i];
        const enum subject_kind kind = (enum subject_kind)subject_kind_find(o->kind);
        const enum method method = method_find(o->strategy, o->scope);

        p->n_objects[kind][method]++;
        if (o->edits.n)
            package->edited[package->n_edited++] = (struct whole_edited){
                .path = o->program, .object = i, .kind = kind, .method = method, .edits = o->edits};
        if (kind == SUBJECT_PROGRAM)
            package->program[package->n_programs++] = (struct whole_program){
                .path = o->program,
                .object = i,
                .cpu = plan->cpu,
                .strategy = o->strategy,
                .scope = o->scope,
                .rule = o->rule,
                .reason = o->reason,
            };
    }
}

/* Starts as built, and with the program's own edits, which its plan knows. */
static int start_alone(struct whole_planned *p, const struct plan *plan, struct world *world,
                       const struct policy *policy, struct err *err)
{
    CLEANUP(whole_starts_release) struct whole_starts starts = {.world = world, .policy = policy};
    int r = 0;

    for (size_t i = 0; i < p->package.n_programs && r == 0; i++) {
        struct whole_program *w = &p->package.program[i];
        const struct plan_level *level =
            plan_level(plan_chosen(&plan->object[w->object]), plan->cpu);

        r = whole_start(&starts, w->cpu, w->path, &w->before, &w->before_dlopen, err);
        w->alone = level ? level->after : w->before;
    }
    return r;
}

/* As if nothing were to be taken back, and nobody else's plans mattered to the programs. */
static void write_plan(struct whole_planned *p, const struct plan *plan, bool indented)
{
    struct json_writer *w = arena_alloc(&p->arena, sizeof(*w));

    for (size_t i = 0; i < p->package.n_programs; i++) {
        const struct whole_program *program = &p->package.program[i];
        struct plan_object *o = &plan->object[program->object];

        o->own_package = o->whole_closure = &program->own;
    }
    w->indented = indented;
    json_write_value(w, NULL, plan_json(plan, &p->arena));
    json_write_finish(w);
    p->text = w->text;
    p->package.len = w->len;
}

static int plan_it(struct whole_planned *p, const struct whole_work *work,
                   struct whole_reader *reader, struct err *err)
{
    struct subject_query query = {
        .policy = work->query->policy,
        .cpu = work->query->cpu,
        .all_objects = true,
        .needed = work->needed,
    };
    struct program *program;
    struct plan plan;
    size_t n;
    int r = whole_reader_next(reader, 1, err);

    if (r < 0)
        return r;
    query.world = reader->world;
    r = package_programs(&query, p->package.path, &p->arena, &program, &n, err);
    if (r == 0)
        r = package_plan(&query, program, n, &p->arena, &plan, err);
    if (r < 0)
        return r == -ENODATA ? 0 : r; /* no loader loads it: no plan, and nothing wrong with it */
    keep_objects(p, &plan);
    r = start_alone(p, &plan, reader->world, work->query->policy, err);
    if (r == 0)
        r = whole_start_own(&p->package, reader->world, work->query->policy, err);
    if (r == 0 && work->query->plans)
        write_plan(p, &plan, work->query->plans == WHOLE_INDENTED);
    return r;
}

struct whole_planned *whole_plan_package(const struct whole_work *work, struct whole_reader *reader,
                                         size_t n)
{
    struct whole_planned *p = calloc(1, sizeof(*p));
    struct err err;

    if (!p)
        abort();
    p->n = n;
    p->package.path = work->list->package[n];
    if (plan_it(p, work, reader, &err) < 0) {
        p->package = (struct whole_package){.path = p->package.path,
                                            .problem = arena_strdup(&p->arena, err.text)};
        memset(p->n_objects, 0, sizeof(p->n_objects));
    }
    return p;
}

void whole_planned_free(struct whole_planned *p)
{
    free(p->text);
    arena_release(&p->arena);
    free(p);
}
