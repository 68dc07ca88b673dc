/*
 * Gates before a closure note: what a start with an audit module does not bear
 * (docs/closure-note.md, gates).
 */
#include "base/str.h"
#include "planner/gates.h"
#include "planner/simulate.h"

#include <fnmatch.h>
#include <string.h>

enum {
    V_AUDIT_IS_FREE = 35, /* before, every call through the PLT is slow once there is a module */
    STATIC_TLS_MAX = 512, /* bytes; ld.so keeps some 1800 for all, later dlopens included */
};

static bool matches(const char *const *glob, size_t n, const char *text)
{
    for (size_t i = 0; text && i < n; i++)
        if (!fnmatch(glob[i], text, 0))
            return true;
    return false;
}

const char *gate_machine(const struct subject *s, enum method method)
{
    (void)method;
    return s->object->machine == EM_X86_64 || s->object->machine == EM_AARCH64
               ? NULL
               : "the resolver exists for x86-64 and aarch64 only";
}

const char *gate_glibc_too_old(const struct subject *s, enum method method)
{
    const struct profile *p = &s->trace->profile;

    (void)method;
    return p->libc == LIBC_GLIBC && p->version > 0 && p->version < V_AUDIT_IS_FREE
               ? arena_printf(s->arena,
                              "%s slows down every call to a library once there is an audit "
                              "module, or does not know DT_AUDIT (2.35 and later do not)",
                              p->text)
               : NULL;
}

const char *gate_audit_taken(const struct subject *s, enum method method)
{
    const struct object *o = s->object;

    (void)method;
    if (o->depaudit)
        return arena_printf(s->arena, "it has DT_DEPAUDIT '%s'", str_escape(s->arena, o->depaudit));
    if (!o->audit || str_same(o->audit, s->policy->resolver) ||
        (s->policy->renew && o->closure.bytes))
        return NULL;
    return arena_printf(s->arena, "DT_AUDIT names '%s' already", str_escape(s->arena, o->audit));
}

const char *gate_sanitizer(const struct subject *s, enum method method)
{
    static const char *const globs[] = {"libasan.so.*", "libtsan.so.*", "liblsan.so.*",
                                        "libhwasan.so.*", "libclang_rt.?san*"};

    (void)method;
    for (size_t i = 1; i < s->trace->n_loaded; i++)
        if (matches(globs, ARRAY_LEN(globs), s->trace->loaded[i].soname))
            return arena_printf(s->arena, "it loads %s, which fails when there is an audit module",
                                s->trace->loaded[i].soname);
    return NULL;
}

const char *gate_class_machine(const struct subject *s, enum method method)
{
    (void)method;
    for (size_t i = 1; i < s->trace->n_loaded; i++) {
        const struct object *o = s->trace->loaded[i].object;

        if (o && (o->class != s->object->class || o->data != s->object->data ||
                  o->machine != s->object->machine))
            return arena_printf(s->arena, "'%s' is for another class or machine",
                                str_escape(s->arena, s->trace->loaded[i].path));
    }
    return NULL;
}

/* What runs code of others loads whatever that asks for, and is started with anybody's preloads. */
const char *gate_interpreter(const struct subject *s, enum method method)
{
    static const char *const libraries[] = {
        "libpython*.so*", "libperl.so*",  "libruby*.so*",  "libjvm.so",     "libjli.so",
        "libguile*.so*",  "liblua*.so.*", "libmozjs*.so*", "libR.so",       "libtcl*.so*",
        "libnode.so*",    "libphp*.so*",  "libjulia.so*",  "liboctinterp*",
    };
    static const char *const programs[] = {"python*", "perl*", "ruby*",  "java",  "node", "lua*",
                                           "guile*",  "php*",  "tclsh*", "julia", "R"};

    (void)method;
    if (s->policy->interpreters)
        return NULL;
    if (matches(programs, ARRAY_LEN(programs), str_base(s->path)))
        return arena_printf(s->arena, "'%s' is an interpreter: on request only", str_base(s->path));
    for (size_t i = 1; i < s->trace->n_loaded; i++)
        if (matches(libraries, ARRAY_LEN(libraries), s->trace->loaded[i].soname))
            return arena_printf(s->arena, "it is, or holds, an interpreter (%s): on request only",
                                s->trace->loaded[i].soname);
    return NULL;
}

/* The start with all that its objects declare they will dlopen. False: it cannot be looked at. */
static bool with_declared(const struct subject *s, struct run *run)
{
    const struct scenario scenario = {.name = "declared dlopens", .declared = true};
    struct err err;

    return simulate(s, NULL, &scenario, s->policy_level, run, &err) == 0;
}

const char *gate_not_worth_it(const struct subject *s, enum method method)
{
    CLEANUP(run_close) struct run run = {0};
    const struct storm *start = &s->trace->storm;
    uint32_t failed = start->failed_opens + start->failed_stats;

    (void)method;
    if (s->object->closure.bytes) /* what it saves cannot be seen any more */
        return NULL;
    if (failed >= s->policy->reader_saving || !with_declared(s, &run))
        return NULL;
    failed += run.trace.dlopen.failed_opens + run.trace.dlopen.failed_stats;
    return failed >= s->policy->reader_saving
               ? NULL
               : arena_printf(s->arena,
                              "%u failed calls, declared dlopens included; the module costs as "
                              "much as some 15 (the policy asks for %u)",
                              failed, s->policy->reader_saving);
}

/* With a module, what is loaded at start-up gets its static TLS from the pool of later dlopens. */
const char *gate_static_tls(const struct subject *s, enum method method)
{
    CLEANUP(run_close) struct run run = {0};
    uint64_t sum = 0, largest = 0;
    const char *name = NULL;

    (void)method;
    if (!with_declared(s, &run))
        return "its declared dlopens cannot be looked at";
    for (size_t i = 1; i < run.trace.n_loaded; i++) {
        const struct loaded *l = &run.trace.loaded[i];

        sum += object_static_tls(l->object);
        if (object_static_tls(l->object) <= largest)
            continue;
        largest = object_static_tls(l->object);
        name = l->soname ? l->soname : l->path;
    }
    return sum <= STATIC_TLS_MAX
               ? NULL
               : arena_printf(s->arena,
                              "%llu bytes of static TLS, declared dlopens included (most: %s); an "
                              "audit module leaves room for %d",
                              (unsigned long long)sum, str_escape(s->arena, name), STATIC_TLS_MAX);
}
