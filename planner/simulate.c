#include "planner/simulate.h"

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

int reader_lay(struct world *overlay, const char *loader, enum note_reader reader,
               struct arena *arena, struct err *err)
{
    struct place at = world_walk(overlay, NULL, loader ? loader : "");
    const struct object *facts = at.error ? NULL : world_object(overlay, at.node);
    struct object *object;
    struct ldso *ldso;

    if (!facts || !facts->ldso || facts->ldso->reads_note == reader)
        return 0;
    object = arena_memdup(arena, facts, sizeof(*facts));
    ldso = arena_memdup(arena, facts->ldso, sizeof(*ldso));
    ldso->reads_note = reader;
    object->ldso = ldso;
    return overlay_object(overlay, loader, object, err);
}

/* The program's loader becomes what the policy says that loaders are; of none, the first kind. */
static int add_reader(struct rig *rig, struct err *err)
{
    const struct subject *s = rig->subject;

    return reader_lay(rig->world, s->object->interp,
                      s->policy->reader ? s->policy->reader : READER_A, &rig->arena, err);
}

int rig_open(const struct subject *s, const struct edits *edits, bool reader, struct rig *ret_rig,
             struct err *err)
{
    struct rig rig = {.subject = s, .world = world_overlay(s->world)};
    int r = edits ? edits_apply(edits, rig.world, &rig.arena, err) : 0;

    if (r == 0 && reader)
        r = add_reader(&rig, err);
    if (r < 0) {
        rig_close(&rig);
        return r;
    }
    *ret_rig = rig;
    return 0;
}

int rig_lay(struct rig *rig, const struct decoy *decoy, size_t n, struct err *err)
{
    size_t i;
    int r = 0;

    for (i = 0; i < n && r == 0; i++)
        r = overlay_file(rig->world, decoy[i].path, decoy[i].object, err);
    return r;
}

static struct loader *loader_of(struct rig *rig, size_t level, bool secure)
{
    struct loader **loader = &rig->loader[level][secure];

    if (!*loader)
        *loader =
            loader_new(rig->world, &rig->subject->level[level].cpu, rig->subject->cwd, secure);
    return *loader;
}

int rig_start(struct rig *rig, const struct scenario *scenario, size_t level, struct run *ret_run,
              struct err *err)
{
    const struct subject *s = rig->subject;
    struct start start = {.program = s->program, .record = true, .declared = scenario->declared};
    struct run run = {0};
    const char **env;
    int r;

    if (scenario->declared) {
        start.dlopens = s->dlopens;
        start.n_dlopens = s->n_dlopens;
    }
    start.n_env = environment(&run.arena, s, scenario, &env);
    start.env = env;
    r = loader_run(loader_of(rig, level, scenario->secure), &start, &run.arena, &run.trace, err);
    if (r < 0) {
        run_close(&run);
        return r;
    }
    trace_drop_modules(&run.trace, &run.arena);
    trace_keep(&run.trace, &run.arena);
    *ret_run = run;
    return 0;
}

void rig_close(struct rig *rig)
{
    size_t i;

    for (i = 0; i < ARRAY_LEN(rig->loader); i++) {
        loader_free(rig->loader[i][0]);
        loader_free(rig->loader[i][1]);
    }
    world_closep(&rig->world);
    arena_release(&rig->arena);
    *rig = (struct rig){0};
}

int simulate(const struct subject *s, const struct edits *edits, const struct scenario *scenario,
             size_t level, struct run *ret_run, struct err *err)
{
    struct rig rig;
    int r = rig_open(s, edits, scenario->reader, &rig, err);

    if (r < 0)
        return r;
    if ((r = rig_lay(&rig, scenario->decoys, scenario->n_decoys, err)) < 0 ||
        (r = rig_start(&rig, scenario, level, ret_run, err)) < 0) {
        rig_close(&rig);
        return r;
    }
    ret_run->rig = rig;
    return 0;
}

void run_close(struct run *run)
{
    rig_close(&run->rig);
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
