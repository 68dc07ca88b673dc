/*
 * Which package a path belongs to: the stores of a policy.
 */
#include "planner/policy.h"

#include <string.h>

const char *policy_package(const struct policy *policy, struct arena *arena, const char *path)
{
    size_t i, len;

    for (i = 0; i < policy->n_stores; i++) {
        len = strlen(policy->store[i]);
        if (!strncmp(path, policy->store[i], len) && path[len] == '/' && path[len + 1] &&
            path[len + 1] != '/')
            return arena_strndup(arena, path, len + 1 + strcspn(path + len + 1, "/"));
    }
    return NULL;
}

void policy_add_store(struct policy *p, struct arena *arena, const char *store)
{
    const char **list;
    size_t i;

    for (i = 0; i < p->n_stores; i++)
        if (!strcmp(p->store[i], store))
            return;
    list = arena_calloc(arena, p->n_stores + 1, sizeof(*list));
    for (i = 0; i < p->n_stores; i++)
        list[i] = p->store[i];
    list[p->n_stores++] = arena_strdup(arena, store);
    p->store = list;
}

static bool has_hash(const char *name, size_t len)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

    return len > 33 && ((strspn(name, digits) == 32 && name[32] == '-') ||
                        (name[len - 33] == '-' && strspn(name + len - 32, digits) == 32));
}

void policy_learn_store(struct policy *p, struct arena *arena, const char *path)
{
    const char *at = path;
    size_t len;

    if (*path != '/' || policy_package(p, arena, path))
        return;
    for (; *at == '/'; at += len) {
        at++;
        len = strcspn(at, "/");
        if (at - path > 1 && at[len] == '/' && has_hash(at, len)) {
            policy_add_store(p, arena, arena_strndup(arena, path, (size_t)(at - path) - 1));
            return;
        }
    }
}
