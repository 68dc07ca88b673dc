#include "planner/gates.h"
#include "base/str.h"
#include "planner/closure.h"
#include "planner/plan_json.h"
#include "planner/rules.h"

#include <string.h>

enum {
    MAX_PAYLOAD = 4096, /* bytes behind the ELF that are not taken for a payload */
    /* Of a start. Planning repeats it some fifty times, and compares lists of libraries. */
    MAX_PLANNED_OBJECTS = 2000,
    MAX_PLANNED_CALLS = 1 << 17, /* the heaviest start known makes 20,000 */
};

static const char *show(const struct subject *s, const struct loaded *loaded)
{
    return str_escape(s->arena, loaded->soname ? loaded->soname : loaded->path);
}

/* ---- the file itself */

static const char *not_dynamic(const struct subject *s, enum method method)
{
    (void)method;
    if (!s->object->interp)
        return s->object->layout & LAYOUT_STATIC_PIE ? "it is a static-pie program: no loader runs"
                                                     : "it names no loader: nothing is searched";
    return s->object->has_dynamic ? NULL : "it has no dynamic section";
}

static const char *loader_or_libc(const struct subject *s, enum method method)
{
    (void)method;
    if (s->object->ldso)
        return "it is a dynamic loader";
    if (s->object->soname)
        return arena_printf(s->arena, "it is a library too (DT_SONAME %s): others link against it",
                            str_escape(s->arena, s->object->soname));
    return NULL;
}

static const char *needed_by_others(const struct subject *s, enum method method)
{
    size_t i;

    (void)method;
    if (s->kind == SUBJECT_LIBRARY)
        return "others need it: a longer list of needed names would change their load order";
    for (i = 1; s->kind == SUBJECT_ROOT && i < s->trace->n_loaded; i++)
        if (same_file(&s->trace->loaded[i], &s->trace->loaded[0]))
            return "it is in its own closure: the order of its constructors would change";
    return NULL;
}

static const char *bad_layout(const struct subject *s, enum method method)
{
    static const struct {
        unsigned bit;
        const char *why;
    } rows[] = {
        {LAYOUT_DEBUG_ONLY, "it holds debug information only"},
        {LAYOUT_GO, "it was linked by Go's own linker: editors break it"},
        {LAYOUT_RELRHACK, "its relocations are packed the way of Firefox: editors break it"},
    };
    size_t i;

    (void)method;
    if (s->object->problem)
        return arena_printf(s->arena, "it is malformed: %s", s->object->problem);
    if (s->object->type != ET_EXEC && s->object->type != ET_DYN)
        return "it is neither an executable nor a shared object";
    for (i = 0; i < ARRAY_LEN(rows); i++)
        if (s->object->layout & rows[i].bit)
            return rows[i].why;
    if (s->object->trailing > MAX_PAYLOAD)
        return arena_printf(s->arena,
                            "%llu bytes follow the ELF: a payload that checks or finds itself",
                            (unsigned long long)s->object->trailing);
    return NULL;
}

static const char *rule(const struct subject *s, enum method method)
{
    size_t i;

    for (i = 0; i < s->n_rulings; i++)
        if (ruling_verdict(s->ruling[i].rule, method) == DANGER_REFUSE)
            return arena_printf(s->arena, "%s [rule %s on %s]", s->ruling[i].rule->why,
                                s->ruling[i].rule->id, str_escape(s->arena, s->ruling[i].what));
    return NULL;
}

static const char *already_lifted(const struct subject *s, enum method method)
{
    const char **component;
    size_t n = run_path_split(s->arena, old_run_path(s), &component), i;

    (void)method;
    for (i = 0; i < n; i++)
        if (!strcmp(component[i], s->farm) || strstr(component[i], "/" FARM_IN_PACKAGE) ||
            strstr(component[i], "/" FARM_BESIDE))
            return arena_printf(s->arena, "its run path has a farm already: '%s'",
                                str_escape(s->arena, component[i]));
    return s->object->layout & LAYOUT_LIFTED ? "it has been edited already" : NULL;
}

static const char *relative_run_path(const struct subject *s, enum method method)
{
    const char **component;
    size_t n = run_path_split(s->arena, old_run_path(s), &component), i;

    (void)method;
    for (i = 0; i < n; i++)
        if (*component[i] != '/' && *component[i] != '$')
            return *component[i] ? arena_printf(s->arena, "its run path has the relative '%s'",
                                                str_escape(s->arena, component[i]))
                                 : "its run path has an empty component: the working directory";
    return NULL;
}

/* ---- its loader */

