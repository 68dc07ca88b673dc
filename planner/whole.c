#include "planner/whole.h"
#include "base/db.h"
#include "base/str.h"
#include "base/workq.h"
#include "loader/world_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- what there is */

struct texts {
    struct arena *arena;
    const char **text;
    size_t n;
    size_t *count; /* how often each was there, after sort_once() */
};

static void add_text(void *data, const char *text)
{
    struct texts *texts = data;

    texts->text = arena_grow(texts->arena, texts->text, texts->n, sizeof(*texts->text));
    texts->text[texts->n++] = arena_strdup(texts->arena, text);
}

static int by_bytes(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

static void sort_once(struct texts *texts)
{
    size_t i, kept = 0;

    if (texts->n > 1)
        qsort(texts->text, texts->n, sizeof(*texts->text), by_bytes);
    texts->count = arena_calloc(texts->arena, texts->n, sizeof(*texts->count));
    for (i = 0; i < texts->n; i++) {
        if (i == 0 || strcmp(texts->text[i], texts->text[kept - 1]) != 0)
            texts->text[kept++] = texts->text[i];
        texts->count[kept - 1]++;
    }
    texts->n = kept;
}

/* The packages that have objects, by path. */
static int find_packages(struct db *db, const struct policy *policy, struct texts *ret_packages,
                         struct err *err)
{
    struct texts objects = {.arena = ret_packages->arena};
    int r = index_objects(db, add_text, &objects, err);
    const char *package;
    size_t i;

    for (i = 0; i < objects.n && r == 0; i++)
        if ((package = policy_package(policy, objects.arena, objects.text[i])))
            add_text(ret_packages, package);
    sort_once(ret_packages);
    return r;
}

struct turn {
    size_t package, n_objects;
};

static int larger_first(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;

    if (x->n_objects != y->n_objects)
        return x->n_objects > y->n_objects ? -1 : 1;
    return x->package < y->package ? -1 : x->package > y->package;
}

/* Which package is planned when: the largest first, so that none of them is left to one thread. */
static struct turn *take_turns(const struct texts *packages)
{
    struct turn *turn = arena_calloc(packages->arena, packages->n, sizeof(*turn));
    size_t i;

    for (i = 0; i < packages->n; i++)
        turn[i] = (struct turn){i, packages->count[i]};
    if (packages->n > 1)
        qsort(turn, packages->n, sizeof(*turn), larger_first);
    return turn;
}

int whole_needed(struct db *db, struct world *world, struct arena *arena, struct name_set *ret_set,
                 struct err *err)
{
    struct texts objects = {.arena = arena}, names = {.arena = arena};
    int r = index_objects(db, add_text, &objects, err);
    size_t i, k;

    for (i = 0; i < objects.n && r == 0; i++) {
        struct place at = world_walk(world, NULL, objects.text[i]);
        const struct object *object = at.error ? NULL : world_object(world, at.node);

        for (k = 0; object && k < object->n_needs; k++)
            add_text(&names, str_base(object->need[k].name));
    }
    sort_once(&names);
    *ret_set = (struct name_set){names.text, names.n};
    return r;
}

/* ---- starts */

/* Start a program over a world, with its declared dlopens. */
static int start(struct world *world, const struct cpu *cpu, const char *path,
                 struct storm *ret_storm, struct storm *ret_dlopen, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    CLEANUP(loader_freep) struct loader *loader = loader_new(world, cpu, "/", false);
    const struct start s = {.program = path, .declared = true};
    struct trace trace;
    int r = loader_run(loader, &s, &scratch, &trace, err);

    if (r == 0) {
        *ret_storm = trace.storm;
        *ret_dlopen = trace.dlopen;
    }
    return r;
}

static int lay_over(const struct plan *plan, struct world *overlay, struct arena *arena,
                    struct err *err)
{
    size_t i;
    int r = 0;

    for (i = 0; i < plan->n_objects && r == 0; i++)
        if (plan->object[i].edits.n)
            r = edits_apply(&plan->object[i].edits, overlay, arena, err);
    return r;
}

static bool is_program(const struct plan_object *object)
{
    return !strcmp(object->kind, subject_kind_name(SUBJECT_PROGRAM));
}

/* ---- one package: in a reader's thread */

struct job {
    const struct whole_query *query;
    const struct texts *package;
    const struct turn *turn; /* one a package */
    const struct name_set *needed;
};

struct reader {
    struct db *db;
    struct world *world;
    struct err err; /* opening failed */
};

struct planned {
    size_t job;
    struct whole_package package;
    struct whole_program *program; /* the package arena's */
    size_t n_programs;
};

static void *reader_open(void *data)
{
    const struct job *job = data;
    struct reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        abort();
    if (db_open(job->query->db, DB_READ, &reader->db, &reader->err) == 0)
        (void)!world_index(reader->db, WORLD_EVERYTHING, &reader->world, &reader->err);
    return reader;
}

static void reader_close(void *data UNUSED, void *opened)
{
    struct reader *reader = opened;

    world_closep(&reader->world);
    db_closep(&reader->db);
    free(reader);
}

/* The starts of the package's programs with all its edits. */
static int start_programs(struct reader *reader, const struct cpu *cpu, struct planned *p,
                          struct err *err)
{
    CLEANUP(world_closep) struct world *overlay = world_overlay(reader->world);
    struct plan *plan = &p->package.plan;
    struct arena *arena = &p->package.arena;
    size_t i;
    int r = lay_over(plan, overlay, arena, err);

    p->program = arena_calloc(arena, plan->n_objects + 1, sizeof(*p->program));
    for (i = 0; i < plan->n_objects && r == 0; i++) {
        struct plan_object *object = &plan->object[i];
        struct whole_program *w = &p->program[p->n_programs];
        const struct plan_level *level;

        if (!is_program(object))
            continue;
        p->n_programs++;
        w->path = object->program;
        w->object = object;
        w->cpu = plan->cpu;
        level = plan_level(plan_chosen(object), plan->cpu);
        if ((r = start(reader->world, cpu, w->path, &w->before, &w->before_dlopen, err)) < 0 ||
            (r = start(overlay, cpu, w->path, &w->own, &w->own_dlopen, err)) < 0)
            break;
        w->alone = level ? level->after : w->before;
        object->own_package = &w->own;
    }
    return r;
}

static int plan_package(const struct job *job, struct reader *reader, struct planned *p,
                        struct err *err)
{
    const struct whole_query *q = job->query;
    const struct subject_query query = {
        .world = reader->world,
        .policy = q->policy,
        .cpu = q->cpu,
        .all_objects = !q->programs_only,
        .needed = job->needed,
    };
    struct program *program;
    struct cpu cpu;
    size_t n;
    int r;

    if (!reader->world)
        return err_set(err, EIO, "%s", reader->err.text);
    r = package_programs(&query, p->package.path, &p->package.arena, &program, &n, err);
    if (r == 0)
        r = package_plan(&query, program, n, &p->package.arena, &p->package.plan, err);
    if (r < 0)
        return r == -ENODATA ? 0 : r; /* no loader loads it: no plan, and nothing wrong with it */
    if ((r = cpu_find(p->package.plan.cpu, &cpu, err)) == 0)
        r = start_programs(reader, &cpu, p, err);
    return r;
}

static void *read_package(void *data, void *opened, size_t n)
{
    const struct job *job = data;
    struct planned *p = calloc(1, sizeof(*p));
    struct err err;

    if (!p)
        abort();
    p->job = job->turn[n].package;
    p->package.path = job->package->text[p->job];
    if (plan_package(job, opened, p, &err) < 0) {
        p->package.problem = arena_strdup(&p->package.arena, err.text);
        p->package.plan.n_objects = 0;
        p->n_programs = 0;
    }
    return p;
}

static void drop(void *result)
{
    struct planned *p = result;

    arena_release(&p->package.arena);
    free(p);
}

/* ---- all of them */

struct gathering {
    struct job job;
    struct planned **planned; /* by job */
};

static int keep(void *data, void *result, struct err *err UNUSED)
{
    struct gathering *g = data;
    struct planned *p = result;

    g->planned[p->job] = p;
    return 0;
}

static void *open_one(void *data)
{
    return reader_open(&((struct gathering *)data)->job);
}

static void *read_one(void *data, void *reader, size_t n)
{
    return read_package(&((struct gathering *)data)->job, reader, n);
}

/* In the order of paths, whoever was first. */
static void take_over(struct gathering *g, size_t n, struct whole *whole)
{
    size_t i, k;

    whole->package = arena_calloc(&whole->arena, n + 1, sizeof(*whole->package));
    for (i = 0; i < n; i++) {
        struct planned *p = g->planned[i];

        if (!p)
            continue;
        whole->package[whole->n_packages++] = p->package;
        for (k = 0; k < p->n_programs; k++) {
            whole->program = arena_grow(&whole->arena, whole->program, whole->n_programs,
                                        sizeof(*whole->program));
            whole->program[whole->n_programs++] = p->program[k];
        }
        free(p);
    }
}

/* ---- every start with everything planned */

static uint64_t failed(const struct storm *start_up, const struct storm *dlopen)
{
    return storm_failed(start_up) + storm_failed(dlopen);
}

bool whole_is_worse(const struct whole_program *w)
{
    const uint64_t before = failed(&w->before, &w->before_dlopen);

    return failed(&w->own, &w->own_dlopen) > before || failed(&w->whole, &w->whole_dlopen) > before;
}

static struct plan_object *find_object(struct whole_package *package, const char *path)
{
    size_t i;

    for (i = 0; i < package->plan.n_objects; i++)
        if (!strcmp(package->plan.object[i].program, path))
            return &package->plan.object[i];
    return NULL;
}

static struct whole_package *find_package(struct whole *whole, const char *path)
{
    size_t i, len;

    for (i = 0; i < whole->n_packages; i++) {
        len = strlen(whole->package[i].path);
        if (!strncmp(path, whole->package[i].path, len) && path[len] == '/')
            return &whole->package[i];
    }
    return NULL;
}

/* A library or root whose edits cost a program more than they save it stays as it is. */
static void take_back(struct plan_object *object, const char *program, struct arena *arena)
{
    size_t i;

    object->strategy = strategy_none.name;
    object->scope = scope_name(strategy_none.scope);
    object->rule = "worse-for-others";
    object->reason =
        arena_printf(arena, "with it '%s' would fail more calls than as built", program);
    object->edits = (struct edits){0};
    for (i = 0; i < object->n_options; i++) {
        struct plan_option *o = &object->option[i];
        const bool none = !strcmp(o->strategy, strategy_none.name);

        if (none || !strcmp(o->standing, "chosen")) {
            o->standing = none ? "chosen" : "lost";
            o->rule = object->rule;
            o->reason = object->reason;
        }
    }
}

/* What one worse start loads, and is planned but no program: taken back. Returns how many. */
static int take_back_loaded(struct whole *whole, struct world *world, const struct whole_program *w,
                            size_t *n_changed, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    CLEANUP(loader_freep) struct loader *loader = NULL;
    const struct start s = {.program = w->path, .declared = true, .record = true};
    struct trace trace;
    struct cpu cpu;
    size_t i;
    int r = cpu_find(w->cpu, &cpu, err);

    if (r < 0)
        return r;
    loader = loader_new(world, &cpu, "/", false);
    if ((r = loader_run(loader, &s, &scratch, &trace, err)) < 0)
        return r;
    for (i = 1; i < trace.n_loaded; i++) {
        const char *path = trace.loaded[i].node ? world_path(&scratch, trace.loaded[i].node)
                                                : trace.loaded[i].path;
        struct whole_package *package = find_package(whole, path);
        struct plan_object *object = package ? find_object(package, path) : NULL;

        if (!object || is_program(object) || object->edits.n == 0)
            continue;
        take_back(object, w->path, &package->arena);
        ++*n_changed;
    }
    return 0;
}

/* All starts of programs of one package, over a world. */
static int start_each(struct whole *whole, struct world *overlay, const struct whole_package *only,
                      struct err *err)
{
    size_t i;
    int r = 0;

    for (i = 0; i < whole->n_programs && r == 0; i++) {
        struct whole_program *w = &whole->program[i];
        struct cpu cpu;

        if (only && find_package(whole, w->path) != only)
            continue;
        if ((r = cpu_find(w->cpu, &cpu, err)) == 0)
            r = start(overlay, &cpu, w->path, only ? &w->own : &w->whole,
                      only ? &w->own_dlopen : &w->whole_dlopen, err);
    }
    return r;
}

/* Every package's edits in one world, and every start in it. */
static int start_all(struct whole *whole, struct world *world, struct err *err)
{
    CLEANUP(world_closep) struct world *overlay = world_overlay(world);
    size_t i;
    int r = 0;

    for (i = 0; i < whole->n_packages && r == 0; i++)
        r = lay_over(&whole->package[i].plan, overlay, &whole->arena, err);
    return r < 0 ? r : start_each(whole, overlay, NULL, err);
}

/* Starts with one package planned, after something of it was taken back. */
static int start_own(struct whole *whole, struct world *world, const struct whole_program *w,
                     struct err *err)
{
    CLEANUP(world_closep) struct world *overlay = world_overlay(world);
    const struct whole_package *package = find_package(whole, w->path);
    int r = package ? lay_over(&package->plan, overlay, &whole->arena, err) : 0;

    return r < 0 || !package ? r : start_each(whole, overlay, package, err);
}

enum { MAX_ROUNDS = 4 };

/* No program may get worse: what makes one worse is taken back, and everything counted again. */
static int settle_all(struct whole *whole, struct world *world, struct err *err)
{
    size_t i, n_changed = 1, round;
    int r = start_all(whole, world, err);

    for (round = 0; round < MAX_ROUNDS && n_changed && r == 0; round++) {
        n_changed = 0;
        for (i = 0; i < whole->n_programs && r == 0; i++)
            if (whole_is_worse(&whole->program[i]) &&
                (r = take_back_loaded(whole, world, &whole->program[i], &n_changed, err)) == 0)
                r = start_own(whole, world, &whole->program[i], err);
        if (n_changed && r == 0)
            r = start_all(whole, world, err);
    }
    return r;
}

static void show_in_plans(struct whole *whole)
{
    size_t i;

    for (i = 0; i < whole->n_programs; i++) {
        struct plan_object *object = (struct plan_object *)(uintptr_t)whole->program[i].object;

        object->own_package = &whole->program[i].own;
        object->whole_closure = &whole->program[i].whole;
    }
}

static int plan_all(const struct whole_query *asked, struct db *db, struct world *world,
                    struct whole *whole, struct err *err)
{
    struct texts package = {.arena = &whole->arena}, stores = package;
    struct policy policy = *asked->policy;
    struct whole_query own = *asked;
    const struct whole_query *query = &own;
    struct name_set needed;
    struct gathering g = {.job = {.query = query, .package = &package, .needed = &needed}};
    const struct work work = {.data = &g,
                              .reader_open = open_one,
                              .reader_close = reader_close,
                              .read = read_one,
                              .write = keep,
                              .drop = drop};
    size_t i;
    int r = index_store_paths(db, add_text, &stores, err);

    for (i = 0; i < stores.n; i++)
        policy_add_store(&policy, &whole->arena, stores.text[i]);
    own.policy = &policy;
    if (r == 0)
        r = whole_needed(db, world, &whole->arena, &needed, err);

    for (i = 0; i < query->n_packages; i++)
        add_text(&package, query->package[i]);
    package.count = arena_calloc(&whole->arena, package.n, sizeof(*package.count));
    if (r == 0 && !query->package)
        r = find_packages(db, query->policy, &package, err);
    if (r < 0)
        return r;
    g.job.turn = take_turns(&package);
    g.planned = calloc(package.n + 1, sizeof(struct planned *));
    if (!g.planned)
        abort();
    r = work_run(&work, package.n, query->n_threads, err);
    take_over(&g, package.n, whole);
    free(g.planned);
    if (r == 0 && (r = settle_all(whole, world, err)) == 0)
        show_in_plans(whole);
    return r;
}

int whole_plan(const struct whole_query *query, struct whole *ret_whole, struct err *err)
{
    CLEANUP(db_closep) struct db *db = NULL;
    CLEANUP(world_closep) struct world *world = NULL;
    struct whole whole = {0};
    int r = db_open(query->db, DB_READ, &db, err);

    if (r == 0)
        r = world_index(db, WORLD_EVERYTHING, &world, err);
    if (r == 0)
        r = plan_all(query, db, world, &whole, err);
    if (r < 0) {
        whole_release(&whole);
        return r;
    }
    *ret_whole = whole;
    return 0;
}

void whole_release(struct whole *whole)
{
    size_t i;

    for (i = 0; i < whole->n_packages; i++)
        arena_release(&whole->package[i].arena);
    arena_release(&whole->arena);
    *whole = (struct whole){0};
}

/* ---- sums */

static const struct storm *column_of(const struct whole_program *w, enum whole_column column)
{
    switch (column) {
    case WHOLE_ALONE:
        return &w->alone;
    case WHOLE_OWN:
        return &w->own;
    case WHOLE_ALL:
        return &w->whole;
    case WHOLE_BEFORE:
    case N_WHOLE_COLUMNS:
        break;
    }
    return &w->before;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

struct whole_sum whole_sum(const struct whole *whole, enum whole_column column)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    uint32_t *number = arena_calloc(&scratch, whole->n_programs + 1, sizeof(*number));
    struct whole_sum sum = {0};
    size_t i;

    for (i = 0; i < whole->n_programs; i++) {
        const struct storm *s = column_of(&whole->program[i], column);

        sum.failed_opens += s->failed_opens;
        sum.failed_stats += s->failed_stats;
        number[i] = s->failed_opens;
    }
    if (whole->n_programs > 1)
        qsort(number, whole->n_programs, sizeof(*number), by_number);
    sum.median = whole->n_programs ? number[whole->n_programs / 2] : 0;
    return sum;
}
