/*
 * Needed names: where they lead.
 */
#include "linter/check.h"

#include <errno.h>

/* Does the name stand for the loader, which is in memory before anybody asks? */
static bool is_supplied(const char *name)
{
    return str_starts(name, "linux-vdso.so") || str_starts(name, "linux-gate.so");
}

/*
 * The C library's own objects need each other and have no run path: whoever loads one of them has
 * the C library in memory, from the directory where its loader is.
 */
static bool is_of_libc(struct check *check, const char *name)
{
    const struct lint_object *o = check->object;
    const struct place at = o->loader ? world_walk(check->closure->world, NULL, o->loader)
                                      : (struct place){.error = ENOENT};
    struct component beside = {.at = at};

    if (at.error || !o->package || node_package(check, at.node) != o->package)
        return false;
    beside.at.node = at.node->parent;
    return component_find(check, &beside, name) != NULL;
}

/* Needed names that lead nowhere when the object is loaded by itself, one after the other. */
static const struct lint_need *missing(const struct check *check, size_t i)
{
    const struct lint_object *o = check->object;

    if (!o->need || o->need[i].answer || o->object->need[i].kind == NEED_AUXILIARY ||
        is_supplied(o->object->need[i].name))
        return NULL;
    return &o->need[i];
}

static void where_looked(struct check *check, struct finding *f)
{
    for (size_t i = 0; i < check->n_components && wants_evidence(f); i++)
        evidence(check, f, "not in %s", check->component[i].expanded);
}

/* Named as makeWrapper names what it wraps; an index does not hold the script that may help it. */
static bool has_unknown_wrapper(const struct check *check)
{
    const char *base = str_base(check->object->path);

    return !check->closure->live && *base == '.' && str_ends(base, "-wrapped");
}

/* Where a name was looked for. */
static const char *in_vain(struct check *check, const char *name)
{
    return strchr(name, '/') ? "is a path from the working directory, and not there"
                             : arena_printf(check->arena, "is in none of %zu run path directories",
                                            check->n_components);
}

static void unresolved(struct check *check, const char *name, const struct lint_need *need)
{
    const struct lint_object *o = check->object;
    const char *subject = shown(check, name);
    struct finding *f;

    if (need->satisfied && !need->failed) {
        f = report_object(check, o, subject,
                          "%s is found only because something else has loaded it before (in %s)",
                          subject, shown(check, o->user));
        if (f)
            f->severity = SEVERITY_WARNING;
    } else if (o->user || is_started(o->object)) {
        f = report_object(check, o, subject, "%s %s", subject, in_vain(check, name));
        if (f && has_unknown_wrapper(check)) {
            f->severity = SEVERITY_WARNING;
            f->confidence = CONFIDENCE_LIKELY;
        }
    } else {
        f = report_object(check, o, subject,
                          "%s %s; whoever loads this object must have it in memory already",
                          subject, in_vain(check, name));
        if (f) {
            f->severity = SEVERITY_WARNING;
            f->confidence = CONFIDENCE_LIKELY;
        }
    }
    if (!strchr(name, '/'))
        where_looked(check, f);
}

void check_needed_unresolved(struct check *check)
{
    const struct object *o = check->object->object;

    for (size_t i = 0; i < o->n_needs && wants_more(check); i++) {
        const struct lint_need *need = missing(check, i);

        if (need && !need->refused && o->need[i].name[0] != '/' &&
            !(need->by_wrapper && !need->failed) && !is_of_libc(check, o->need[i].name))
            unresolved(check, o->need[i].name, need);
    }
}

void check_needed_wrong_arch(struct check *check)
{
    const struct object *o = check->object->object;
    size_t n_refused = 0;

    for (size_t i = 0; i < o->n_needs; i++)
        n_refused += missing(check, i) && missing(check, i)->refused;
    if (is_too_much(check, n_refused))
        return;
    for (size_t i = 0; i < o->n_needs && wants_more(check); i++) {
        const struct lint_need *need = missing(check, i);
        const char *name = shown(check, o->need[i].name);
        struct finding *f;

        if (!need || !need->refused)
            continue;
        f = report_object(check, check->object, name,
                          "%s is there for another machine or class only", name);
        for (size_t k = 0; k < check->n_dirs && wants_evidence(f); k++) {
            const struct node *node = component_find(check, check->dir[k], o->need[i].name);

            if (node)
                evidence(check, f, "%s", world_path(check->arena, node));
        }
    }
}

/* ---- out of the closure */

static void found_outside(struct check *check, const struct request *request,
                          const struct loaded *answer)
{
    const struct loaded *by = &check->trace->loaded[request->asker];
    const struct lint_object *asker = loaded_object(check, by);
    const struct lint_object *whose = asker ? asker : check->object;
    struct finding *f = report_object(check, whose, shown(check, request->name),
                                      "%s is found in '%s', which the closure of %s does not have",
                                      shown(check, request->name), shown(check, answer->path),
                                      shown(check, check->object->package->path));

    evidence(check, f, "%s", world_path(check->arena, answer->node));
    evidence(check, f, "started: %s", check->object->path);
}

void check_needed_outside_closure(struct check *check)
{
    const struct trace *t = check->trace;
    struct lint_package *own = check->object->package;

    if (!own || !own->registered || !check->closure->n_packages)
        return;
    for (size_t i = 0; i < t->n_requests; i++) {
        const struct request *r = &t->request[i];
        const struct loaded *answer = r->answer >= 0 ? &t->loaded[r->answer] : NULL;
        const struct lint_package *p;

        if (!answer || !answer->node || r->asker < 0 || r->result != RESULT_FOUND)
            continue;
        if (is_driver_link(answer->path))
            continue;
        p = node_package(check, answer->node);
        if (!p || !closure_reaches(check->closure, own, p))
            found_outside(check, r, answer);
    }
}

/* ---- names that are paths */

void check_needed_absolute_absent(struct check *check)
{
    const struct object *o = check->object->object;

    for (size_t i = 0; i < o->n_needs && wants_more(check); i++) {
        const char *name = o->need[i].name;
        struct place at;
        struct finding *f;

        if (*name != '/')
            continue;
        at = world_walk(check->closure->world, NULL, name);
        if (!at.error || (at.assumed && !closure_in_store(check->closure, name)))
            continue;
        f = report_object(check, check->object, subject_path(check, name),
                          "the needed '%s' does not exist", shown(check, name));
        evidence(check, f, "%s", name);
    }
}

void check_needed_absolute_foreign(struct check *check)
{
    const struct object *o = check->object->object;

    if (!check->object->package)
        return;
    for (size_t i = 0; i < o->n_needs && wants_more(check); i++) {
        const char *name = o->need[i].name;

        if (*name == '/' && !closure_in_store(check->closure, name))
            report_object(check, check->object, shown(check, name),
                          "the needed '%s' is outside the store", shown(check, name));
    }
}

void check_needed_versionless(struct check *check)
{
    const struct lint_object *o = check->object;

    for (size_t i = 0; i < o->object->n_needs && o->need; i++) {
        const char *name = o->object->need[i].name;
        const struct node *answer;
        struct finding *f;

        if (strchr(name, '/') || !str_ends(name, ".so"))
            continue;
        answer = need_answer(check, o, i);
        if (!answer || !answer->object || answer->object->soname ||
            node_package(check, answer) == o->package)
            continue;
        f = report_object(check, o, shown(check, name),
                          "it needs %s, a file without DT_SONAME: nothing tells its version",
                          shown(check, name));
        evidence(check, f, "%s", world_path(check->arena, answer));
    }
}
