/*
 * Settling: every program started with everything planned, and what makes one worse taken back.
 *
 * The edits of a store are laid over its world a part of the store at a time, and only of packages
 * that the part's starts look at (world_overlay_from()): so a start costs the same in a small store
 * and in a large one.
 */
#include "base/workq.h"
#include "planner/whole_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ROUNDS = 4,
    PART = 250, /* packages */
};

static uint64_t failed(const struct storm *start_up, const struct storm *dlopen)
{
    return storm_failed(start_up) + storm_failed(dlopen);
}

bool whole_is_worse(const struct whole_program *w)
{
    const uint64_t before = failed(&w->before, &w->before_dlopen);

    return failed(&w->own, &w->own_dlopen) > before || failed(&w->whole, &w->whole_dlopen) > before;
}

static int package_by_path(const void *a, const void *b)
{
    const char *const *path = a;
    const struct whole_package *package = b;

    return strcmp(*path, package->path);
}

static struct whole_package *find_package(const struct whole *whole, const char *path)
{
    return bsearch(&path, whole->package, whole->n_packages, sizeof(*whole->package),
                   package_by_path);
}

/* ---- every start over everything, a part at a time, in readers' threads */

struct settling {
    struct whole *whole;
    const struct whole_query *query;
    size_t n_started; /* programs, in this round */
};

struct part {
    size_t n; /* in order */
    struct whole_program *program;
    size_t n_programs;
    struct err err;
    bool failed;
    struct arena arena;
};

/* What is laid over the store as a start comes to it. */
struct layer {
    const struct whole *whole;
    struct arena arena; /* changed facts */
    struct err err;     /* the first */
    int r;
};

static void lay(void *data, struct world *overlay, const char *path)
{
    struct layer *layer = data;
    const struct whole_package *package = find_package(layer->whole, path);

    if (package && layer->r == 0)
        layer->r = whole_lay(package, overlay, &layer->arena, &layer->err);
}

static int start_part(const struct settling *s, struct world *world, struct part *part,
                      struct err *err)
{
    struct layer layer = {.whole = s->whole};
    const struct overlay_source source = {.store = s->query->policy->store,
                                          .n_stores = s->query->policy->n_stores,
                                          .lay = lay,
                                          .data = &layer};
    struct world *overlay = world_overlay_from(world, &source);
    struct whole_starts starts = {
        .world = overlay, .policy = s->query->policy, .facts = &layer.arena};
    int r = 0;

    for (size_t i = 0; i < part->n_programs && r == 0; i++) {
        struct whole_program *w = &part->program[i];

        r = whole_start(&starts, w->cpu, w->path, &w->whole, &w->whole_dlopen, err);
        if (layer.r < 0) {
            *err = layer.err;
            r = layer.r;
        }
    }
    whole_starts_release(&starts);
    world_close(overlay);
    arena_release(&layer.arena);
    return r;
}

static size_t part_end(const struct whole *whole, size_t part)
{
    const size_t end = (part + 1) * PART;

    return end < whole->n_packages ? end : whole->n_packages;
}

static void *read_part(void *data, void *reader, size_t n)
{
    const struct settling *s = data;
    const struct whole *whole = s->whole;
    struct part *part = calloc(1, sizeof(*part));
    size_t i, k;
    int r;

    if (!part)
        abort();
    part->n = n;
    for (i = n * PART; i < part_end(whole, n); i++)
        for (k = 0; k < whole->package[i].n_programs; k++) {
            part->program =
                arena_grow(&part->arena, part->program, part->n_programs, sizeof(*part->program));
            part->program[part->n_programs++] = whole->package[i].program[k];
        }
    r = whole_reader_next(reader, PART, &part->err);
    if (r == 0)
        r = start_part(s, ((struct whole_reader *)reader)->world, part, &part->err);
    part->failed = r < 0;
    return part;
}

static void drop_part(void *result)
{
    struct part *part = result;

    arena_release(&part->arena);
    free(part);
}

