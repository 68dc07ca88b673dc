/*
 * Starts: what meets in one process, and what it costs.
 */
#include "linter/check.h"

#include <stdlib.h>

static const struct loaded *loaded_by_soname(const struct trace *trace, const char *soname)
{
    for (size_t i = 0; i < trace->n_loaded; i++)
        if (str_same(trace->loaded[i].soname, soname))
            return &trace->loaded[i];
    return NULL;
}

static bool same_directory(const struct node *a, const struct node *b)
{
    return a->parent == b->parent;
}

void check_interp_libc_split(struct check *check)
{
    const struct trace *t = check->trace;
    const struct loaded *libc = loaded_by_soname(t, "libc.so.6");
    const struct lint_package *of_libc, *of_interp;
    struct place interp;
    struct finding *f;

    if (check->alone || t->profile.libc != LIBC_GLIBC || !libc || !libc->node ||
        !check->object->object->interp)
        return;
    interp = world_walk(check->closure->world, NULL, check->object->object->interp);
    if (interp.error || same_directory(interp.node, libc->node))
        return;
    of_libc = node_package(check, libc->node);
    of_interp = node_package(check, interp.node);
    if (of_libc == of_interp)
        return;
    f = report_object(check, check->object, "libc.so.6",
                      "the interpreter is '%s', and libc.so.6 is that of %s",
                      shown(check, check->object->object->interp),
                      shown(check, world_path(check->arena, libc->node)));
    evidence(check, f, "%s", world_path(check->arena, interp.node));
    evidence(check, f, "%s", world_path(check->arena, libc->node));
}

/* musl's C library: the loader itself, or a name only musl's has. */
static bool is_musl(const struct loaded *loaded)
{
    return (loaded->object && loaded->object->ldso && loaded->object->ldso->libc == LIBC_MUSL) ||
           (loaded->soname &&
            (str_starts(loaded->soname, "libc.musl-") || str_starts(loaded->soname, "ld-musl-")));
}

static bool is_glibc(const struct loaded *loaded)
{
    return (loaded->object && loaded->object->ldso && loaded->object->ldso->libc == LIBC_GLIBC) ||
           str_same(loaded->soname, "libc.so.6");
}

void check_mixed_libc(struct check *check)
{
    const struct trace *t = check->trace;
    const struct loaded *musl = NULL, *glibc = NULL;
    struct finding *f;

    for (size_t i = 0; i < t->n_loaded; i++) {
        if (check->alone && t->loaded[i].node == check->object->node && is_musl(&t->loaded[i]))
            return; /* it is the C library of others, not loaded but for being asked */
        if (!musl && is_musl(&t->loaded[i]))
            musl = &t->loaded[i];
        if (!glibc && is_glibc(&t->loaded[i]))
            glibc = &t->loaded[i];
    }
    if (!musl || !glibc)
        return;
    f = report_object(check, check->object, NULL, "'%s' of musl and '%s' of glibc meet",
                      shown(check, musl->path), shown(check, glibc->path));
    evidence(check, f, "%s", musl->path);
    evidence(check, f, "%s", glibc->path);
}

/* ---- versions */

/*
 * What the loader knows its objects by: every name that was asked for, and what was opened. Open
 * addressing, at most half full.
 */
struct known {
    const char *name;
    int index; /* into loaded; -1: asked for in vain, which another rule tells */
};

struct known_names {
    struct known *slot;
    uint32_t mask;
    bool missing; /* something was asked for in vain */
};

static struct known *known_slot(const struct known_names *names, const char *name)
{
    uint32_t i = intern_hash(name, strlen(name)) & names->mask;

    while (names->slot[i].name && strcmp(names->slot[i].name, name) != 0)
        i = (i + 1) & names->mask;
    return &names->slot[i];
}

static void know(const struct known_names *names, const char *name, int index)
{
    struct known *slot = known_slot(names, name);

    if (!slot->name || slot->index < 0)
        *slot = (struct known){name, index};
}

static struct known_names known_names(struct arena *arena, const struct trace *t)
{
    struct known_names names = {.mask = 15};

    while (names.mask < 2 * (t->n_requests + 2 * t->n_loaded))
        names.mask = names.mask * 2 + 1;
    names.slot = arena_calloc(arena, names.mask + 1, sizeof(*names.slot));
    for (size_t i = 0; i < t->n_loaded; i++) {
        const struct loaded *l = &t->loaded[i];

        if (!l->node)
            continue;
        know(&names, l->path, (int)i);
        if (l->object && l->object->ldso && l->soname)
            know(&names, l->soname, (int)i); /* the loader knows its own soname */
    }
    for (size_t i = 0; i < t->n_requests; i++) {
        const int answer = t->request[i].answer;

        names.missing |= answer < 0;
        if (answer < 0 || t->loaded[answer].node)
            know(&names, t->request[i].name, answer);
    }
    return names;
}

