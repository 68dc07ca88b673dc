/*
 * Trials: the scenarios a proposal is put through, made once for a subject.
 *
 * A decoy is a file that carries the facts of a library under the name it was asked by, in a
 * directory that nothing else knows of:
 *
 *	/stormlint-decoys/shape/libz.so.1	needs what the real one needs
 *	/stormlint-decoys/empty/libz.so.1	needs nothing
 *
 * All of them at once tell in two runs what one at a time would tell in hundreds.
 */
#include "base/str.h"
#include "linter/danger.h"
#include "planner/criteria.h"

#include <fnmatch.h>
#include <string.h>

#define DECOYS "/stormlint-decoys"

enum {
    MAX_PRELOAD_NAMES = 400, /* bare names tried as preloads */
    MAX_DUPLICATES = 64,
};

/* ---- decoys */

static bool has_decoy(const struct decoy *decoy, size_t n, const char *name)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (!strcmp(decoy[i].name, name))
            return true;
    return false;
}

static const struct object *copy_without_paths(struct arena *arena, const struct object *object,
                                               bool with_needs)
{
    struct object *copy = arena_memdup(arena, object, sizeof(*object));

    copy->runpath = copy->rpath = NULL;
    copy->resolution = (struct note){0};
    if (!with_needs) {
        copy->need = NULL;
        copy->n_needs = 0;
    }
    return copy;
}

static void make_decoys(struct trial *t)
{
    const struct trace *trace = t->subject->trace;
    size_t i;

    t->shape = arena_calloc(t->arena, trace->n_requests + 1, sizeof(*t->shape));
    t->empty = arena_calloc(t->arena, trace->n_requests + 1, sizeof(*t->empty));
    for (i = 0; i < trace->n_requests; i++) {
        const struct request *q = &trace->request[i];
        const struct loaded *answer = q->answer > 0 ? &trace->loaded[q->answer] : NULL;
        struct decoy *d = &t->shape[t->n_decoys];

        if (q->kind != REQUEST_NEEDED || q->phase || strchr(q->name, '/') || !answer ||
            !answer->node || answer->object->ldso || has_decoy(t->shape, t->n_decoys, q->name))
            continue;
        *d = (struct decoy){.name = q->name, .dev = answer->node->dev, .ino = answer->node->ino};
        d->directory = t->subject->member[q->answer].directory;
        t->empty[t->n_decoys] = *d;
        d->path = arena_printf(t->arena, DECOYS "/shape/%s", q->name);
        d->object = copy_without_paths(t->arena, answer->object, true);
        d = &t->empty[t->n_decoys++];
        d->path = arena_printf(t->arena, DECOYS "/empty/%s", q->name);
        d->object = copy_without_paths(t->arena, answer->object, false);
    }
}

/* ---- names that could be preloaded without a path */

struct names {
    struct arena *arena;
    struct str text;
    size_t n;
};

static void add_library(void *data, const char *name)
{
    struct names *names = data;

    if (names->n >= MAX_PRELOAD_NAMES || fnmatch("lib*.so*", name, 0) || strpbrk(name, " :"))
        return;
    str_printf(&names->text, "%s%s", names->text.len ? ":" : "", name);
    names->n++;
}

/* ---- replacements as hosts make them */

static bool loads_drivers(const char *name)
{
    return danger_is("glvnd", DANGER_BY_SONAME, name) ||
           danger_is("gbm-vulkan-cl", DANGER_BY_SONAME, name);
}

/* The driver directory in an object's run path, as it is written there. */
static const char *link_in(const struct trial *t, const struct object *object)
{
    const char **component;
    size_t n, i;

    if (!object)
        return NULL;
    n = run_path_split(t->arena, object->runpath ? object->runpath : object->rpath, &component);
    for (i = 0; i < n; i++)
        if (danger_is("driver-link", DANGER_BY_RUN_PATH, component[i]))
            return component[i];
    return NULL;
}