/* The starts of a part become the programs'. */
static int keep_part(void *data, void *result, struct err *err)
{
    struct settling *s = data;
    const struct whole *whole = s->whole;
    const struct part *part = result;
    const struct whole_program *w = part->program;
    const int r = part->failed ? err_set(err, part->err.code, "%s", part->err.text) : 0;

    for (size_t i = part->n * PART; i < part_end(whole, part->n) && r == 0; i++)
        for (size_t k = 0; k < whole->package[i].n_programs; k++, w++) {
            whole->package[i].program[k].whole = w->whole;
            whole->package[i].program[k].whole_dlopen = w->whole_dlopen;
        }
    s->n_started += part->n_programs;
    progress_update(s->query->progress, "all starts", s->n_started, whole->n_programs);
    drop_part(result);
    return r;
}

static void *open_reader(void *data)
{
    const struct settling *s = data;

    return whole_reader_open(s->query->db);
}

static void close_reader(void *data UNUSED, void *reader)
{
    whole_reader_close(reader);
}

static int start_all(struct settling *s, struct err *err)
{
    const struct work work = {.data = s,
                              .reader_open = open_reader,
                              .reader_close = close_reader,
                              .read = read_part,
                              .write = keep_part,
                              .drop = drop_part};

    s->n_started = 0;
    return work_run(&work, (s->whole->n_packages + PART - 1) / PART, s->query->n_threads, err);
}

/* ---- taking back */

static void count(struct whole *whole, const struct whole_edited *o, enum method method, bool more)
{
    size_t *n = &whole->n_objects[o->kind][method];

    *n = more ? *n + 1 : *n - 1;
}

/* A library or root whose edits cost a program more than they save it stays as it is. */
static bool take_back(struct whole *whole, const struct whole_package *package, const char *path,
                      const char *program)
{
    for (size_t i = 0; i < package->n_edited; i++) {
        struct whole_edited *o = &package->edited[i];

        if (strcmp(o->path, path) != 0 || o->kind == SUBJECT_PROGRAM || o->edits.n == 0)
            continue;
        count(whole, o, o->method, false);
        count(whole, o, METHOD_NONE, true);
        o->edits = (struct edits){0};
        o->taken_back = program;
        return true;
    }
    return false;
}

/* What one worse start loads, and is planned but no program: taken back. Its packages start anew. */
static int take_back_loaded(struct settling *s, struct world *world, const struct whole_program *w,
                            size_t *n_changed, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    CLEANUP(loader_freep) struct loader *loader = NULL;
    struct start start = whole_start_of(s->query->policy, world, w->path, &scratch);
    struct trace trace;
    struct cpu cpu;
    int r = cpu_find(w->cpu, &cpu, err);

    if (r < 0)
        return r;
    start.record = true;
    loader = loader_new(world, &cpu, "/", false);
    r = loader_run(loader, &start, &scratch, &trace, err);
    for (size_t i = 1; r == 0 && i < trace.n_loaded; i++) {
        const char *path = trace.loaded[i].node ? world_path(&scratch, trace.loaded[i].node)
                                                : trace.loaded[i].path;
        const char *name = policy_package(s->query->policy, &scratch, path);
        struct whole_package *package = name ? find_package(s->whole, name) : NULL;

        if (!package || !take_back(s->whole, package, path, w->path))
            continue;
        ++*n_changed;
        r = whole_start_own(package, world, s->query->policy, err);
    }
    return r;
}

static int take_back_worse(struct settling *s, struct whole_reader *reader, size_t *ret_changed,
                           struct err *err)
{
    int r = 0;

    *ret_changed = 0;
    for (size_t i = 0; i < s->whole->n_packages && r == 0; i++) {
        const struct whole_package *package = &s->whole->package[i];

        for (size_t k = 0; k < package->n_programs && r == 0; k++)
            if (whole_is_worse(&package->program[k]) &&
                (r = whole_reader_next(reader, 1, err)) == 0)
                r = take_back_loaded(s, reader->world, &package->program[k], ret_changed, err);
    }
    return r;
}

int whole_settle(struct whole *whole, const struct whole_query *query, struct err *err)
{
    CLEANUP(whole_reader_closep) struct whole_reader *reader = whole_reader_open(query->db);
    struct settling s = {.whole = whole, .query = query};
    size_t n_changed = 1;
    int r = start_all(&s, err);

    /* what makes one worse is taken back, and everything counted again */
    for (size_t round = 0; round < MAX_ROUNDS && n_changed && r == 0; round++) {
        r = take_back_worse(&s, reader, &n_changed, err);
        if (n_changed && r == 0)
            r = start_all(&s, err);
    }
    return r;
}