static const char *foreign_loader(const struct subject *s, enum method method)
{
    struct place at;

    (void)method;
    if (!s->package || !s->object->interp)
        return NULL;
    at = world_walk(s->world, NULL, s->object->interp);
    if (at.error == 0 && subject_in_store(s, world_path(s->arena, at.node)))
        return NULL;
    if (at.error && subject_in_store(s, s->object->interp))
        return arena_printf(s->arena, "its loader '%s' cannot be looked at: %s",
                            str_escape(s->arena, s->object->interp), strerror(at.error));
    return arena_printf(s->arena,
                        "its loader '%s' is outside the store: what is there is not known",
                        str_escape(s->arena, s->object->interp));
}

static const char *unknown_loader(const struct subject *s, enum method method)
{
    (void)method;
    return s->trace->profile.assumed;
}

/* ---- its graph */

static const char *too_large(const struct subject *s, enum method method)
{
    const uint32_t calls = s->trace->storm.opens + s->trace->storm.stats;

    (void)method;
    if (s->n_rulings == MAX_PLAN_RULINGS)
        return arena_printf(s->arena, "rules of dangerous libraries are about it %d times and more",
                            MAX_PLAN_RULINGS);
    if (s->trace->n_loaded <= MAX_PLANNED_OBJECTS && calls <= MAX_PLANNED_CALLS)
        return NULL;
    return arena_printf(
        s->arena, "its start loads %zu objects in %u calls: beyond %d or %d nothing is planned",
        s->trace->n_loaded, calls, MAX_PLANNED_OBJECTS, MAX_PLANNED_CALLS);
}

static const char *unresolved(const struct subject *s, enum method method)
{
    size_t i;

    (void)method;
    if (s->level[0].trace.exit == s->trace->exit && s->trace->exit != EXIT_OK)
        return arena_printf(s->arena, "it does not start: %s", s->trace->exit_text);
    for (i = 0; i < s->n_levels; i++)
        if (s->level[i].trace.exit != EXIT_OK)
            return arena_printf(s->arena, "it does not start on %s: %s", s->level[i].cpu.name,
                                s->level[i].trace.exit_text);
    return NULL;
}

static const char *filter(const struct subject *s, enum method method)
{
    size_t i, k;

    (void)method;
    for (i = 0; i < s->trace->n_loaded; i++) {
        const struct object *object = s->trace->loaded[i].object;

        for (k = 0; object && k < object->n_needs; k++)
            if (object->need[k].kind != NEED_NEEDED)
                return arena_printf(s->arena, "%s has %s %s: load order is not predictable",
                                    show(s, &s->trace->loaded[i]),
                                    object->need[k].kind == NEED_FILTER ? "DT_FILTER"
                                                                        : "DT_AUXILIARY",
                                    str_escape(s->arena, object->need[k].name));
    }
    return NULL;
}

static const char *rpath(const struct subject *s, enum method method)
{
    size_t i;

    (void)method;
    for (i = 0; i < s->trace->n_loaded; i++) {
        const struct object *object = s->trace->loaded[i].object;

        if (object && object->rpath && !object->runpath)
            return arena_printf(s->arena,
                                "%s has DT_RPATH: it is inherited and beats LD_LIBRARY_PATH, "
                                "DT_RUNPATH would not",
                                show(s, &s->trace->loaded[i]));
    }
    return NULL;
}

static const char *needed_token(const struct subject *s, enum method method)
{
    size_t i, k;

    (void)method;
    for (i = 0; i < s->trace->n_loaded; i++) {
        const struct object *object = s->trace->loaded[i].object;

        for (k = 0; object && k < object->n_needs; k++)
            if (has_token(object->need[k].name))
                return arena_printf(s->arena, "%s needs '%s': the token means its own directory",
                                    show(s, &s->trace->loaded[i]),
                                    str_escape(s->arena, object->need[k].name));
    }
    return NULL;
}

static const char *outside_store(const struct subject *s, enum method method)
{
    struct wanted *wanted;
    size_t n = wanted_list(s, strategy_of(method)->scope, &wanted), i;
    const char **passed;
    size_t n_passed;

    if (METHOD_BIT(method) & METHODS_FARM)
        return front_directories(s, wanted, n, &passed, &n_passed);
    for (i = 0; i < n; i++)
        if (passed_outside_store(s, &wanted[i], &passed))
            return arena_printf(s->arena,
                                "'%s', outside the store, is searched for %s before it is found: "
                                "what appears there later must win",
                                str_escape(s->arena, passed[0]),
                                str_escape(s->arena, wanted[i].name));
    return NULL;
}

