#include "planner/simulate.h"
#include "base/str.h"

#include <string.h>

static const char *keep_text(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

static const char **keep_texts(struct arena *arena, const char *const *text, size_t n)
{
    const char **copy = arena_calloc(arena, n + 1, sizeof(*copy));
    size_t i;

    for (i = 0; i < n; i++)
        copy[i] = arena_strdup(arena, text[i]);
    return copy;
}

void trace_keep(struct trace *trace, struct arena *arena)
{
    struct profile *p = &trace->profile;

    p->text = keep_text(arena, p->text);
    p->interp = keep_text(arena, p->interp);
    p->soname = keep_text(arena, p->soname);
    p->assumed = keep_text(arena, p->assumed);
    p->cache = keep_text(arena, p->cache);
    p->preload = keep_text(arena, p->preload);
    p->lib = keep_text(arena, p->lib);
    p->platform = keep_text(arena, p->platform);
    p->system_dirs = keep_texts(arena, p->system_dirs, p->n_system_dirs);
    p->caps = keep_texts(arena, p->caps, p->n_caps);
}

static size_t environment(struct arena *arena, const struct subject *s,
                          const struct scenario *scenario, const char ***ret_env)
{
    const char **env = arena_calloc(arena, s->n_full_env + 3, sizeof(*env));
    size_t n = scenario->overridden ? s->n_full_env : s->n_env;

    if (n)
        memcpy(env, scenario->overridden ? s->full_env : s->env, n * sizeof(*env));
    if (scenario->library_path)
        env[n++] = arena_printf(arena, "LD_LIBRARY_PATH=%s", scenario->library_path);
    if (scenario->preload)
        env[n++] = arena_printf(arena, "LD_PRELOAD=%s", scenario->preload);
    *ret_env = env;
    return n;
}

/* Let the program's loader read notes: the facts of its file say so. */
static int add_reader(const struct subject *s, struct run *run, struct err *err)
{
    struct place at = world_walk(run->world, NULL, s->object->interp ? s->object->interp : "");
    const struct object *facts = at.error ? NULL : world_object(run->world, at.node);
    struct object *object;
    struct ldso *ldso;

    if (!facts || !facts->ldso)
        return 0;
    object = arena_memdup(&run->arena, facts, sizeof(*facts));
    ldso = arena_memdup(&run->arena, facts->ldso, sizeof(*ldso));
    ldso->reads_note = true;
    object->ldso = ldso;
    return overlay_object(run->world, s->object->interp, object, err);
}

static int set_up(const struct subject *s, const struct edits *edits,
                  const struct scenario *scenario, struct run *run, struct err *err)
{
    size_t i;
    int r = 0;

    if (edits && (r = edits_apply(edits, run->world, &run->arena, err)) < 0)
        return r;
    for (i = 0; i < scenario->n_decoys && r == 0; i++)
        r = overlay_file(run->world, scenario->decoys[i].path, scenario->decoys[i].object, err);
    if (r == 0 && scenario->reader)
        r = add_reader(s, run, err);
    return r;
}

int simulate(const struct subject *s, const struct edits *edits, const struct scenario *scenario,
             size_t level, struct run *ret_run, struct err *err)
{
    struct run run = {.world = world_overlay(s->world)};
    struct start start = {.program = s->program, .record = true, .declared = scenario->declared};
    const char **env;
    int r = set_up(s, edits, scenario, &run, err);

    if (r == 0) {
        CLEANUP(loader_freep)
        struct loader *loader =
            loader_new(run.world, &s->level[level].cpu, s->cwd, scenario->secure);

        start.n_env = environment(&run.arena, s, scenario, &env);
        start.env = env;
        r = loader_run(loader, &start, &run.arena, &run.trace, err);
        if (r == 0) {
            trace_drop_modules(&run.trace, &run.arena);
            trace_keep(&run.trace, &run.arena);
        }
    }
    if (r < 0) {
        run_close(&run);
        return r;
    }
    *ret_run = run;
    return 0;
}

void run_close(struct run *run)
{
    world_closep(&run->world);
    arena_release(&run->arena);
    *run = (struct run){0};
}

size_t first_load_difference(const struct trace *a, const struct trace *b)
{
    size_t i, n = a->n_loaded < b->n_loaded ? a->n_loaded : b->n_loaded;

    for (i = 0; i < n; i++)
        if (!same_file(&a->loaded[i], &b->loaded[i]))
            return i;
    return a->n_loaded == b->n_loaded ? SIZE_MAX : n;
}
