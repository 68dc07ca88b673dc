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

    for (i = 0; i < t->n_decoys; i++)
        for (k = 0; k < n && t->n_duplicates < MAX_DUPLICATES; k++) {
            const struct decoy *d = &t->shape[i];
            struct place dir = world_walk(t->subject->world, NULL, directory[k]);
            struct place at;
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

int trial_run(const struct trial *t, enum baseline_id id, const struct edits *edits, bool reader,
              struct run *ret_run, struct err *err)
{
    struct scenario scenario = t->baseline[id].scenario;

    scenario.reader = reader;
    return simulate(t->subject, edits, &scenario, t->subject->policy_level, ret_run, err);
}

int trial_init(struct trial *ret_trial, const struct subject *subject, struct err *err)
{
    struct trial t = {.subject = subject, .arena = subject->arena};
    size_t i;
    int r = 0;

    make_decoys(&t);
    find_duplicates(&t);
    t.baseline[BASELINE_SHAPES].scenario = (struct scenario){
        .name = "LD_LIBRARY_PATH with another build of every library",
        .library_path = DECOYS "/shape",
        .decoys = t.shape,
        .n_decoys = t.n_decoys,
    };
    t.baseline[BASELINE_EMPTY].scenario = (struct scenario){
        .name = "LD_LIBRARY_PATH with a stand-in for every library that needs nothing",
        .library_path = DECOYS "/empty",
        .decoys = t.empty,
        .n_decoys = t.n_decoys,
    };
    t.baseline[BASELINE_PRELOAD].scenario = (struct scenario){
        .name = "LD_PRELOAD of a stand-in for every library, by path",
        .preload = preload_paths(&t),
        .decoys = t.empty,
        .n_decoys = t.n_decoys,
    };
    t.baseline[BASELINE_PRELOAD_NAMES].scenario = (struct scenario){
        .name = "LD_PRELOAD of every library in its run path, by name",
        .preload = preload_names(&t),
    };
    for (i = 0; i < N_BASELINES && r == 0; i++)
        r = simulate(subject, NULL, &t.baseline[i].scenario, subject->policy_level,
                     &t.baseline[i].run, err);
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
}