/* Is the driver directory searched for some library before that is found? */
static bool link_comes_first(const struct trial *t)
{
    struct wanted *wanted;
    const char **passed;
    size_t n = wanted_list(t->subject, SCOPE_LIFTED, &wanted), i, k, n_passed;

    for (i = 0; i < n; i++) {
        n_passed = passed_outside_store(t->subject, &wanted[i], &passed);
        for (k = 0; k < n_passed; k++)
            if (danger_is("driver-link", DANGER_BY_RUN_PATH, passed[k]))
                return true;
    }
    return false;
}

static void find_drivers(struct trial *t)
{
    const struct trace *trace = t->subject->trace;
    size_t i;

    for (i = 0; i < t->n_decoys && !t->driver; i++)
        if (loads_drivers(t->shape[i].name))
            t->driver = t->shape[i].name;
    for (i = 0; i < trace->n_loaded && !t->driver_link; i++)
        t->driver_link = link_in(t, trace->loaded[i].object);
    if (t->driver_link && link_comes_first(t))
        t->host_replaces = t->driver_link;
    else if ((t->driver || t->driver_link) && subject_is_overridden(t->subject))
        t->host_replaces = "by its environment";
}

/* One more needed name, first: "/d/libGL.so.1" needs "stormlint-of-libGL.so.1". */
static void add_bringing(struct trial *t, const struct decoy *shape)
{
    struct decoy *d = &t->bringing[t->n_bringing], *brought = d + 1;
    struct object *object = arena_memdup(t->arena, shape->object, sizeof(*object)), *copy;
    struct need *need = arena_calloc(t->arena, object->n_needs + 1, sizeof(*need));

    *d = *brought = *shape;
    brought->name = arena_printf(t->arena, "stormlint-of-%s", shape->name);
    brought->path = arena_printf(t->arena, DECOYS "/needed/%s", brought->name);
    brought->dev = brought->ino = UINT64_MAX; /* it stands for nothing */
    copy = arena_memdup(t->arena, copy_without_paths(t->arena, object, false), sizeof(*copy));
    copy->soname = brought->name;
    brought->object = copy;
    need[0] = (struct need){.kind = NEED_NEEDED, .name = brought->name};
    if (object->n_needs)
        memcpy(need + 1, object->need, object->n_needs * sizeof(*need));
    object->need = need;
    object->n_needs++;
    d->path = arena_printf(t->arena, DECOYS "/needed/%s", shape->name);
    d->object = object;
    t->n_bringing += 2;
}

static void make_replacements(struct trial *t)
{
    size_t i;

    t->bringing = arena_calloc(t->arena, 2 * t->n_decoys + 1, sizeof(*t->bringing));
    t->in_link = arena_calloc(t->arena, t->n_decoys + 1, sizeof(*t->in_link));
    for (i = 0; i < t->n_decoys; i++) {
        if (!t->driver || loads_drivers(t->shape[i].name))
            add_bringing(t, &t->shape[i]);
        if (!t->driver_link && !loads_drivers(t->shape[i].name))
            continue;
        t->in_link[t->n_in_link] = t->shape[i];
        t->in_link[t->n_in_link++].path =
            arena_printf(t->arena, "%s/%s", t->driver_link ? t->driver_link : DECOYS "/drivers",
                         t->shape[i].name);
    }
}

/* Every library in the program's own run path: what LD_PRELOAD=NAME finds today. */
static const char *preload_names(const struct trial *t)
{
    struct names names = {.arena = t->arena, .text = {.arena = t->arena}};
    const char **component;
    size_t n = run_path_split(t->arena, old_run_path(t->subject), &component), i;

    for (i = 0; i < n; i++) {
        struct place at = world_walk(t->subject->world, NULL, component[i]);

        if (*component[i] == '/' && at.error == 0 && at.node->kind == NODE_DIR)
            (void)!world_list(t->subject->world, at.node, add_library, &names);
    }
    return names.n ? names.text.text : NULL;
}

