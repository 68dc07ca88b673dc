/* All packages of an index: planned side by side, settled, told. */
#include "planner/whole.h"
#include "base/intern.h"
#include "base/json_write.h"
#include "base/spill.h"
#include "base/workq.h"
#include "planner/plan_json.h"
#include "planner/whole_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- planning */

struct gathering {
    struct whole_work work;
    struct whole *whole;
    size_t n_done;
};

static const char *keep_text(struct whole *whole, const char *text)
{
    return text ? intern(whole->texts, text)->text : NULL;
}

/* What stays of a package: a copy, whose texts all packages share. */
static void keep_package(struct whole *whole, const struct whole_planned *p)
{
    struct whole_package *own = &whole->package[p->n];
    struct arena *arena = &whole->arena;

    *own = p->package;
    own->path = keep_text(whole, own->path);
    own->problem = keep_text(whole, own->problem);
    own->edited = arena_memdup(arena, own->edited, own->n_edited * sizeof(*own->edited));
    for (size_t i = 0; i < own->n_edited; i++) {
        own->edited[i].path = keep_text(whole, own->edited[i].path);
        own->edited[i].edits = edits_copy(&own->edited[i].edits, arena, whole->texts);
    }
    own->program = arena_memdup(arena, own->program, own->n_programs * sizeof(*own->program));
    for (size_t i = 0; i < own->n_programs; i++) {
        struct whole_program *w = &own->program[i];

        w->path = keep_text(whole, w->path);
        w->cpu = keep_text(whole, w->cpu);
        w->reason = keep_text(whole, w->reason);
    }
    whole->n_programs += own->n_programs;
    for (size_t kind = 0; kind < N_SUBJECT_KINDS; kind++)
        for (size_t m = 0; m < N_METHODS; m++)
            whole->n_objects[kind][m] += p->n_objects[kind][m];
}

static void *open_reader(void *data)
{
    return whole_reader_open(((const struct gathering *)data)->work.query->db);
}

static void close_reader(void *data UNUSED, void *reader)
{
    whole_reader_close(reader);
}

static void *read_package(void *data, void *reader, size_t n)
{
    const struct whole_work *work = &((const struct gathering *)data)->work;

    return whole_plan_package(work, reader, work->list->turn[n]);
}

static int keep(void *data, void *result, struct err *err)
{
    struct gathering *g = data;
    struct whole *whole = g->whole;
    struct whole_planned *p = result;
    int r = 0;

    if (p->text)
        r = spill_add(whole->spill, p->text, p->package.len, &p->package.at, err);
    keep_package(whole, p);
    whole_planned_free(p);
    progress_update(g->work.query->progress, "packages", ++g->n_done, whole->n_packages);
    return r;
}

static void drop(void *result)
{
    whole_planned_free(result);
}

static int plan_packages(struct whole *whole, const struct whole_work *planning, struct err *err)
{
    struct gathering g = {.work = *planning, .whole = whole};
    const struct work work = {.data = &g,
                              .reader_open = open_reader,
                              .reader_close = close_reader,
                              .read = read_package,
                              .write = keep,
                              .drop = drop};

    whole->package = arena_calloc(&whole->arena, planning->list->n, sizeof(*whole->package));
    whole->n_packages = planning->list->n;
    return work_run(&work, planning->list->n, planning->query->n_threads, err);
}

/* ---- all of it */

struct stores {
    struct policy *policy;
    struct arena *arena;
};

static void add_store(void *data, const char *path)
{
    const struct stores *stores = data;

    policy_add_store(stores->policy, stores->arena, path);
}

/* Which packages there are, in which stores, and what objects need: gone when this returns. */
static int plan_index(struct whole *whole, const struct whole_query *asked, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(db_closep) struct db *db = NULL;
    struct policy policy = *asked->policy;
    struct stores stores = {&policy, &arena};
    struct whole_query query = *asked;
    struct whole_list list;
    struct name_set needed;
    const struct whole_work work = {&query, &list, &needed};
    int r = db_open(asked->db, DB_READ, &db, err);

    query.policy = &policy;
    if (r == 0)
        r = index_store_paths(db, add_store, &stores, err);
    if (r == 0)
        r = whole_needed(db, &arena, &needed, err);
    if (r == 0)
        r = whole_list(db, &policy, asked->whose, &arena, &list, err);
    if (r == 0)
        r = plan_packages(whole, &work, err);
    return r < 0 ? r : whole_settle(whole, &query, err);
}

int whole_plan(const struct whole_query *query, struct whole *ret_whole, struct err *err)
{
    struct whole whole = {.texts = intern_new(), .indented = query->plans == WHOLE_INDENTED};
    int r = query->plans ? spill_open(&whole.spill, err) : 0;

    if (r == 0)
        r = plan_index(&whole, query, err);
    if (r < 0) {
        whole_release(&whole);
        return r;
    }
    *ret_whole = whole;
    return 0;
}

void whole_release(struct whole *whole)
{
    spill_close(whole->spill);
    intern_free(whole->texts);
    arena_release(&whole->arena);
    *whole = (struct whole){0};
}

/* ---- telling */

/* Is its plan what was written? */
static bool came_true(const struct whole_package *package)
{
    for (size_t i = 0; i < package->n_edited; i++)
        if (package->edited[i].taken_back)
            return false;
    for (size_t i = 0; i < package->n_programs; i++)
        if (memcmp(&package->program[i].whole, &package->program[i].own, sizeof(struct storm)) != 0)
            return false;
    return true;
}

static void put_settled(json_t *plan, const struct whole_package *package, struct arena *scratch)
{
    for (size_t i = 0; i < package->n_programs; i++) {
        const struct whole_program *w = &package->program[i];

        plan_json_started(plan, w->object, &w->own, &w->whole);
    }
    for (size_t i = 0; i < package->n_edited; i++) {
        const struct whole_edited *o = &package->edited[i];

        if (o->taken_back)
            plan_json_take_back(plan, o->object, "worse-for-others",
                                arena_printf(scratch,
                                             "with it '%s' would fail more calls than as built",
                                             o->taken_back));
    }
}

/* The text as it should be; the arena's. */
static int settle_text(const struct whole *whole, const struct whole_package *package,
                       struct arena *arena, char **text, size_t *len, struct err *err)
{
    struct json_writer *w = arena_alloc(arena, sizeof(*w));
    json_error_t why;
    json_t *plan = json_loadb(*text, *len, 0, &why);

    if (!plan)
        return err_set(err, EIO, "the plan of '%s' came back damaged: %s", package->path, why.text);
    put_settled(plan, package, arena);
    w->indented = whole->indented;
    json_write_value(w, NULL, plan);
    json_write_finish(w);
    *text = arena_memdup(arena, w->text, w->len);
    *len = w->len;
    free(w->text);
    return 0;
}

int whole_tell(struct whole *whole,
               int (*each)(void *data, const struct whole_package *package, const char *text,
                           size_t len, struct err *err),
               void *data, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < whole->n_packages && r == 0; i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        const struct whole_package *package = &whole->package[i];
        char *text = arena_alloc(&arena, package->len);
        size_t len = package->len;

        if (len == 0 || (r = spill_read(whole->spill, package->at, text, len, err)) < 0)
            continue;
        if (!came_true(package))
            r = settle_text(whole, package, &arena, &text, &len, err);
        if (r == 0)
            r = each(data, package, text, len, err);
    }
    return r;
}
