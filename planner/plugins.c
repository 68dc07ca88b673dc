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

struct finding {
    struct world *world;
    const char *package;
    struct arena *arena;
    size_t n_listed; /* directories */
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
static struct paths expand(struct finding *f, const char *path)
{
    struct paths paths = {.arena = f->arena};
    char *rest = arena_strdup(f->arena, path), *save = NULL, *part;

    add(&paths, "");
    for (part = strtok_r(rest, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
        struct paths next = {.arena = f->arena};

        for (size_t i = 0; i < paths.n; i++) {
            struct listing listing = {&next, paths.path[i], part};
            struct place at;

            if (!is_pattern(part)) {
                add(&next, arena_printf(f->arena, "%s/%s", paths.path[i], part));
                continue;
            }
            if (f->n_listed++ >= LISTED_MAX)
                break;
            at = world_walk(f->world, NULL, *paths.path[i] ? paths.path[i] : "/");
            if (!at.error && world_list(f->world, at.node, look_at, &listing) < 0)
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

static struct paths files_of(struct finding *f, const char *name)
{
    struct paths paths = {.arena = f->arena}, all;

    if (strchr(name, '/') && *name != '/') {
        if (!f->package)
            return paths;
        name = str_join(f->arena, f->package, name);
    }
    if (!strchr(name, '/') || !is_pattern(name)) {
        add(&paths, name);
        return paths;
    }
    all = expand(f, name);
    for (size_t i = 0; i < all.n; i++)
        if (!world_walk(f->world, NULL, all.path[i]).error)
            add(&paths, all.path[i]);
    if (paths.n > 1)
        qsort(paths.path, paths.n, sizeof(*paths.path), by_bytes);
    return paths;
}

void plugins_find(const struct policy *policy, struct world *world, const char *package,
                  struct arena *arena, struct dlopen_call **ret_call, size_t *ret_n)
{
    struct finding finding = {.world = world, .package = package, .arena = arena};
    struct dlopen_call *call = NULL;
    size_t n = 0;

    for (size_t i = 0; i < policy->n_plugins && n < FILES_MAX; i++) {
        char *name = arena_strdup(arena, policy->plugins[i]), *at = strrchr(name, '@');
        struct paths files;

        if (at)
            *at++ = '\0';
        files = files_of(&finding, name);
        for (size_t k = 0; k < files.n && n < FILES_MAX; k++) {
            call = arena_grow(arena, call, n, sizeof(*call));
            call[n++] = (struct dlopen_call){files.path[k], at};
        }
    }
    *ret_call = call;
    *ret_n = n;
}