static const char *levels_differ(const struct subject *s, enum method method)
{
    size_t i, k, n_other;
    struct subject other = *s;
    struct wanted *mine, *theirs;
    size_t n = wanted_list(s, SCOPE_LIFTED, &mine);

    (void)method;
    for (i = 0; i < s->n_levels; i++) {
        if (i == s->policy_level || s->level[i].trace.exit != EXIT_OK)
            continue;
        other.trace = &s->level[i].trace;
        if (other.trace->n_loaded != s->trace->n_loaded)
            return arena_printf(s->arena, "it loads %zu objects on %s, %zu on %s",
                                other.trace->n_loaded, s->level[i].cpu.name, s->trace->n_loaded,
                                s->level[s->policy_level].cpu.name);
        n_other = wanted_list(&other, SCOPE_LIFTED, &theirs);
        for (k = 0; k < n && k < n_other && !strcmp(mine[k].name, theirs[k].name); k++)
            ;
        if (k < n || k < n_other)
            return arena_printf(s->arena, "the load order on %s is another one from place %zu on",
                                s->level[i].cpu.name, k + 1);
    }
    return NULL;
}

/* A hit in a sub-directory that only old loaders look into ("tls/x86_64/"). */
static const char *legacy_hwcaps(const struct subject *s, enum method method)
{
    const struct profile *p = &s->trace->profile;
    size_t i, k;

    (void)method;
    for (i = 1; i < s->trace->n_loaded; i++)
        for (k = p->n_levels; k + 1 < p->n_caps; k++) {
            const char *path = s->trace->loaded[i].path;
            const char *at = s->trace->loaded[i].node ? strstr(path, p->caps[k]) : NULL;

            if (at && !strchr(at + strlen(p->caps[k]), '/'))
                return arena_printf(s->arena, "'%s' is in a legacy hwcaps directory",
                                    str_escape(s->arena, path));
        }
    return NULL;
}

/* ---- references that the derivation forbids */

static bool listed(const char *const *list, size_t n, const char *text)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (!strcmp(list[i], text))
            return true;
    return false;
}

static const char *references(const struct subject *s, enum method method)
{
    const struct policy *p = s->policy;
    struct wanted *wanted;
    size_t n = wanted_list(s, strategy_of(method)->scope, &wanted), i;

    for (i = 0; i < n; i++) {
        const char *package = wanted[i].opened ? wanted[i].member->package : NULL;

        if (!package || str_same(package, s->package))
            continue;
        if (p->allowed && !listed(p->allowed, p->n_allowed, package))
            return arena_printf(s->arena, "allowedReferences does not have '%s'", package);
        if (listed(p->disallowed, p->n_disallowed, package))
            return arena_printf(s->arena, "disallowedReferences has '%s'", package);
    }
    return NULL;
}

/* ---- absolute paths only */

static const char *musl(const struct subject *s, enum method method)
{
    (void)method;
    return s->trace->profile.libc == LIBC_MUSL
               ? "musl knows no library by DT_SONAME: a bare name asked later loads it again"
               : NULL;
}

static const char *old_glibc(const struct subject *s, enum method method)
{
    const struct profile *p = &s->trace->profile;

    (void)method;
    return p->libc == LIBC_GLIBC && p->version > 0 && p->version < 28
               ? arena_printf(s->arena,
                              "%s aborts when libc is named by path (2.28 and later do not)",
                              p->text)
               : NULL;
}

static const char *soname_differs(const struct subject *s, enum method method)
{
    const bool note = method == METHOD_NOTE_CLOSURE;
    struct wanted *wanted;
    size_t n = wanted_list(s, strategy_of(method)->scope, &wanted), i;

    for (i = 0; i < n; i++) {
        const struct wanted *w = &wanted[i];

        if (!w->opened || strchr(w->name, '/') || str_same(w->answer->soname, w->name))
            continue;
        if (note && !versions_wanted_from(s->trace, w->name))
            continue;
        return arena_printf(
            s->arena, "%s is asked for, but its DT_SONAME is %s: %s", str_escape(s->arena, w->name),
            w->answer->soname ? str_escape(s->arena, w->answer->soname) : "missing",
            note ? "versions are wanted from a file by that name, which ld.so may not record"
                 : "asked by name again it would not be known");
    }
    return NULL;
}

static const char *has_variant(const struct subject *s, enum method method)
{
    struct wanted *wanted;
    size_t n = wanted_list(s, strategy_of(method)->scope, &wanted), i, k;

    for (i = 0; i < n; i++)
        for (k = 0; wanted[i].opened && k < s->n_levels; k++) {
            const struct trace *trace = &s->level[k].trace;
            size_t at = (size_t)(wanted[i].answer - s->trace->loaded);

            if (at < trace->n_loaded && !same_file(wanted[i].answer, &trace->loaded[at]))
                return arena_printf(s->arena,
                                    "%s has a build for some CPUs (glibc-hwcaps): one path would "
                                    "freeze one of them",
                                    str_escape(s->arena, wanted[i].name));
        }
    return NULL;
}

