#include "planner/package.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 16, MAX_ENTRIES = 200000, MAX_PROGRAMS = 5000 };

/* ---- finding programs */

struct search {
    struct world *world;
    struct arena *arena;
    const char **program;
    size_t n_programs, n_entries;
};

struct entries {
    struct arena *arena;
    const char **name;
    size_t n;
};

static void add_entry(void *data, const char *name)
{
    struct entries *entries = data;

    if (entries->n >= MAX_ENTRIES || !strcmp(name, ".") || !strcmp(name, ".."))
        return;
    entries->name = arena_grow(entries->arena, entries->name, entries->n, sizeof(*entries->name));
    entries->name[entries->n++] = arena_strdup(entries->arena, name);
}

static void add_program(struct search *s, struct node *node)
{
    const struct object *object = world_object(s->world, node);

    if (!object || !object_is_program(object) || object->ldso || s->n_programs >= MAX_PROGRAMS)
        return;
    s->program = arena_grow(s->arena, s->program, s->n_programs, sizeof(*s->program));
    s->program[s->n_programs++] = world_path(s->arena, node);
}

static int walk(struct search *s, struct node *dir, unsigned depth, struct err *err)
{
    struct entries entries = {.arena = s->arena};
    int r = world_list(s->world, dir, add_entry, &entries);
    size_t i;

    if (r < 0)
        return err_set(err, -r, "'%s': %s", world_path(s->arena, dir), strerror(-r));
    if (depth > MAX_DEPTH || (s->n_entries += entries.n) > MAX_ENTRIES)
        return err_set(err, E2BIG, "'%s': too deep or too many entries for one package",
                       world_path(s->arena, dir));
    for (i = 0; i < entries.n && r == 0; i++) {
        struct node *node = world_child(s->world, dir, intern(s->world->names, entries.name[i]));

        if (node && node->kind == NODE_FILE)
            add_program(s, node);
        else if (node && node->kind == NODE_DIR)
            r = walk(s, node, depth + 1, err);
    }
    return r;
}

static int by_path(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

int package_programs(struct world *world, const char *path, struct arena *arena,
                     const char ***ret_program, size_t *ret_n, struct err *err)
{
    struct search s = {.world = world, .arena = arena};
    struct place at = world_walk(world, NULL, path);
    int r;

    if (at.error)
        return err_set(err, at.error, "'%s': %s", path, strerror(at.error));
    if (at.node->kind != NODE_DIR) {
        *ret_program = arena_calloc(arena, 1, sizeof(**ret_program));
        (*ret_program)[0] = path;
        *ret_n = 1;
        return 0;
    }
    if ((r = walk(&s, at.node, 0, err)) < 0)
        return r;
    if (s.n_programs > 1)
        qsort(s.program, s.n_programs, sizeof(*s.program), by_path);
    *ret_program = s.program;
    *ret_n = s.n_programs;
    return 0;
}

/* ---- one farm for all */

static const struct farm_link *find_link(const struct edit *farm, const char *name)
{
    size_t i;

    for (i = 0; i < farm->n_links; i++)
        if (!strcmp(farm->link[i].name, name))
            return &farm->link[i];
    return NULL;
}

/* Does an earlier object's farm lead one of these names elsewhere? */
static bool clashes(const struct plan *plan, const struct decision *d)
{
    const struct edit *mine = edits_find(&d->option[d->chosen].edits, EDIT_FARM, NULL), *other;
    const struct farm_link *link;
    size_t i, k;

    for (i = 0; mine && i < plan->n_objects; i++) {
        other = edits_find(&plan->object[i].edits, EDIT_FARM, mine->path);
        for (k = 0; other && k < mine->n_links; k++)
            if ((link = find_link(other, mine->link[k].name)) &&
                strcmp(link->target, mine->link[k].target) != 0)
                return true;
    }
    return false;
}

static int decide_for(const struct subject_query *query, struct arena *arena,
                      struct decision *ret_decision, struct err *err)
{
    struct subject *subject = arena_alloc(arena, sizeof(*subject));
    int r = subject_init(subject, query, arena, err);

    return r < 0 ? r : decide(subject, ret_decision, err);
}

int package_plan(const struct subject_query *query, const char *const *program, size_t n,
                 struct arena *arena, struct plan *ret_plan, struct err *err)
{
    struct plan plan = {0};
    struct subject_query q = *query;
    struct decision d;
    size_t i;
    int r;

    for (i = 0; i < n; i++) {
        q.program = program[i];
        q.farm = query->farm;
        if ((r = decide_for(&q, arena, &d, err)) < 0)
            return r;
        if (i == 0)
            plan_init(&plan, d.subject, arena);
        if (clashes(&plan, &d)) {
            q.farm = arena_printf(arena, "%s-%s", d.subject->farm, str_base(d.subject->path));
            if ((r = decide_for(&q, arena, &d, err)) < 0)
                return r;
        }
        plan_add(&plan, &d, arena);
    }
    *ret_plan = plan;
    return 0;
}
