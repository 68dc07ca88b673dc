#include "cli/check_plan.h"

#include "base/str.h"
#include "cli/options.h"
#include "planner/plan_json.h"
#include "planner/promise.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where an object of a plan lies below a directory: as apply puts it there. */
static const char *path_in(struct arena *arena, const char *dir, const struct plan_object *object)
{
    return str_join(arena, dir, *object->path == '/' ? str_base(object->path) : object->path);
}

int check_plan_read(const char *path, const char *where, struct arena *arena,
                    struct planned_list *ret_list, struct err *err)
{
    const char *dir = where ? strchr(where, '=') : NULL;
    struct plan *plan = arena_alloc(arena, sizeof(*plan));
    struct planned *planned;
    size_t n = 0;
    int r = plan_read(path, arena, plan, err);

    if (r < 0)
        return r;
    if (dir && (strlen(plan->key.output) != (size_t)(dir - where) ||
                strncmp(where, plan->key.output, (size_t)(dir - where)) != 0))
        return err_set(err, EINVAL, "'%s' is for output '%s', not for '%s'", path, plan->key.output,
                       where);
    planned = arena_calloc(arena, plan->n_objects + 1, sizeof(*planned));
    for (size_t i = 0; i < plan->n_objects; i++) {
        const struct plan_object *object = &plan->object[i];

        if (!object->expect.interp)
            continue;
        planned[n++] = (struct planned){
            .program =
                dir ? path_in(arena, options_absolute(arena, dir + 1), object) : object->program,
            .plan = plan,
            .object = object,
        };
    }
    *ret_list = (struct planned_list){planned, n, plan->n_objects - n};
    return 0;
}

static int start(const char *program, struct world *world, const char *cpu_name,
                 struct arena *arena, struct trace *ret_trace, struct err *err)
{
    CLEANUP(loader_freep) struct loader *loader = NULL;
    struct cpu *cpu = arena_alloc(arena, sizeof(*cpu));
    int r = cpu_find(cpu_name, cpu, err);

    if (r < 0)
        return r;
    loader = loader_new(world, cpu, "/", false);
    return loader_run(loader, &(struct start){.program = program}, arena, ret_trace, err);
}

static bool is_note(const struct plan_object *object)
{
    return edits_find(&object->edits, EDIT_NOTE, NULL) != NULL;
}

const char *check_plan_holds(const struct planned *p, struct arena *arena, const char **ret_note)
{
    const struct plan_option *chosen = plan_chosen(p->object);
    CLEANUP(world_closep) struct world *world = NULL;
    struct err err;

    if (world_live("/", geteuid(), getegid(), &world, &err) < 0)
        return arena_strdup(arena, err.text);
    for (size_t i = 0; i < chosen->n_levels; i++) {
        const struct plan_level *level = &chosen->level[i];
        struct trace trace;

        if (start(p->program, world, level->cpu, arena, &trace, &err) < 0)
            return arena_strdup(arena, err.text);
        if (is_note(p->object) && !trace.profile.reader) {
            *ret_note = "planned for a loader that reads notes, which this one does not";
            return NULL;
        }
        if (!promise_kept(&trace, &level->after))
            return arena_printf(arena,
                                "not as planned: on %s it fails %u opens and %u stats, and the "
                                "plan (%s %s) promises %u and %u",
                                level->cpu, trace.storm.failed_opens, trace.storm.failed_stats,
                                p->object->strategy, p->object->scope, level->after.failed_opens,
                                level->after.failed_stats);
    }
    *ret_note = arena_printf(arena, "as planned (%s %s)", p->object->strategy, p->object->scope);
    return NULL;
}

static bool same_inode(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

const char *check_plan_unedited(const struct planned *p, const char *before, struct arena *arena,
                                const char **ret_why)
{
    const struct plan_object *of = p->object;
    const char *path = before ? path_in(arena, before, of) : of->program;
    const char *hint = before ? "" : " (--before DIR: the package as it was)";
    CLEANUP(world_closep) struct world *world = NULL;
    const struct object *object;
    struct place at;
    struct err err;

    if (of->edits.n == 0)
        *ret_why = "the plan leaves it as it is";
    else if (same_inode(path, p->program))
        *ret_why = arena_printf(arena, "'%s' is the program that is checked%s", path, hint);
    else if (world_live("/", geteuid(), getegid(), &world, &err) < 0)
        *ret_why = arena_strdup(arena, err.text);
    else if ((at = world_walk(world, NULL, path)).error)
        *ret_why = arena_printf(arena, "'%s': %s%s", path, strerror(at.error), hint);
    else if (!(object = world_object(world, at.node)) || !plan_expects(p->plan, of, object, arena))
        *ret_why = arena_printf(arena, "'%s' is not what the plan was made for%s", path, hint);
    else
        return path;
    return NULL;
}