static const char *preload_paths(const struct trial *t)
{
    struct str text = {.arena = t->arena};
    size_t i;

    for (i = 0; i < t->n_decoys; i++)
        str_printf(&text, "%s%s", i ? ":" : "", t->empty[i].path);
    return t->n_decoys ? text.text : NULL;
}

/* ---- two builds of one soname */

static size_t all_directories(const struct trial *t, const char ***ret_directory)
{
    const struct trace *trace = t->subject->trace;
    const char **directory = NULL, **component;
    size_t n = 0, i, k, n_components, at;

    for (i = 0; i < trace->n_loaded; i++) {
        const struct object *object = trace->loaded[i].object;

        if (!object)
            continue;
        n_components =
            run_path_split(t->arena, object->runpath ? object->runpath : object->rpath, &component);
        for (k = 0; k < n_components; k++) {
            for (at = 0; at < n && strcmp(directory[at], component[k]) != 0; at++)
                ;
            if (at < n || *component[k] != '/' || has_token(component[k]))
                continue;
            directory = arena_grow(t->arena, directory, n, sizeof(*directory));
            directory[n++] = component[k];
        }
    }
    *ret_directory = directory;
    return n;
}

static void find_duplicates(struct trial *t)
{
    const char **directory;
    size_t n = all_directories(t, &directory), i, k;
    struct place *place = arena_calloc(t->arena, n + 1, sizeof(*place));

    for (k = 0; k < n; k++)
        place[k] = world_walk(t->subject->world, NULL, directory[k]);
    for (i = 0; i < t->n_decoys; i++)
        for (k = 0; k < n && t->n_duplicates < MAX_DUPLICATES; k++) {
            const struct decoy *d = &t->shape[i];
            struct place dir = place[k], at;
            const struct object *object;

            /* a directory with builds for some CPUs holds one library, not several */
            if (dir.error || dir.node->kind != NODE_DIR || str_same(directory[k], d->directory))
                continue;
            at = world_walk(t->subject->world, dir.node, d->name);
            if (at.error || at.node->kind != NODE_FILE ||
                (at.node->dev == d->dev && at.node->ino == d->ino))
                continue;
            object = world_object(t->subject->world, at.node);
            if (!object || object->class != d->object->class ||
                object->machine != d->object->machine)
                continue;
            t->duplicate =
                arena_grow(t->arena, t->duplicate, t->n_duplicates, sizeof(*t->duplicate));
            t->duplicate[t->n_duplicates++] =
                (struct duplicate){.soname = d->name, .other = world_path(t->arena, at.node)};
            break;
        }
}

/* ---- the trial */

int trial_rig(const struct trial *t, const struct edits *edits, bool reader, struct rig *ret_rig,
              struct err *err)
{
    struct rig rig;
    int r = rig_open(t->subject, edits, reader, &rig, err);

    if (r < 0)
        return r;
    if ((r = rig_lay(&rig, t->shape, t->n_decoys, err)) < 0 ||
        (r = rig_lay(&rig, t->empty, t->n_decoys, err)) < 0 ||
        (r = rig_lay(&rig, t->bringing, t->n_bringing, err)) < 0) {
        rig_close(&rig);
        return r;
    }
    *ret_rig = rig;
    return 0;
}

/* Builds in the driver link would be found in every scenario: they have a rig of their own. */
static bool shares_rig(enum baseline_id id)
{
    return id != BASELINE_DRIVERS;
}

int trial_run(struct judge *judge, enum baseline_id id, struct run *ret_run, struct err *err)
{
    struct scenario scenario = judge->trial->baseline[id].scenario;
    const struct subject *s = judge->subject;

    scenario.reader = judge->reader;
    return shares_rig(id) ? rig_start(&judge->rig, &scenario, s->policy_level, ret_run, err)
                          : simulate(s, judge->edits, &scenario, s->policy_level, ret_run, err);
}

