#include "base/str.h"
#include "planner/apply_internal.h"
#include "planner/promise.h"

#include <errno.h>
#include <string.h>

/* ---- facts */

static const char *need_list(struct arena *arena, const struct object *o)
{
    struct str out = {.arena = arena};

    str_add(&out, "");
    for (size_t i = 0; i < o->n_needs; i++)
        str_printf(&out, "%d:%s ", (int)o->need[i].kind, o->need[i].name);
    return out.text;
}

static const char *version_list(struct arena *arena, const struct object *o)
{
    struct str out = {.arena = arena};

    str_add(&out, "");
    for (size_t i = 0; i < o->n_verneed; i++)
        str_printf(&out, "%s:%s:%d ", o->verneed[i].file, o->verneed[i].name, o->verneed[i].weak);
    for (size_t i = 0; i < o->n_verdef; i++)
        str_printf(&out, "%s ", o->verdef[i].name);
    return out.text;
}

static bool same_note(const struct note *a, const struct note *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

/* Do two objects have the same facts, as far as edits may not change them? NULL, or which not. */
static const char *facts_differ(struct arena *arena, const struct object *a, const struct object *b)
{
    const unsigned traits =
        LAYOUT_STATIC_TLS | LAYOUT_TEXTREL | LAYOUT_EXECSTACK | LAYOUT_NO_GNU_STACK;
    const struct {
        bool same;
        const char *what;
    } rows[] = {
        {!b->problem, "it is malformed"},
        {strcmp(need_list(arena, a), need_list(arena, b)) == 0, "needed list"},
        {str_same(a->runpath, b->runpath) && str_same(a->rpath, b->rpath), "run path"},
        {strcmp(version_list(arena, a), version_list(arena, b)) == 0, "versions"},
        {same_note(&a->resolution, &b->resolution), "resolution note"},
        {same_note(&a->closure, &b->closure), "closure note"},
        {same_note(&a->build_id, &b->build_id), "build id"},
        {str_same(a->interp, b->interp), "loader"},
        {str_same(a->soname, b->soname), "soname"},
        {str_same(a->audit, b->audit) && str_same(a->depaudit, b->depaudit), "audit modules"},
        {a->class == b->class && a->data == b->data && a->type == b->type &&
             a->machine == b->machine && a->machine_flags == b->machine_flags,
         "header"},
        {a->flags == b->flags && a->flags_1 == b->flags_1, "flags"},
        {a->imports == b->imports && a->tls_size == b->tls_size &&
             (a->layout & traits) == (b->layout & traits) && a->n_dlopen_notes == b->n_dlopen_notes,
         "traits"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (!rows[i].same)
            return rows[i].what;
    return NULL;
}

static int check_facts(const struct target *t, struct arena *arena, struct err *err)
{
    CLEANUP(world_closep) struct world *world = world_overlay(t->subject->base);
    const struct edit *farm = edits_find(&t->edits, EDIT_FARM, NULL);
    const char *what;
    struct edits edits = {0};
    struct place at;
    int r;

    for (size_t i = 0; i < t->edits.n; i++) {
        if (&t->edits.item[i] == farm)
            continue;
        edits.item = arena_grow(arena, edits.item, edits.n, sizeof(*edits.item));
        edits.item[edits.n++] = t->edits.item[i];
    }
    r = edits_apply(&edits, world, arena, err);
    if (r < 0)
        return r;
    at = world_walk(world, NULL, t->subject->path);
    what = at.error ? "path" : facts_differ(arena, world_object(world, at.node), t->changed);
    return what ? err_set(err, EIO, "'%s': what was written has another %s than intended",
                          t->subject->path, what)
                : 0;
}

/* ---- starts */

static const char *loaded_path(struct arena *arena, const struct loaded *loaded)
{
    return loaded->node ? world_path(arena, loaded->node) : "the vDSO";
}

/* The same files in the same order, by their paths without links. */
static int compare_files(const struct target *t, const struct trace *before,
                         const struct trace *after, struct arena *arena, struct err *err)
{
    const size_t n = before->n_loaded > after->n_loaded ? before->n_loaded : after->n_loaded;

    if (after->exit != EXIT_OK)
        return err_set(err, EIO, "'%s' would not start: %s", t->subject->path, after->exit_text);
    for (size_t i = 0; i < n; i++) {
        const char *a = i < before->n_loaded ? loaded_path(arena, &before->loaded[i]) : "nothing";
        const char *b = i < after->n_loaded ? loaded_path(arena, &after->loaded[i]) : "nothing";

        if (strcmp(a, b) != 0)
            return err_set(err, EIO,
                           "'%s' would load '%s' where it loaded '%s' before (number %zu)",
                           t->subject->path, b, a, i);
    }
    return 0;
}

static int compare_start(const struct target *t, size_t level, const struct trace *after,
                         struct arena *arena, struct err *err)
{
    const struct level *l = &t->subject->level[level];
    int r = compare_files(t, &l->trace, after, arena, err);

    if (r == 0 && !promise_kept(after, &t->after[level]))
        r = err_set(err, EIO,
                    "'%s' would fail %u opens and %u stats on %s, and the plan promises %u and %u",
                    t->subject->path, after->storm.failed_opens, after->storm.failed_stats,
                    l->cpu.name, t->after[level].failed_opens, t->after[level].failed_stats);
    return r;
}

static bool reads_notes(const struct target *t)
{
    return edits_find(&t->edits, EDIT_NOTE, NULL) != NULL;
}

/* The facts are the intended ones, so what the edits would do is what the file will do. */
int prove_copy(const struct target *t, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct scenario scenario = {.name = "as is", .reader = reads_notes(t)};
    int r = check_facts(t, &arena, err);

    for (size_t i = 0; i < t->subject->n_levels && r == 0; i++) {
        CLEANUP(run_close) struct run run = {0};

        r = simulate(t->subject, &t->edits, &scenario, i, &run, err);
        if (r == 0)
            r = compare_start(t, i, &run.trace, &arena, err);
    }
    return r;
}

int prove_final(const struct target *t, struct world *now, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct subject *s = t->subject;
    const struct start start = {
        .program = s->program, .env = s->env, .n_env = s->n_env, .record = true};
    CLEANUP(world_closep) struct world *staged = NULL;
    int r = subject_stage(s, now, &staged, err);

    for (size_t i = 0; i < s->n_levels && r == 0; i++) {
        CLEANUP(loader_freep)
        struct loader *loader = loader_new(staged ? staged : now, &s->level[i].cpu, s->cwd, false);
        struct trace trace;

        r = loader_run(loader, &start, &arena, &trace, err);
        if (r == 0)
            trace_drop_modules(&trace, &arena);
        if (r == 0 && reads_notes(t) && !trace.profile.reader) /* a loader of another machine */
            r = compare_files(t, &s->level[i].trace, &trace, &arena, err);
        else if (r == 0)
            r = compare_start(t, i, &trace, &arena, err);
    }
    return r;
}
