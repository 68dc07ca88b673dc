#include "planner/cache.h"
#include "base/str.h"
#include "loader/ldcache_write.h"

#include <errno.h>
#include <string.h>

struct entries {
    struct cache_entry *item;
    size_t n;
};

/* The path that a name was opened by in a start; NULL: it was not asked for. */
static const char *opened_in(const struct trace *trace, const char *name)
{
    size_t i;

    for (i = 0; i < trace->n_requests; i++)
        if (!strcmp(trace->request[i].name, name) && trace->request[i].answer > 0)
            return trace->loaded[trace->request[i].answer].path;
    return NULL;
}

static void add_entry(const struct subject *s, struct entries *to, const char *name,
                      const char *path, const char *level)
{
    to->item = arena_grow(s->arena, to->item, to->n, sizeof(*to->item));
    to->item[to->n++] = (struct cache_entry){.flags = (int32_t)s->trace->profile.cache_flags,
                                             .key = name,
                                             .value = path,
                                             .level = level};
}

/* "x86-64-v3" of "glibc-hwcaps/x86-64-v3/". */
static const char *best_level(const struct subject *s, const struct trace *trace)
{
    const char *cap = trace->profile.n_levels ? trace->profile.caps[0] : NULL;
    const char *level = cap ? strchr(cap, '/') + 1 : NULL;

    return level ? arena_strndup(s->arena, level, strcspn(level, "/")) : NULL;
}

/* One name: the lowest level's file, before it those of better levels that get another one. */
static void add_name(const struct subject *s, struct entries *to, const char *name)
{
    const char *path[MAX_LEVELS], *level;
    size_t i;

    for (i = 0; i < s->n_levels; i++)
        path[i] = opened_in(&s->level[i].trace, name);
    for (i = s->n_levels; i-- > 1;)
        if (path[i] && path[i - 1] && strcmp(path[i], path[i - 1]) != 0 &&
            (level = best_level(s, &s->level[i].trace)))
            add_entry(s, to, name, path[i], level);
    if (path[0])
        add_entry(s, to, name, path[0], NULL);
}

static const char *write_cache(const struct subject *s, struct cache_trial *c)
{
    struct entries entries = {0};
    struct wanted *wanted;
    size_t n = wanted_list(s, SCOPE_LIFTED, &wanted), i, size;
    const char *bytes;

    for (i = 0; i < n; i++)
        if (!strchr(wanted[i].name, '/') && !is_loader_name(s->trace, wanted[i].name)) {
            add_name(s, &entries, wanted[i].name);
            c->n_names++;
        }
    ldcache_write(s->arena, entries.item, entries.n, false, &bytes, &size);
    c->bytes = size;
    return bytes;
}

/* The program's loader asks this cache first, and no other. */
static int lay_loader(const struct subject *s, struct rig *rig, const char *cache, struct err *err)
{
    struct place at = world_walk(rig->world, NULL, s->object->interp ? s->object->interp : "");
    const struct object *facts = at.error ? NULL : world_object(rig->world, at.node);
    struct object *object;
    struct ldso *ldso;

    if (!facts || !facts->ldso || facts->ldso->libc != LIBC_GLIBC)
        return err_set(err, ENOTSUP, "its loader is not glibc's");
    object = arena_memdup(s->arena, facts, sizeof(*facts));
    ldso = arena_memdup(s->arena, facts->ldso, sizeof(*ldso));
    ldso->cache = cache;
    ldso->cache_first = true;
    object->ldso = ldso;
    return overlay_object(rig->world, s->object->interp, object, err);
}

/* Names that led different askers to different files: a cache has one of them. */
static void find_clashes(const struct trace *t, struct cache_trial *c)
{
    size_t i, k;

    for (i = 0; i < t->n_requests; i++)
        for (k = 0; k < i && t->request[i].answer > 0; k++)
            if (t->request[k].answer > 0 && t->request[i].answer != t->request[k].answer &&
                !strcmp(t->request[i].name, t->request[k].name)) {
                c->clash = t->request[i].name;
                c->n_clashes++;
                break;
            }
}

static void find_dlmopen(const struct trace *t, struct cache_trial *c)
{
    size_t i;

    for (i = 0; i < t->n_loaded && !c->dlmopen; i++)
        if (t->loaded[i].object && !t->loaded[i].object->ldso && t->loaded[i].node &&
            t->loaded[i].object->imports & IMPORT_DLMOPEN)
            c->dlmopen = t->loaded[i].path;
}

static int start_all(const struct trial *t, struct rig *rig, struct cache_trial *c, struct err *err)
{
    const struct scenario as_is = {.name = "as is", .declared = true};
    const struct trace *shapes = &t->baseline[BASELINE_SHAPES].run.trace;
    const size_t level = t->subject->policy_level;
    CLEANUP(run_close) struct run run = {0};
    CLEANUP(run_close) struct run overridden = {0};
    struct judgement winners = {0};
    int r = rig_start(rig, &as_is, level, &run, err);

    if (r == 0)
        r = rig_start(rig, &t->baseline[BASELINE_SHAPES].scenario, level, &overridden, err);
    if (r < 0)
        return r;
    c->after = run.trace.storm;
    c->dlopen = run.trace.dlopen;
    c->same =
        run.trace.exit == EXIT_OK &&
        first_load_difference(&t->baseline[BASELINE_DECLARED].run.trace, &run.trace) == SIZE_MAX;
    compare_winners(shapes, &overridden.trace, t->shape, t->n_decoys, &winners);
    c->overrides = winners.n_evidence == 0;
    return 0;
}

int cache_try(const struct trial *t, struct cache_trial *ret, struct err *err)
{
    const struct subject *s = t->subject;
    struct cache_trial c = {0};
    struct rig rig;
    const char *bytes;
    int r;

    if (!s->package)
        return err_set(err, ENOTSUP, "it lies in no package");
    c.path = str_join(s->arena, s->package, "etc/ld.so.cache");
    bytes = write_cache(s, &c);
    find_clashes(s->trace, &c);
    find_dlmopen(s->trace, &c);
    if ((r = trial_rig(t, NULL, false, &rig, err)) < 0)
        return r;
    r = overlay_bytes(rig.world, c.path, bytes, c.bytes, err);
    if (r == 0)
        r = lay_loader(s, &rig, c.path, err);
    if (r == 0)
        r = start_all(t, &rig, &c, err);
    rig_close(&rig);
    if (r == 0)
        *ret = c;
    return r;
}
