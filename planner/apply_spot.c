/*
 * Plans made on the spot: for the outputs of a package that is being built.
 */
#include "planner/apply_internal.h"
#include "planner/plan_json.h"

#include <errno.h>
#include <unistd.h>

static int plan_output(const struct apply_options *o, const struct apply_output *output,
                       struct world *world, struct arena *arena, json_t **ret_json, struct err *err)
{
    const struct policy *base = o->policy ? o->policy : policy_default();
    const struct subject_query query = {
        .world = world,
        .policy = policy_for(o, output, base, arena),
        .cpu = base->cpu,
        .all_objects = true, /* as `stormlint plan` decides for a package */
    };
    struct program *program;
    struct plan plan;
    size_t n;
    int r = package_programs(&query, output->dir, arena, &program, &n, err);

    *ret_json = NULL;
    if (r < 0 || n == 0)
        return r;
    r = package_plan(&query, program, n, arena, &plan, err);
    if (r < 0)
        return r == -ENODATA ? 0 : r; /* no loader loads it */
    plan.key.output = output->name;   /* who builds knows better than the path's name */
    *ret_json = plan_json(&plan, arena);
    return 0;
}

/* Plans point into the world they were made in; read back from JSON they stand by themselves. */
int apply_plan_outputs(const struct apply_options *o, struct arena *arena, struct plan **ret_plan,
                       size_t *ret_n, struct err *err)
{
    struct plan *plan = arena_calloc(arena, o->n_outputs + 1, sizeof(*plan));
    CLEANUP(world_closep) struct world *world = NULL;
    size_t n = 0;
    int r = world_live(o->root, getuid(), getgid(), &world, err);

    for (size_t i = 0; i < o->n_outputs && r == 0; i++) {
        CLEANUP(arena_release) struct arena scratch = {0};
        json_t *json = NULL;

        r = plan_output(o, &o->output[i], world, &scratch, &json, err);
        if (r == 0 && json)
            r = plan_parse(json, o->output[i].dir, arena, &plan[n++], err);
        json_decref(json);
    }
    if (r < 0)
        return r;
    *ret_plan = plan;
    *ret_n = n;
    return 0;
}