/* Versions that a loaded object defines, sorted. */
struct defined {
    const char **name; /* NULL: not asked (yet) */
    size_t n;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The loader compares with all definitions; the first is the file's own name. */
static bool defines(struct check *check, struct defined *defined, const struct object *object,
                    const char *version)
{
    if (str_same(object->soname, version))
        return true;
    if (!defined->name) {
        defined->name = arena_calloc(check->arena, object->n_verdef + 1, sizeof(char *));
        for (; defined->n < object->n_verdef; defined->n++)
            defined->name[defined->n] = object->verdef[defined->n].name;
        if (defined->n > 1)
            qsort(defined->name, defined->n, sizeof(char *), by_text);
    }
    return defined->n && bsearch(&version, defined->name, defined->n, sizeof(char *), by_text);
}

static void one_version(struct check *check, const struct loaded *by, const struct version *want,
                        const struct loaded *file)
{
    const struct lint_object *o = loaded_object(check, by);
    const char *subject =
        arena_printf(check->arena, "%s(%s)", shown(check, want->file), shown(check, want->name));
    struct finding *f;

    if (!o)
        return;
    if (!file) {
        f = report_object(check, o, subject,
                          "it wants version %s of %s, which nothing in memory is called",
                          shown(check, want->name), shown(check, want->file));
    } else {
        const bool none = !(file->object->layout & LAYOUT_VERSIONS);

        f = report_object(check, o, subject,
                          none ? "it wants version %s of %s, and '%s' defines none at all: a "
                                 "warning at each start"
                               : "it wants version %s of %s, and '%s' does not define it",
                          shown(check, want->name), shown(check, want->file),
                          shown(check, file->path));
        if (f && none)
            f->severity = SEVERITY_WARNING;
        evidence(check, f, "%s", world_path(check->arena, file->node));
    }
    evidence(check, f, "started: %s", check->object->path);
}

/* One object's wants, those of one file after the other. `defined`: by each loaded object. */
static void versions_of(struct check *check, const struct known_names *names,
                        struct defined *defined, const struct loaded *by)
{
    const struct object *o = by->object;
    const struct known *known = NULL;
    const char *last = NULL;

    for (size_t k = 0; o && k < o->n_verneed; k++) {
        const struct version *want = &o->verneed[k];
        const struct loaded *file;

        if (last != want->file)
            known = known_slot(names, want->file);
        last = want->file;
        if (want->weak || (known->name && known->index < 0))
            continue;
        file = known->name ? &check->trace->loaded[known->index] : NULL;
        /* where something is missing, so may be whoever would have brought the file */
        if (file ? file->object && !defines(check, &defined[known->index], file->object, want->name)
                 : !names->missing)
            one_version(check, by, want, file);
    }
}

void check_version_need_unmet(struct check *check)
{
    const struct trace *t = check->trace;
    struct known_names names;
    struct defined *defined;

    if (t->profile.libc != LIBC_GLIBC)
        return; /* musl does not look at versions */
    names = known_names(check->arena, t);
    defined = arena_calloc(check->arena, t->n_loaded, sizeof(*defined));
    for (size_t i = 0; i < t->n_loaded; i++)
        if (t->loaded[i].phase == 0)
            versions_of(check, &names, defined, &t->loaded[i]);
}

/* ---- what it costs */

void check_probe_budget(struct check *check)
{
    const uint32_t failed = check->trace->storm.failed_opens, budget = probe_budget(check->lint);
    struct finding *f;

    if (check->alone || failed <= budget)
        return;
    f = report_object(check, check->object, NULL,
                      "a start makes %u failed opens and %u failed stats (budget: %u)", failed,
                      check->trace->storm.failed_stats, budget);
    if (f && failed >= PROBE_BUDGET_ERROR && failed >= budget)
        f->severity = SEVERITY_ERROR;
    evidence(check, f, "on %s: %u opens, %u objects, %u directories", check->trace->cpu->name,
             check->trace->storm.opens, check->trace->storm.objects,
             check->trace->storm.directories);
}

/* Is the call below one of the sub-directories that depend on the CPU? */
static bool is_hwcaps_call(const struct trace *t, const struct call *call)
{
    const char *slash = strrchr(call->path, '/');
    const size_t len = slash ? (size_t)(slash + 1 - call->path) : 0;

    for (size_t i = 0; i + 1 < t->profile.n_caps; i++) {
        const size_t cap = strlen(t->profile.caps[i]);

        if (cap && len > cap && !strncmp(call->path + len - cap, t->profile.caps[i], cap))
            return true;
    }
    return false;
}

void check_probe_hwcaps_floor(struct check *check)
{
    const struct trace *t = check->trace;
    uint32_t n = 0;

    if (check->alone || t->storm.failed_opens <= probe_budget(check->lint))
        return;
    for (size_t i = 0; i < t->n_calls; i++)
        n += t->call[i].kind == CALL_OPEN && t->call[i].error && t->call[i].phase == 0 &&
             is_hwcaps_call(t, &t->call[i]);
    if (n * 2 > t->storm.failed_opens)
        report_object(check, check->object, NULL,
                      "%u of %u failed opens are in sub-directories for CPU levels", n,
                      t->storm.failed_opens);
}
