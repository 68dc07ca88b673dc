#include "planner/package.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 200000, MAX_PROGRAMS = 5000 };

/* ---- finding programs */

struct search {
    const struct subject_query *query;
    struct arena *arena;
    struct program *program, *wrapped; /* wrapped: what wrappers told */
    size_t n_programs, n_wrapped, n_entries;
    struct node **dir; /* directories found */
    size_t n_dirs;
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

static void add(struct arena *arena, struct program **list, size_t *n, struct program program)
{
    if (*n >= MAX_PROGRAMS)
        return;
    *list = arena_grow(arena, *list, *n, sizeof(**list));
    (*list)[(*n)++] = program;
}

/* A library, a root, or neither: nothing that a plan could be about. */
static bool find_kind(const struct subject_query *q, const struct object *object, const char *path,
                      int *ret_kind)
{
    const char *base = str_base(path), *directory;

    if (object->interp || object->ldso || object->type != ET_DYN || !object->has_dynamic ||
        object->n_needs == 0 || object->problem)
        return false;
    *ret_kind = SUBJECT_LIBRARY;
    if (q->needed) {
        if (!name_set_has(q->needed, base) &&
            !(object->soname && name_set_has(q->needed, object->soname)))
            *ret_kind = SUBJECT_ROOT;
        return true;
    }
    for (directory = base - 1; directory > path && directory[-1] != '/'; directory--)
        ;
    if (!object->soname || strncmp(directory, "lib/", 4) != 0)
        *ret_kind = SUBJECT_ROOT;
    return true;
}

static void look_at(struct search *s, struct node *node)
{
    const struct subject_query *q = s->query;
    const struct object *object = world_object(q->world, node);
    struct program program = {.env = q->env, .n_env = q->n_env};
    struct err ignored; /* a script that is no wrapper is none of our business */
    struct place at;

    program.path = world_path(s->arena, node);
    if (object && object_is_program(object) && !object->ldso)
        add(s->arena, &s->program, &s->n_programs, program);
    else if (q->all_objects && object && find_kind(q, object, program.path, &program.kind))
        add(s->arena, &s->program, &s->n_programs, program);
    if ((object && !object_is_program(object)) || !(node->mode & 0111) ||
        program_follow(q->world, &program, s->arena, &program, &ignored) < 0 || !program.wrapper)
        return;
    at = world_walk(q->world, NULL, program.path);
    if (at.error)
        return;
    program.path = world_path(s->arena, at.node);
    add(s->arena, &s->wrapped, &s->n_wrapped, program);
}

/* One directory: its programs are added, its directories follow in the list. */
static int look_into(struct search *s, struct node *dir, struct err *err)
{
    struct world *world = s->query->world;
    struct entries entries = {.arena = s->arena};
    int r = world_list(world, dir, add_entry, &entries);
    size_t i;

    if (r == -ENODATA) /* an index knows only of directories that somebody searches */
        return 0;
    if (r < 0)
        return err_set(err, -r, "'%s': %s", world_path(s->arena, dir), strerror(-r));
    s->n_entries += entries.n;
    if (s->n_entries > MAX_ENTRIES)
        return err_set(err, E2BIG, "'%s': too many entries for one package",
                       world_path(s->arena, dir));
    for (i = 0; i < entries.n; i++) {
        struct node *node = world_child(world, dir, intern(world->names, entries.name[i]));

        if (node && node->kind == NODE_FILE)
            look_at(s, node);
        else if (node && node->kind == NODE_DIR) {
            s->dir = arena_grow(s->arena, s->dir, s->n_dirs, sizeof(*s->dir));
            s->dir[s->n_dirs++] = node;
        }
    }
    return 0;
}

static int walk(struct search *s, struct node *dir, struct err *err)
{
    size_t i;
    int r = look_into(s, dir, err);

    for (i = 0; i < s->n_dirs && r == 0; i++)
        r = look_into(s, s->dir[i], err);
    return r;
}

static int by_path(const void *a, const void *b)
{
    const struct program *x = a, *y = b;

    /* programs first: they have the farm's plain name */
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Give each program the environment of the first wrapper around it. */
static void match_wrappers(struct search *s)
{
    size_t i, k;

    for (i = 0; i < s->n_programs; i++)
        for (k = 0; k < s->n_wrapped; k++)
            if (!strcmp(s->program[i].path, s->wrapped[k].path)) {
                s->program[i] = s->wrapped[k];
                break;
            }
}

int package_programs(const struct subject_query *query, const char *path, struct arena *arena,
                     struct program **ret_program, size_t *ret_n, struct err *err)
{
    struct search s = {.query = query, .arena = arena};
    struct place at = world_walk(query->world, NULL, path);
    int r;

    if (at.error)
        return err_set(err, at.error, "'%s': %s", path, strerror(at.error));
    if (at.node->kind != NODE_DIR) {
        s.program = arena_calloc(arena, 1, sizeof(*s.program));
        r = program_follow(
            query->world, &(struct program){.path = path, .env = query->env, .n_env = query->n_env},
            arena, s.program, err);
        s.n_programs = 1;
    } else {
        r = walk(&s, at.node, err);
        if (s.n_programs > 1)
            qsort(s.program, s.n_programs, sizeof(*s.program), by_path);
        if (s.n_wrapped > 1)
            qsort(s.wrapped, s.n_wrapped, sizeof(*s.wrapped), by_path);
        match_wrappers(&s);
    }
    if (r < 0)
        return r;
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

    if (r == 0 && (r = decide(subject, ret_decision, err)) < 0)
        subject_release(subject);
    return r;
}

static void release(struct decision *d)
{
    subject_release((struct subject *)(uintptr_t)d->subject);
}

int package_plan(const struct subject_query *query, const struct program *program, size_t n,
                 struct arena *arena, struct plan *ret_plan, struct err *err)
{
    struct plan plan = {0};
    struct subject_query q = *query;
    const char *package = NULL;
    struct decision d;
    size_t i;
    int r;

    for (i = 0; i < n; i++) {
        q.program = program[i].path;
        q.env = program[i].env;
        q.n_env = program[i].n_env;
        q.wrapper = program[i].wrapper;
        q.kind = (enum subject_kind)program[i].kind;
        q.farm = query->farm;
        r = decide_for(&q, arena, &d, err);
        if (r == -ENOENT && q.kind != SUBJECT_PROGRAM)
            continue; /* no loader lies in its run path: nothing is known of who loads it */
        if (r < 0)
            return r;
        if (plan.n_objects == 0) {
            plan_init(&plan, d.subject, arena);
            package = d.subject->package;
        } else if (!str_same(package, d.subject->package))
            return err_set(err, EINVAL, "'%s' and '%s' are not of one package", program[0].path,
                           program[i].path);
        if (clashes(&plan, &d)) {
            q.farm = arena_printf(arena, "%s-%s", d.subject->farm, str_base(d.subject->path));
            release(&d);
            if ((r = decide_for(&q, arena, &d, err)) < 0)
                return r;
        }
        plan_add(&plan, &d, arena);
        release(&d);
    }
    if (plan.n_objects == 0) /* libraries whose run paths lead to no loader */
        return err_set(err, ENODATA,
                       "there is nothing in it that a loader loads, as far as can be told");
    *ret_plan = plan;
    return 0;
}
