/* The part of a snapshot that grows: a plan for each package, made in the background. */
#include "server/snapshot.h"

#include "planner/package.h"
#include "planner/plan_json.h"
#include "server/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct policy snapshot_policy(struct snapshot *snap, const struct policy *from)
{
    struct policy policy = *from;
    struct arena *arena = &snap->arena;
    const char **store = NULL;
    size_t n = 0;

    for (; n < from->n_stores; n++) {
        store = arena_grow(arena, store, n, sizeof(*store));
        store[n] = from->store[n];
    }
    for (size_t i = 0; i < snap->n_packages; i++) {
        const struct package_row *p = &snap->package[i];
        const size_t len = strlen(p->path) - strlen(p->base) - 1;
        bool known = false;

        for (size_t k = 0; k < n && !known; k++)
            known = strlen(store[k]) == len && !strncmp(store[k], p->path, len);
        if (known)
            continue;
        store = arena_grow(arena, store, n, sizeof(*store));
        store[n++] = arena_strndup(arena, p->path, len);
    }
    policy.store = store;
    policy.n_stores = n;
    return policy;
}

/* The name as the planner's table has it: what a remedy may point to for good. */
static void name_method(const char *strategy, const char *scope, struct remedy *remedy)
{
    for (unsigned i = 0; i < N_METHODS; i++) {
        const struct strategy *row = strategy_of((enum method)i);

        if (!strcmp(row->name, strategy)) {
            remedy->strategy = row->name;
            remedy->scope = scope_name(row->scope);
            if (!scope || !strcmp(remedy->scope, scope))
                return;
        }
    }
}

static struct remedy remedy_of(const struct plan *plan, const struct plan_object *object)
{
    const struct plan_option *chosen = plan_chosen(object);
    const struct plan_level *level = plan_level(chosen, plan->cpu);
    struct remedy remedy = {.known = true, .strategy = "none", .scope = "own"};

    name_method(object->strategy, object->scope, &remedy);
    if (level) {
        remedy.after_opens = level->after.failed_opens;
        remedy.after_stats = level->after.failed_stats;
    }
    return remedy;
}

/* Without a judged choice nothing changes. */
static struct remedy remedy_for(const struct plan *plan, const struct program_row *program)
{
    const struct storm *storm = &program->of.storm;
    struct remedy remedy = {.known = true,
                            .strategy = "none",
                            .scope = "own",
                            .after_opens = storm->failed_opens,
                            .after_stats = storm->failed_stats};

    for (size_t i = 0; i < plan->n_objects; i++) {
        const struct plan_object *object = &plan->object[i];

        if (object->program && !strcmp(object->program, program->of.program)) {
            if (strcmp(object->strategy, "none") != 0)
                remedy = remedy_of(plan, object);
            break;
        }
    }
    return remedy;
}

static char *plan_dump(const struct plan *plan, struct arena *arena, size_t *ret_len)
{
    json_t *json = plan_json(plan, arena);
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);

    json_decref(json);
    if (!text)
        abort();
    *ret_len = strlen(text);
    return text;
}

static struct plan_text pack(const struct plan *plan, struct arena *arena)
{
    struct plan_text packed = {.known = true};
    char *text = plan_dump(plan, arena, &packed.raw_len);

    packed.gzip = gzip_pack(text, packed.raw_len, &packed.gzip_len);
    if (packed.gzip)
        free(text);
    else
        packed.gzip = text;
    return packed;
}

/* Publish what came of one package; `plan` NULL: `err` says why there is none. */
static void publish(struct snapshot *snap, struct package_row *p, const struct plan *plan,
                    struct plan_text text, const struct err *err)
{
    struct remedy *remedy = calloc(p->n_programs + 1, sizeof(*remedy));

