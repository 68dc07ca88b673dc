#include "planner/plugins.h"
#include "base/str.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Of all patterns together: a policy may come from anybody, and dlopens are simulated one by one. */
enum { FILES_MAX = 1024, LISTED_MAX = 4096 };

struct paths {
    struct arena *arena;
    const char **path;
    size_t n;
};

struct listing {
    struct paths *to;
    const char *directory, *pattern;
};

static void add(struct paths *paths, const char *path)
{
    if (paths->n >= FILES_MAX)
        return;
    paths->path = arena_grow(paths->arena, paths->path, paths->n, sizeof(*paths->path));
    paths->path[paths->n++] = path;
}

static void look_at(void *data, const char *name)
{
    const struct listing *l = data;

    if (!fnmatch(l->pattern, name, FNM_PERIOD))
        add(l->to, arena_printf(l->to->arena, "%s/%s", l->directory, name));
}

static bool is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

/* One component after the other: each path so far becomes those that the component leads to. */
static struct paths expand(struct world *world, struct arena *arena, const char *path,
                           size_t *n_listed)
{
    struct paths paths = {.arena = arena};
    char *rest = arena_strdup(arena, path), *save = NULL, *part;

    add(&paths, "");
    for (part = strtok_r(rest, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
        struct paths next = {.arena = arena};

        for (size_t i = 0; i < paths.n; i++) {
            struct listing listing = {&next, paths.path[i], part};
            struct place at;

            if (!is_pattern(part)) {
                add(&next, arena_printf(arena, "%s/%s", paths.path[i], part));
                continue;
            }
            if ((*n_listed)++ >= LISTED_MAX)
                break;
            at = world_walk(world, NULL, *paths.path[i] ? paths.path[i] : "/");
            if (!at.error && world_list(world, at.node, look_at, &listing) < 0)
                continue; /* what cannot be listed has no files that could be known */
        }
        paths = next;
    }
    return paths;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct paths files_of(const struct subject *s, const char *name, size_t *n_listed)
{
    struct paths paths = {.arena = s->arena}, all;

    if (strchr(name, '/') && *name != '/') {
        if (!s->package)
            return paths;
        name = str_join(s->arena, s->package, name);
    }
    if (!strchr(name, '/') || !is_pattern(name)) {
        add(&paths, name);
        return paths;
    }
    all = expand(s->base, s->arena, name, n_listed);
    for (size_t i = 0; i < all.n; i++)
        if (!world_walk(s->base, NULL, all.path[i]).error)
            add(&paths, all.path[i]);
    if (paths.n > 1)
        qsort(paths.path, paths.n, sizeof(*paths.path), by_bytes);
    return paths;
}

void plugins_find(const struct subject *s, struct dlopen_call **ret_call, size_t *ret_n)
{
    struct dlopen_call *call = NULL;
    size_t n = 0, n_listed = 0;

    for (size_t i = 0; s->kind == SUBJECT_PROGRAM && i < s->policy->n_plugins && n < FILES_MAX;
         i++) {
        char *name = arena_strdup(s->arena, s->policy->plugins[i]), *at = strrchr(name, '@');
        struct paths files;

        if (at)
            *at++ = '\0';
        files = files_of(s, name, &n_listed);
        for (size_t k = 0; k < files.n && n < FILES_MAX; k++) {
            call = arena_grow(s->arena, call, n, sizeof(*call));
            call[n++] = (struct dlopen_call){files.path[k], at};
        }
    }
    *ret_call = call;
    *ret_n = n;
}
