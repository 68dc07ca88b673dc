/*
 * Starts: what meets in one process, and what it costs.
 */
#include "linter/check.h"

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

/* Is `loaded` known as `name`: asked for by it, or opened as it? The loader looks no further. */
static bool is_known_as(const struct trace *t, const struct loaded *loaded, const char *name)
{
    const int index = (int)(loaded - t->loaded);

    if (str_same(loaded->path, name))
        return true;
    if (loaded->object && loaded->object->ldso && str_same(loaded->soname, name))
        return true; /* the loader knows its own soname */
    for (size_t i = 0; i < t->n_requests; i++)
        if (t->request[i].answer == index && !strcmp(t->request[i].name, name))
            return true;
    return false;
}

static const struct loaded *version_file(const struct trace *t, const char *file)
{
    for (size_t i = 0; i < t->n_loaded; i++)
        if (t->loaded[i].node && is_known_as(t, &t->loaded[i], file))
            return &t->loaded[i];
    return NULL;
}

/* Was the file asked for in vain? Then another rule tells. */
static bool is_missing(const struct trace *t, const char *name)
{
    for (size_t i = 0; i < t->n_requests; i++)
        if (t->request[i].answer < 0 && !strcmp(t->request[i].name, name))
            return true;
    return false;
}

static bool defines(const struct object *object, const char *version)
{
    for (size_t i = 0; i < object->n_verdef; i++)
        if (!strcmp(object->verdef[i].name, version))
            return true;
    return false;
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
        f = report_object(
            check, o, subject, "it wants version %s of %s, and '%s' does not define it",
            shown(check, want->name), shown(check, want->file), shown(check, file->path));
        evidence(check, f, "%s", world_path(check->arena, file->node));
    }
    evidence(check, f, "started: %s", check->object->path);
}

void check_version_need_unmet(struct check *check)
{
    const struct trace *t = check->trace;

    if (t->profile.libc != LIBC_GLIBC || t->exit == EXIT_MISSING || t->exit == EXIT_BAD)
        return; /* musl does not look at versions; what is missing is told by another rule */
    for (size_t i = 0; i < t->n_loaded; i++) {
        const struct object *o = t->loaded[i].object;
        const char *last = NULL;
        const struct loaded *file = NULL;

        if (t->loaded[i].phase)
            continue;
        for (size_t k = 0; o && k < o->n_verneed; k++) {
            const struct version *want = &o->verneed[k];

            if (!last || strcmp(last, want->file) != 0)
                file = version_file(t, want->file);
            last = want->file;
            /* a file without any versions gets a warning of the loader, no more */
            if (!want->weak && (file || !is_missing(t, want->file)) &&
                (!file ||
                 (file->object && file->object->n_verdef && !defines(file->object, want->name))))
                one_version(check, &t->loaded[i], want, file);
        }
    }
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
