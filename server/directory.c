#include "server/directory.h"

#include "base/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* A directory while it is counted. */
struct counted {
    UT_hash_handle hh;
    struct directory_row row;
    struct visit *visit; /* the newest first */
};

struct counting {
    struct directories *directories;
    struct counted *by_path;
    uint32_t program; /* which one is counted now */
};

/* The directory of a path, without its part for CPUs: its length. */
static size_t directory_len(const char *path, bool *ret_hwcaps)
{
    static const char mark[] = "/glibc-hwcaps/";
    const char *slash = strrchr(path, '/'), *caps = strstr(path, mark);

    *ret_hwcaps = caps != NULL;
    if (caps)
        return (size_t)(caps - path);
    return slash ? (size_t)(slash - path) : 0;
}

static struct counted *find(struct counting *c, const char *path, size_t len)
{
    struct counted *at;

    HASH_FIND(hh, c->by_path, path, len, at);
    if (at)
        return at;
    at = arena_alloc(&c->directories->arena, sizeof(*at));
    at->row.path = arena_strndup(&c->directories->arena, path, len);
    HASH_ADD_KEYPTR(hh, c->by_path, at->row.path, len, at);
    c->directories->n++;
    return at;
}

/* The start that is counted looked there in vain. */
static void count_visit(struct counting *c, struct counted *at)
{
    struct visit *visit = at->visit;

    if (!visit || visit->program != c->program) {
        visit = arena_alloc(&c->directories->arena, sizeof(*visit));
        *visit = (struct visit){.next = at->visit, .program = c->program};
        at->row.visit = at->visit = visit;
        at->row.programs++;
    }
    visit->failed++;
}

static void count_call(struct counting *c, const struct call *call)
{
    bool hwcaps;
    const size_t len = directory_len(call->path, &hwcaps);
    struct counted *at;

    if (call->kind != CALL_OPEN && call->kind != CALL_STAT)
        return;
    if (!call->error && call->outcome != OUTCOME_HIT)
        return;
    at = find(c, call->path, len);
    if (!call->error) {
        at->row.hits++;
        return;
    }
    if (call->kind == CALL_OPEN)
        at->row.failed_opens++;
    else
        at->row.failed_stats++;
    at->row.hwcaps += hwcaps;
    count_visit(c, at);
}

static int count_start(struct counting *c, struct snapshot *snap, struct view *view,
                       const struct program_row *program, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct trace trace = {0};
    struct loader *loader;
    int r = view_loader(view, snap->cpu, &loader, err);

    if (r == 0)
        r = loader_run(loader, &(struct start){.program = program->of.program, .record = true},
                       &scratch, &trace, err);
    if (r < 0)
        return r;
    c->program = (uint32_t)(program - snap->program);
    for (size_t i = 0; i < trace.n_calls; i++)
        count_call(c, &trace.call[i]);
    return 0;
}

/* The package that a directory lies in: the longest beginning that is one. */
static const struct package_row *package_of(const struct snapshot *snap, const char *path,
                                            struct arena *arena)
{
    char *copy = arena_strdup(arena, path), *slash;
    const struct package_row *found;

    while (*copy) {
        found = snapshot_package(snap, copy);
        if (found)
            return found;
        slash = strrchr(copy, '/');
        if (!slash)
            return NULL;
        *slash = '\0';
    }
    return NULL;
}

static int by_path(const void *a, const void *b)
{
    const struct directory_row *x = a, *y = b;

    return strcmp(x->path, y->path);
}

static void finish(struct counting *c, const struct snapshot *snap)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct directories *d = c->directories;
    struct counted *at, *next;
    size_t n = 0;

    d->row = arena_calloc(&d->arena, d->n + 1, sizeof(*d->row));
    HASH_ITER (hh, c->by_path, at, next) {
        HASH_DEL(c->by_path, at);
        d->row[n] = at->row;
        d->row[n++].package = package_of(snap, at->row.path, &scratch);
    }
    if (n)
        qsort(d->row, n, sizeof(*d->row), by_path);
}

static struct directories *directories_new(void)
{
    struct directories *d = calloc(1, sizeof(*d));

    if (!d)
        abort();
    return d;
}

void directories_free(struct directories *d)
{
    if (!d)
        return;
    arena_release(&d->arena);
    free(d);
}

int directories_of(struct snapshot *snap, struct view *view, const struct program_row *program,
                   struct directories **ret, struct err *err)
{
    struct counting c = {.directories = directories_new()};
    const int r = count_start(&c, snap, view, program, err);

    finish(&c, snap);
    if (r < 0)
        directories_free(c.directories);
    else
        *ret = c.directories;
    return r;
}

/* Of all programs; -EAGAIN: it was to end before. */
static int count_all(struct snapshot *snap, struct view *view, struct directories **ret,
                     struct err *err)
{
    struct counting c = {.directories = directories_new()};
    const struct progress progress = {.stop = snap->quit};
    struct err ignored; /* a program that cannot be looked at looks for nothing */
    int r = 0;

    for (size_t i = 0; i < snap->n_programs && r == 0; i++) {
        if (count_start(&c, snap, view, &snap->program[i], &ignored) == 0)
            (void)!view_trim(view, &ignored);
        if (progress_check(&progress, &ignored) < 0)
            r = err_set(err, EAGAIN, "the service is being stopped");
    }
    finish(&c, snap);
    if (r < 0)
        directories_free(c.directories);
    else
        *ret = c.directories;
    return r;
}

int directories_all(struct snapshot *snap, struct view *view, const struct directories **ret,
                    struct err *err)
{
    int r = 0;

    pthread_mutex_lock(&snap->heavy_lock);
    if (!snap->directories)
        r = count_all(snap, view, &snap->directories, err);
    if (r == 0)
        *ret = snap->directories;
    pthread_mutex_unlock(&snap->heavy_lock);
    return r;
}