    if (!remedy)
        abort();
    for (uint32_t i = 0; plan && i < p->n_programs; i++)
        remedy[i] = remedy_for(plan, &snap->program[p->program[i]]);
    pthread_mutex_lock(&snap->lock);
    for (uint32_t i = 0; i < p->n_programs; i++)
        snap->program[p->program[i]].remedy = remedy[i];
    p->plan = text;
    if (!plan)
        p->plan.why_not = arena_strdup(&snap->remarks, err->text);
    snap->n_planned++;
    pthread_mutex_unlock(&snap->lock);
    free(remedy);
}

static int by_path(const void *a, const void *b)
{
    const struct program *x = a, *y = b;

    return strcmp(x->path, y->path);
}

size_t snapshot_programs_of(const struct snapshot *snap, const struct package_row *p,
                            struct arena *arena, struct program **ret_program)
{
    struct program *program = arena_calloc(arena, p->n_programs + 1, sizeof(*program));

    for (uint32_t i = 0; i < p->n_programs; i++)
        program[i].path = snap->program[p->program[i]].of.program;
    if (p->n_programs)
        qsort(program, p->n_programs, sizeof(*program), by_path);
    *ret_program = program;
    return p->n_programs;
}

static void plan_one(struct snapshot *snap, struct package_row *p)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct subject_query query = {.policy = &snap->policy, .cwd = "/"};
    struct view *view = snapshot_take(snap);
    struct plan_text text = {.known = true};
    struct program *program;
    struct plan plan;
    struct err err = {0};
    bool failed;
    size_t n;

    if (!view)
        return;
    view_begin(view, 0);
    query.world = view_world(view);
    n = snapshot_programs_of(snap, p, &arena, &program);
    failed = package_plan(&query, program, n, &arena, &plan, &err) < 0;
    if (!failed)
        text = pack(&plan, &arena);
    publish(snap, p, failed ? NULL : &plan, text, &err);
    snapshot_give(snap, view, err.code == EIO);
}

/* Answers that were made with fewer plans are made anew, but not with every plan. */
static void tell(struct snapshot *snap)
{
    __atomic_add_fetch(&snap->revision, 1, __ATOMIC_RELEASE);
}

static int64_t now_s(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

void snapshot_plan(struct snapshot *snap, const bool *stop)
{
    enum { TELL_S = 3 };
    int64_t told = now_s();

    for (size_t i = 0; i < snap->n_programs && !__atomic_load_n(stop, __ATOMIC_RELAXED); i++) {
        const uint32_t at = snap->program[i].package;

        if (at == UINT32_MAX || snap->package[at].plan.known)
            continue;
        plan_one(snap, &snap->package[at]);
        if (now_s() - told >= TELL_S) {
            tell(snap);
            told = now_s();
        }
    }
    tell(snap);
}

struct remedy snapshot_remedy(struct snapshot *snap, const struct program_row *program)
{
    struct remedy remedy;

    pthread_mutex_lock(&snap->lock);
    remedy = program->remedy;
    pthread_mutex_unlock(&snap->lock);
    return remedy;
}

void snapshot_progress(struct snapshot *snap, size_t *ret_planned, size_t *ret_to_plan,
                       unsigned *ret_revision)
{
    pthread_mutex_lock(&snap->lock);
    *ret_planned = snap->n_planned;
    *ret_to_plan = snap->n_to_plan;
    *ret_revision = __atomic_load_n(&snap->revision, __ATOMIC_ACQUIRE);
    pthread_mutex_unlock(&snap->lock);
}

char *snapshot_plan_text(struct snapshot *snap, const struct package_row *p, size_t *ret_len,
                         const char **ret_why_not)
{
    struct plan_text plan;

    /* once it is known it stays as it is */
    pthread_mutex_lock(&snap->lock);
    plan = p->plan;
    pthread_mutex_unlock(&snap->lock);
    *ret_why_not = !plan.known ? "it is not planned yet" : plan.why_not;
    if (!plan.gzip)
        return NULL;
    *ret_len = plan.raw_len;
    return plan.gzip_len ? gzip_unpack(plan.gzip, plan.gzip_len, plan.raw_len)
                         : strndup(plan.gzip, plan.raw_len);
}
