#include "planner/package.h"
#include "base/str.h"
#include "planner/plan_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of one package: entries of its directories, and what plans can be read back with. */
enum { MAX_ENTRIES = 200000, MAX_PROGRAMS = MAX_PLAN_OBJECTS };

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

    if (entries->n > MAX_ENTRIES)
        return;
    entries->name = arena_grow(entries->arena, entries->name, entries->n, sizeof(*entries->name));
    entries->name[entries->n++] = arena_strdup(entries->arena, name);
}

static void add(struct arena *arena, struct program **list, size_t *n, struct program program)
{
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
    if (object && ((object_is_program(object) && !object->ldso) ||
                   (q->all_objects && find_kind(q, object, program.path, &program.kind))))
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
        return err_set(err, E2BIG, "'%s': more than %d entries are too many for one package",
                       world_path(s->arena, dir), MAX_ENTRIES);
    for (i = 0; i < entries.n; i++) {
        struct node *node = world_child(world, dir, intern(world->names, entries.name[i]));

        if (node && node->kind == NODE_FILE)
            look_at(s, node);
        else if (node && node->kind == NODE_DIR) {
            s->dir = arena_grow(s->arena, s->dir, s->n_dirs, sizeof(*s->dir));
            s->dir[s->n_dirs++] = node;
        }
        if (s->n_programs > MAX_PROGRAMS || s->n_wrapped > MAX_PROGRAMS)
            return err_set(err, E2BIG, "'%s': more than %d programs, plugins and libraries",
                           world_path(s->arena, dir), MAX_PROGRAMS);
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

/*
 * Planning a package. What little a program saves may still be worth it for the package, of which
 * nothing is known before its last program: such decisions are kept, and settled in the end.
 *
 *	subjects ---decide---> plan.object[0] [1] [2] ...
 *	                             kept ------^         saves too little by itself
 *
 * A plan owns its texts; what a subject takes, all its starts, is gone when its object is put down.
 */
struct decided {
    struct arena arena;
    struct subject subject;
    struct decision decision;
    struct program program;
    size_t object; /* of the plan */
};

struct planning {
    const struct subject_query *query;
    struct arena *arena;
    struct plan plan;
    const char *package, *first; /* its path, and its first program's */
    struct decided **kept;
    size_t n_kept;
    uint64_t opens, saved; /* failed ones of all programs: as built, saved by the plan */
};

static void release(struct decided *d)
{
    struct arena arena = d->arena; /* which it lies in itself */

    subject_release(&d->subject);
    arena_release(&arena);
}

static int decide_for(const struct planning *p, const struct program *program, const char *farm,
                      struct decided **ret_decided, struct err *err)
{
    struct arena arena = {0};
    struct decided *d = arena_alloc(&arena, sizeof(*d));
    struct subject_query q = *p->query;
    int r;

    d->arena = arena;
    d->program = *program;
    q.program = program->path;
    q.env = program->env;
    q.n_env = program->n_env;
    q.wrapper = program->wrapper;
    q.kind = (enum subject_kind)program->kind;
    q.farm = farm ? farm : p->query->farm;
    r = subject_init(&d->subject, &q, &d->arena, err);
    if (r == 0)
        r = decide(&d->subject, &d->decision, err);
    if (r < 0) {
        release(d);
        return r;
    }
    *ret_decided = d;
    return 0;
}

static const char *own_farm(const struct planning *p, const struct subject *s)
{
    return arena_printf(p->arena, "%s-%s", s->farm, str_base(s->path));
}

static void put(struct planning *p, const struct decided *d, size_t object)
{
    plan_put(&p->plan, object, &d->decision, p->arena);
    p->saved += d->subject.kind == SUBJECT_PROGRAM ? decision_saves(&d->decision) : 0;
}

/* The first one says which package it is. */
static int join(struct planning *p, const struct subject *s, struct err *err)
{
    if (!p->first) {
        plan_init(&p->plan, s, p->arena);
        p->package = s->package ? arena_strdup(p->arena, s->package) : NULL;
        p->first = arena_strdup(p->arena, s->program);
    } else if (!str_same(p->package, s->package))
        return err_set(err, EINVAL, "'%s' and '%s' are not of one package", p->first, s->program);
    return 0;
}

static int plan_one(struct planning *p, const struct program *program, struct err *err)
{
    struct decided *d;
    const char *farm;
    int r = decide_for(p, program, NULL, &d, err);

    if (r == -ENOENT && program->kind != SUBJECT_PROGRAM)
        return 0; /* no loader lies in its run path: nothing is known of who loads it */
    if (r < 0)
        return r;
    if ((r = join(p, &d->subject, err)) < 0) {
        release(d);
        return r;
    }
    if (clashes(&p->plan, &d->decision)) {
        farm = own_farm(p, &d->subject);
        release(d);
        if ((r = decide_for(p, program, farm, &d, err)) < 0)
            return r;
    }
    d->object = p->plan.n_objects;
    put(p, d, d->object);
    if (d->subject.kind == SUBJECT_PROGRAM)
        p->opens += d->subject.trace->storm.failed_opens;
    if (d->subject.kind != SUBJECT_PROGRAM || strcmp(d->decision.rule, "not-worth-it") != 0) {
        release(d);
        return 0;
    }
    p->kept = arena_grow(p->arena, p->kept, p->n_kept, sizeof(struct decided *));
    p->kept[p->n_kept++] = d;
    return 0;
}

/* A program that goes along with the others of its package. */
static int plan_along(struct planning *p, const struct decided *kept, struct err *err)
{
    struct decided *apart;
    int r;

    if (!clashes(&p->plan, &kept->decision)) {
        put(p, kept, kept->object);
        return 0;
    }
    r = decide_for(p, &kept->program, own_farm(p, &kept->subject), &apart, err);
    if (r < 0)
        return r;
    decide_along(&apart->decision);
    put(p, apart, kept->object);
    release(apart);
    return 0;
}

/* The programs that save too little by themselves. */
static int plan_kept(struct planning *p, struct err *err)
{
    const struct policy *policy = p->query->policy;
    uint64_t saved = p->saved;
    size_t i;
    int r = 0;

    for (i = 0; i < p->n_kept; i++) {
        decide_along(&p->kept[i]->decision);
        saved += decision_saves(&p->kept[i]->decision);
    }
    if (saved < policy->min_saving || saved * 100 < p->opens * policy->min_percent)
        return 0;
    for (i = 0; i < p->n_kept && r == 0; i++)
        r = plan_along(p, p->kept[i], err);
    return r;
}

int package_plan(const struct subject_query *query, const struct program *program, size_t n,
                 struct arena *arena, struct plan *ret_plan, struct err *err)
{
    struct planning p = {.query = query, .arena = arena};
    size_t i;
    int r = 0;

    for (i = 0; i < n && r == 0; i++)
        r = plan_one(&p, &program[i], err);
    if (r == 0)
        r = plan_kept(&p, err);
    for (i = 0; i < p.n_kept; i++)
        release(p.kept[i]);
    if (r < 0)
        return r;
    if (p.plan.n_objects == 0) /* libraries whose run paths lead to no loader */
        return err_set(err, ENODATA,
                       "there is nothing in it that a loader loads, as far as can be told");
    *ret_plan = p.plan;
    return 0;
}
