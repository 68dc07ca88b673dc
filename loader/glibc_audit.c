#include "loader/internal.h"

#include <limits.h>
#include <string.h>

enum { V_DYNAMIC_AUDIT = 32 }; /* DT_AUDIT and DT_DEPAUDIT of the program count */

/*
 * One module, in a namespace of its own, asked for by ld.so, which has no paths. Its needed names
 * follow at once. Whatever goes wrong, only this module is given up (docs/loader.md, 15).
 */
static void audit_module(struct run *run, const char *name)
{
    struct space space = {0};
    struct worklist list = {0};
    const struct ask ask = {
        .kind = REQUEST_AUDIT, .space = &space, .asker = run->self, .flags = SEARCH_AUDIT};
    const struct answer answer = ask_name(run, &ask, intern(run->names, name));

    if (answer.lib) {
        work_append(run, &list, answer.lib);
        (void)work_all(run, &space, &list, SEARCH_AUDIT);
    }
    if (run->cache == CACHE_MAPPED)
        run->cache = CACHE_UNASKED;
}

static void audit_list(struct run *run, const char *text)
{
    while (text && *text) {
        const size_t len = strcspn(text, ":");
        const char *name = arena_strndup(run->arena, text, len);
        const bool valid = !run->loader->secure || !strchr(name, '/');

        if (len && len < NAME_MAX && valid) /* longer ones do not fit the loader's buffer */
            audit_module(run, name);
        text += len + (text[len] == ':');
    }
}

void glibc_audit(struct run *run)
{
    const struct object *object = run->main->image->object;

    audit_list(run, run_env(run, "LD_AUDIT", false));
    if (run->explicit)
        audit_list(run, run->explicit->audit);
    if (run->setup->profile.version < V_DYNAMIC_AUDIT)
        return;
    audit_list(run, object->audit);
    audit_list(run, object->depaudit);
}