static const struct gate table[] = {
    {"not-dynamic", "rewrite-safety", "does no dynamic loader run for it?", METHODS_EDITING,
     not_dynamic},
    {"loader-or-libc", "rewrite-safety", "is it a loader, or a library that is a program too?",
     METHODS_EDITING, loader_or_libc},
    {"needed-by-others", "same-libraries", "do others link against it?", METHODS_LIFTED,
     needed_by_others},
    {"layout", "rewrite-safety", "would an editor break the file?", METHODS_EDITING, bad_layout},
    {"too-large", "same-libraries", "is its start larger than any that is known?", METHODS_EDITING,
     too_large},
    {"already-edited", "rewrite-safety", "does its run path have a farm already?", METHODS_EDITING,
     already_lifted},
    {"foreign-loader", "needs", "does a loader outside the store start it?", METHODS_EDITING,
     foreign_loader},
    {"unknown-loader", "needs", "had anything about its loader to be assumed?", METHODS_EDITING,
     unknown_loader},
    {"filter", "same-libraries", "is there a DT_FILTER or DT_AUXILIARY in the graph?",
     METHODS_EDITING, filter},
    {"rpath", "ld-library-path", "is there a DT_RPATH in the graph?", METHODS_EDITING, rpath},
    {"unresolved", "same-libraries", "does it fail to start on some CPU level?", METHODS_EDITING,
     unresolved},
    {"relative-run-path", "same-libraries", "does its run path depend on the working directory?",
     METHODS_FARM | METHODS_ABSOLUTE, relative_run_path},
    {"needed-token", "self-location", "does a needed name have a token?", METHODS_FARM,
     needed_token},
    {"outside-store", "glvnd-switch", "would a directory outside the store lose its say?",
     METHODS_FARM | METHODS_ABSOLUTE, outside_store},
    {"levels-differ", "hwcaps", "is the load order another one on other CPU levels?",
     METHODS_LIFTED, levels_differ},
    {"legacy-hwcaps", "hwcaps", "is a library found in a hwcaps directory of old loaders?",
     METHODS_FARM | METHODS_ABSOLUTE, legacy_hwcaps},
    {"references", "references", "does the derivation forbid a new reference?",
     METHODS_FARM | METHODS_ABSOLUTE, references},
    {"musl", "needs", "is its loader musl's?", METHODS_ABSOLUTE | METHODS_NOTE, musl},
    {"old-glibc", "needs", "is its loader older than glibc 2.28?", METHODS_ABSOLUTE, old_glibc},
    {"soname-differs", "duplicate-soname",
     "is a library asked by a name that is not its DT_SONAME?", METHODS_ABSOLUTE | METHODS_CLOSURE,
     soname_differs},
    {"hwcaps-variant", "hwcaps", "does a library have builds for some CPUs?", METHODS_ABSOLUTE,
     has_variant},
    {"resolver-machine", "needs", "is there no resolver for its machine?", METHODS_CLOSURE,
     gate_machine},
    {"glibc-too-old", "needs", "does its glibc pay for an audit module at every call?",
     METHODS_CLOSURE, gate_glibc_too_old},
    {"audit-taken", "needs", "does DT_AUDIT name another module?", METHODS_CLOSURE,
     gate_audit_taken},
    {"sanitizer", "ld-preload", "does it load the run time of a sanitizer?", METHODS_CLOSURE,
     gate_sanitizer},
    {"class-machine", "same-libraries", "is a library for another class or machine?",
     METHODS_CLOSURE, gate_class_machine},
    {"interpreter", "dlopen", "does it run code of others?", METHODS_CLOSURE, gate_interpreter},
    {"not-worth-it", "size", "are there too few failed calls to pay for the module?",
     METHODS_CLOSURE, gate_not_worth_it},
    {"static-tls", "dlopen", "is there more static TLS than an audit module leaves room for?",
     METHODS_CLOSURE, gate_static_tls},
    {"rule", "rewrite-safety", "does a rule refuse it?", METHODS_EDITING, rule},
    {0},
};

const struct gate *gates(void)
{
    return table;
}

const struct gate *gate_shut(const struct subject *subject, enum method method,
                             const char **ret_reason)
{
    const struct gate *gate;

    for (gate = table; gate->id; gate++)
        if ((gate->methods & METHOD_BIT(method)) &&
            (*ret_reason = gate->check(subject, method)) != NULL)
            return gate;
    return NULL;
}