static int run_baseline(struct trial *t, enum baseline_id id, struct err *err)
{
    struct baseline *b = &t->baseline[id];
    const struct subject *s = t->subject;

    return shares_rig(id) ? rig_start(t->rig, &b->scenario, s->policy_level, &b->run, err)
                          : simulate(s, NULL, &b->scenario, s->policy_level, &b->run, err);
}

static void set_scenarios(struct trial *t)
{
    t->baseline[BASELINE_SHAPES].scenario = (struct scenario){
        .name = "LD_LIBRARY_PATH with another build of every library",
        .library_path = DECOYS "/shape",
        .decoys = t->shape,
        .n_decoys = t->n_decoys,
    };
    t->baseline[BASELINE_EMPTY].scenario = (struct scenario){
        .name = "LD_LIBRARY_PATH with a stand-in for every library that needs nothing",
        .library_path = DECOYS "/empty",
        .decoys = t->empty,
        .n_decoys = t->n_decoys,
    };
    t->baseline[BASELINE_PRELOAD].scenario = (struct scenario){
        .name = "LD_PRELOAD of a stand-in for every library, by path",
        .preload = preload_paths(t),
        .decoys = t->empty,
        .n_decoys = t->n_decoys,
    };
    t->baseline[BASELINE_PRELOAD_NAMES].scenario = (struct scenario){
        .name = "LD_PRELOAD of every library in its run path, by name",
        .preload = t->subject->kind == SUBJECT_PROGRAM ? preload_names(t) : NULL,
    };
    t->baseline[BASELINE_NEEDED].scenario = (struct scenario){
        .name = t->driver ? "LD_LIBRARY_PATH with builds of the libraries that load drivers, which "
                            "bring a needed name of their own"
                          : "LD_LIBRARY_PATH with another build of every library, which brings a "
                            "needed name of its own",
        .library_path = DECOYS "/needed",
        .decoys = t->bringing,
        .n_decoys = t->n_bringing,
    };
    t->baseline[BASELINE_DRIVERS].scenario = (struct scenario){
        .name = t->driver_link ? "the driver link has another build of every library"
                               : "LD_LIBRARY_PATH with other builds of libraries that load drivers",
        .library_path = t->driver_link ? NULL : DECOYS "/drivers",
        .decoys = t->in_link,
        .n_decoys = t->n_in_link,
    };
    t->baseline[BASELINE_DECLARED].scenario = (struct scenario){
        .name = "start, then what the loaded objects declare they will dlopen",
        .declared = true,
    };
    t->baseline[BASELINE_SECURE].scenario =
        (struct scenario){.name = "start as a set-id program", .secure = true};
}

/* Scenarios that are about programs, or have nothing in them, are not run. */
static bool is_asked(const struct trial *t, enum baseline_id id)
{
    if (id == BASELINE_PRELOAD || id == BASELINE_PRELOAD_NAMES || id == BASELINE_SECURE)
        return t->subject->kind == SUBJECT_PROGRAM;
    return id != BASELINE_DRIVERS || t->n_in_link > 0;
}

int trial_init(struct trial *ret_trial, const struct subject *subject, struct err *err)
{
    struct trial t = {.subject = subject, .arena = subject->arena};
    size_t i;
    int r = 0;

    make_decoys(&t);
    find_duplicates(&t);
    find_drivers(&t);
    make_replacements(&t);
    t.initrd_missing = initrd_missing(subject);
    set_scenarios(&t);
    t.rig = arena_calloc(t.arena, 1, sizeof(*t.rig));
    r = trial_rig(&t, NULL, false, t.rig, err);
    for (i = 0; i < N_BASELINES && r == 0; i++)
        if (is_asked(&t, (enum baseline_id)i))
            r = run_baseline(&t, (enum baseline_id)i, err);
    if (r < 0) {
        trial_release(&t);
        return r;
    }
    *ret_trial = t;
    return 0;
}

void trial_release(struct trial *t)
{
    size_t i;

    for (i = 0; i < N_BASELINES; i++)
        run_close(&t->baseline[i].run);
    rig_close(t->rig);
}
