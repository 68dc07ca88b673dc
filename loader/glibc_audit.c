#include "loader/internal.h"

#include <limits.h>
#include <string.h>

enum { V_DYNAMIC_AUDIT = 32 }; /* DT_AUDIT and DT_DEPAUDIT of the program count */

/* Is this the resolver (docs/closure-note.md)? Of a version that decides as ours does. */
static bool is_resolver(const struct lib *lib)
{
    return lib->image->soname && strcmp(lib->image->soname->text, RESOLVER_SONAME) == 0;
}

/*
 * One module, in a namespace of its own, asked for by ld.so, which has no paths. Its needed names
 * follow at once. Whatever goes wrong, only this module is given up (docs/loader.md, 15).
 */
static void audit_module(struct run *run, const char *name, bool *resolver)
{
    struct space space = {0};
    struct worklist list = {0};
    const struct ask ask = {
        .kind = REQUEST_AUDIT, .space = &space, .asker = run->self, .flags = SEARCH_AUDIT};
    const struct answer answer = ask_name(run, &ask, intern(run->names, name));

    if (answer.lib) {
        work_append(run, &list, answer.lib);
        if (work_all(run, &space, &list, SEARCH_AUDIT) && is_resolver(answer.lib))
            *resolver = true;
    }
    if (run->cache == CACHE_MAPPED)
        run->cache = CACHE_UNASKED;
}

static void audit_list(struct run *run, const char *text, bool *resolver)
{
    while (text && *text) {
        const size_t len = strcspn(text, ":");
        const char *name = arena_strndup(run->arena, text, len);
        const bool valid = !run->loader->secure || !strchr(name, '/');

        if (len && len < NAME_MAX && valid) /* longer ones do not fit the loader's buffer */
            audit_module(run, name, resolver);
        text += len + (text[len] == ':');
    }
}

void glibc_audit(struct run *run)
{
    const struct object *object = run->main->image->object;
    bool resolver = false;

    audit_list(run, run_env(run, "LD_AUDIT", false), &resolver);
    if (run->explicit)
        audit_list(run, run->explicit->audit, &resolver);
    if (run->setup->profile.version >= V_DYNAMIC_AUDIT) {
        audit_list(run, object->audit, &resolver);
        audit_list(run, object->depaudit, &resolver);
    }
    if (resolver) /* modules are asked only once all of them are loaded */
        resolver_start(run);
}
