/*
 * What objects say, or seem to say, they will open by name.
 */
#include "linter/check.h"

#include "linter/danger.h"
#include "loader/declared.h"

#include <stdlib.h>

static const char *names_of(struct check *check, const struct declared *d)
{
    struct str list = {.arena = check->arena};

    for (size_t i = 0; i < d->n_names; i++)
        str_printf(&list, "%s%s", i ? " or " : "", shown(check, d->name[i]));
    return list.text;
}

/* Calls of all starts that one object's notes are asked by: a note can name thousands. */
enum { NOTE_CALLS_MAX = 1 << 18 };

/*
 * Does the loader find one of the alternatives from this object, after it was loaded by itself?
 * What it takes is taken from `*calls_left`.
 */
static bool is_reachable(struct check *check, const struct declared *d, int64_t *calls_left)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct lint_object *o = check->object;
    const char *args[] = {o->path};
    struct dlopen_call *call = arena_calloc(&arena, d->n_names, sizeof(*call));
    struct start start = {.program = o->path, .dlopens = call, .n_dlopens = d->n_names};
    struct trace trace = {0};
    struct err err;
    int r;

    for (size_t i = 0; i < d->n_names; i++)
        call[i] = (struct dlopen_call){.name = d->name[i], .caller = NULL};
    if (!is_started(o->object)) {
        start.program = o->loader;
        start.ld_args = args;
        start.n_ld_args = ARRAY_LEN(args);
    }
    r = loader_run(lint_loader(check->lint), &start, &arena, &trace, &err);
    *calls_left -= (int64_t)trace.storm.opens + trace.storm.stats + trace.dlopen.opens +
                   trace.dlopen.stats + (int64_t)trace.n_loaded + 1;
    if (r < 0 || trace.exit != EXIT_OK)
        return true; /* that it does not start is told by other rules */
    for (size_t i = 0; i < trace.n_phases; i++)
        if (trace.phase[i].succeeds)
            return true;
    return false;
}

static void one_note(struct check *check, const struct declared *d, int64_t *calls_left)
{
    const char *priority = d->priority ? d->priority : "recommended";
    struct finding *f;

    if (is_reachable(check, d, calls_left))
        return;
    f = report_object(check, check->object, shown(check, d->name[0]),
                      "its dlopen note names %s (%s%s%s), which cannot be reached from it",
                      names_of(check, d), priority, d->feature ? ", for " : "",
                      d->feature ? shown(check, d->feature) : "");
    if (f && !strcmp(priority, "required"))
        f->severity = SEVERITY_ERROR;
    else if (f && !strcmp(priority, "suggested"))
        f->severity = SEVERITY_NOTE;
}

void check_dlopen_note_unmet(struct check *check)
{
    const struct object *o = check->object->object;
    struct declared_list declared;
    int64_t calls_left = NOTE_CALLS_MAX;

    if (!o->n_dlopen_notes || !check->object->loader)
        return;
    declared_read(check->arena, o, &declared);
    for (size_t i = 0; i < declared.n && calls_left > 0; i++)
        if (declared.item[i].source == DLOPEN_NOTE)
            one_note(check, &declared.item[i], &calls_left);
    if (calls_left <= 0)
        report_object(check, check->object, "calls",
                      "not asked to the end: its dlopen notes take more than %d calls to look up",
                      NOTE_CALLS_MAX);
    for (size_t i = 0; i < declared.n_problems; i++)
        report_object(check, check->object, "note", "its dlopen note cannot be read: %s",
                      shown(check, declared.problem[i]));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What is needed, without directories, sorted. */
static const char **needed_names(struct check *check, const struct object *o)
{
    const char **name = arena_calloc(check->arena, o->n_needs + 1, sizeof(*name));

    for (size_t i = 0; i < o->n_needs; i++)
        name[i] = str_base(o->need[i].name);
    if (o->n_needs > 1)
        qsort(name, o->n_needs, sizeof(*name), by_text);
    return name;
}

static bool is_declared(const struct declared_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0; list->item[i].source == DLOPEN_NOTE && k < list->item[i].n_names; k++)
            if (!strcmp(list->item[i].name[k], name))
                return true;
    return false;
}

/*
 * Is it the bare name of a library that a package would bring? Not pieces of names, not paths (no
 * search finds them), not what the C library or the loader themselves are: linkers and debuggers
 * are full of those.
 */
static bool is_library_name(const char *name)
{
    const size_t len = strlen(name);

    return str_starts(name, "lib") && len && name[len - 1] != '.' && !strchr(name, '/') &&
           strcmp(name, "libc.so") != 0 && !danger_is("glibc-family", DANGER_BY_SONAME, name) &&
           !danger_is("loader", DANGER_BY_SONAME, name);
}

void check_dlopen_undeclared(struct check *check)
{
    const struct object *o = check->object->object;
    struct declared_list declared;
    struct str list = {.arena = check->arena};
    const char **needed;
    size_t n = 0;

    declared_read(check->arena, o, &declared);
    needed = needed_names(check, o);
    for (size_t i = 0; i < declared.n; i++) {
        const char *name = declared.item[i].name[0], *base = str_base(name);

        if (declared.item[i].source != DLOPEN_CONSTANT || !is_library_name(name) ||
            bsearch(&base, needed, o->n_needs, sizeof(*needed), by_text) ||
            is_declared(&declared, name))
            continue;
        if (n++ < 6)
            str_printf(&list, "%s%s", list.len ? ", " : "", shown(check, name));
    }
    if (n)
        report_object(check, check->object, NULL, "it may dlopen %s%s, and declares nothing",
                      list.text, n > 6 ? arena_printf(check->arena, " and %zu more", n - 6) : "");
}
