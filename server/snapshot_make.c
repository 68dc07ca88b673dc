/* Making a snapshot: what is read of the index at once, and every program's storm. */
#include "server/snapshot.h"

#include "base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char PACKAGES[] =
    "SELECT p.id, s.path, p.base, p.pname, p.version, p.output, p.state, p.nar_size, "
    "p.objects, p.files, p.first_object, r.attribute, r.maintainers, r.position "
    "FROM package p JOIN store s ON s.id = p.store LEFT JOIN origin r ON r.name = p.name "
    "WHERE p.state <> 'gone' ORDER BY p.base, s.path";
static const char STORES[] = "SELECT path, root FROM store ORDER BY id";
static const char REFERENCES[] =
    "SELECT package, reference FROM reference WHERE package <> reference ORDER BY package";

uint64_t hash_text(uint64_t seed, const char *text)
{
    uint64_t h = seed ? seed : 14695981039346656037u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return (h ^ 0xff) * 1099511628211u;
}

/* ---- packages */

static const char *copied(struct arena *arena, struct stmt *s, int column)
{
    const char *text = stmt_text(s, column);

    return arena_strdup(arena, text ? text : "");
}

static int load_stores(struct snapshot *snap, struct db *db, struct err *err)
{
    struct stmt *s = db_prepare(db, STORES, err);
    int r = s ? 0 : -err->code;

    while (s && (r = stmt_step(s, err)) > 0) {
        snap->store = arena_grow(&snap->arena, snap->store, snap->n_stores, sizeof(*snap->store));
        snap->store[snap->n_stores++] =
            (struct store_place){copied(&snap->arena, s, 0), copied(&snap->arena, s, 1)};
    }
    return r;
}

static int load_packages(struct snapshot *snap, struct db *db, struct err *err)
{
    struct stmt *s = db_prepare(db, PACKAGES, err);
    struct arena *a = &snap->arena;
    int r = s ? 0 : -err->code;

    while (s && (r = stmt_step(s, err)) > 0) {
        struct package_row *p;

        snap->package = arena_grow(a, snap->package, snap->n_packages, sizeof(*p));
        p = &snap->package[snap->n_packages++];
        *p = (struct package_row){.row = stmt_int(s, 0),
                                  .base = copied(a, s, 2),
                                  .pname = copied(a, s, 3),
                                  .version = copied(a, s, 4),
                                  .output = copied(a, s, 5),
                                  .state = copied(a, s, 6),
                                  .nar_size = stmt_is_null(s, 7) ? -1 : stmt_int(s, 7),
                                  .objects = stmt_int(s, 8),
                                  .files = stmt_int(s, 9),
                                  .first_object = stmt_is_null(s, 10) ? -1 : stmt_int(s, 10),
                                  .origin = origin_of_row(s, 11, a)};
        p->path = arena_printf(a, "%s/%s", stmt_text(s, 1), p->base);
    }
    return r;
}

/* ---- references */

/* Packages by their rows. */
struct by_row {
    int64_t row;
    uint32_t package;
};

static int compare_rows(const void *a, const void *b)
{
    const struct by_row *x = a, *y = b;

    return (x->row > y->row) - (x->row < y->row);
}

static const struct by_row *find_row(const struct by_row *all, size_t n, int64_t row)
{
    const struct by_row wanted = {.row = row};

    return n ? bsearch(&wanted, all, n, sizeof(*all), compare_rows) : NULL;
}

struct edge {
    uint32_t from, to;
};

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The other ends of edges by one end; `back`: by where they lead to. */
static struct beside beside(struct arena *arena, size_t n_packages, const struct edge *edge,
                            size_t n, bool back)
{
    struct beside b = {arena_calloc(arena, n_packages + 2, sizeof(*b.first)),
                       arena_calloc(arena, n + 1, sizeof(*b.to))};

    for (size_t i = 0; i < n; i++)
        b.first[(back ? edge[i].to : edge[i].from) + 2]++;
    for (size_t i = 2; i < n_packages + 2; i++)
        b.first[i] += b.first[i - 1];
    for (size_t i = 0; i < n; i++) /* where the next begins is how far this one is filled */
        b.to[b.first[(back ? edge[i].to : edge[i].from) + 1]++] = back ? edge[i].from : edge[i].to;
    for (size_t i = 0; i < n_packages; i++)
        if (b.first[i + 1] - b.first[i] > 1)
            qsort(&b.to[b.first[i]], b.first[i + 1] - b.first[i], sizeof(*b.to), ascending);
    return b;
}

static int load_references(struct snapshot *snap, struct db *db, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct stmt *s = db_prepare(db, REFERENCES, err);
    struct by_row *row = arena_calloc(&scratch, snap->n_packages + 1, sizeof(*row));
    struct edge *edge = NULL;
    size_t n = 0;
    int r = s ? 0 : -err->code;

    for (size_t i = 0; i < snap->n_packages; i++)
        row[i] = (struct by_row){snap->package[i].row, (uint32_t)i};
    qsort(row, snap->n_packages, sizeof(*row), compare_rows);
    while (s && (r = stmt_step(s, err)) > 0) {
        const struct by_row *from = find_row(row, snap->n_packages, stmt_int(s, 0));
        const struct by_row *to = find_row(row, snap->n_packages, stmt_int(s, 1));

        if (!from || !to)
            continue;
        edge = arena_grow(&scratch, edge, n, sizeof(*edge));
        edge[n++] = (struct edge){from->package, to->package};
    }
    if (r < 0)
        return r;
    snap->refers_to = beside(&snap->arena, snap->n_packages, edge, n, false);
    snap->referred_by = beside(&snap->arena, snap->n_packages, edge, n, true);
    return 0;
}

/* ---- programs of packages */

/* Packages by their first object: which one has an object? */
static int by_first_object(const void *a, const void *b, void *data)
{
    const struct package_row *package = data;
    const int64_t x = package[*(const uint32_t *)a].first_object;
    const int64_t y = package[*(const uint32_t *)b].first_object;

    return (x > y) - (x < y);
}

static uint32_t package_of(const struct snapshot *snap, const uint32_t *order, size_t n,
                           int64_t object)
{
    size_t low = 0, high = n;
    const struct package_row *p;

    while (low < high) { /* the last one that starts at or before it */
        const size_t middle = (low + high) / 2;

        if (snap->package[order[middle]].first_object <= object)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return UINT32_MAX;
    p = &snap->package[order[low - 1]];
    return object < p->first_object + p->objects ? order[low - 1] : UINT32_MAX;
}

static void match_packages(struct snapshot *snap)
{
    uint32_t *order = calloc(snap->n_packages + 1, sizeof(*order));
    size_t n = 0;

    if (!order)
        abort();
    for (size_t i = 0; i < snap->n_packages; i++)
        if (snap->package[i].objects) /* those without start where another one does */
            order[n++] = (uint32_t)i;
    qsort_r(order, n, sizeof(*order), by_first_object, snap->package);
    for (size_t i = 0; i < snap->n_programs; i++) { /* worst first, so theirs are, too */
        struct program_row *program = &snap->program[i];
        struct package_row *p;

        program->package = package_of(snap, order, n, program->object);
        if (program->package == UINT32_MAX)
            continue;
        p = &snap->package[program->package];
        p->program = arena_grow(&snap->arena, p->program, p->n_programs, sizeof(*p->program));
        p->program[p->n_programs++] = (uint32_t)i;
        if (p->n_programs == 1) {
            p->failed = storm_failed(&program->of.storm);
            snap->n_to_plan++;
        }
    }
    free(order);
}

/* ---- programs */

/* What the program's start costs; a program that cannot be looked at has an outcome that says so.
 */
static void compute(struct snapshot *snap, struct loader *loader, const char *path,
                    struct storm_row *ret_row)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct trace trace = {0};
    struct err err = {0};

    if (loader_run(loader, &(struct start){.program = path}, &scratch, &trace, &err) < 0)
        *ret_row = (struct storm_row){
            .exit = EXIT_NO_LOADER,
            .exit_text = arena_printf(&snap->arena, "unread: %s", err.text),
        };
    else {
        *ret_row = storm_row(&trace);
        ret_row->exit_text = arena_strdup(&snap->arena, trace.exit_text ? trace.exit_text : "ok");
        if (ret_row->profile_assumed)
            ret_row->profile_assumed = arena_strdup(&snap->arena, ret_row->profile_assumed);
    }
    ret_row->program = path;
}

static int compute_all(struct snapshot *snap, struct view *view,
                       const struct indexed_program *program, const bool *stop, struct err *err)
{
    struct loader *loader;
    int r = 0;

    for (size_t i = 0; i < snap->n_programs && r == 0; i++) {
        r = view_loader(view, snap->cpu, &loader, err);
        if (r < 0)
            return r;
        compute(snap, loader, program[i].path, &snap->program[i].of);
        if (__atomic_load_n(stop, __ATOMIC_RELAXED))
            return err_set(err, EAGAIN, "stopped");
        r = view_trim(view, err);
    }
    return r < 0 ? r : view_empty(view, err);
}

static int load_programs(struct snapshot *snap, struct view *view, const bool *stop,
                         struct err *err)
{
    const struct storm_key key = {
        .cpu = snap->cpu, .scenario = "", .generation = snap->moment.generation};
    struct indexed_program *program;
    struct storm_row *row;
    size_t n;
    int r = storm_programs(view_db(view), &snap->arena, &program, &snap->n_programs, err);

    if (r == 0)
        r = storm_recall(view_db(view), &key, &snap->arena, &row, &n, err);
    if (r < 0)
        return r;
    snap->program = arena_calloc(&snap->arena, snap->n_programs + 1, sizeof(*snap->program));
    for (size_t i = 0; i < snap->n_programs; i++) {
        snap->program[i].object = program[i].id;
        if (n == snap->n_programs)
            snap->program[i].of = row[i];
    }
    return n == snap->n_programs ? 0 : compute_all(snap, view, program, stop, err);
}

static int by_failed(const void *a, const void *b)
{
    const struct program_row *x = a, *y = b;
    const uint64_t m = storm_failed(&x->of.storm), n = storm_failed(&y->of.storm);

    return m != n ? (m < n ? 1 : -1) : strcmp(x->of.program, y->of.program);
}

static int by_id(const void *a, const void *b, void *data)
{
    const struct program_row *program = data;
    const struct program_row *x = &program[*(const uint32_t *)a];
    const struct program_row *y = &program[*(const uint32_t *)b];
    const int order = strcmp(x->id, y->id);

    return order ? order : strcmp(x->of.program, y->of.program);
}

void program_hash(const char *path, char ret_hash[PROGRAM_HASH + 1])
{
    (void)snprintf(ret_hash, PROGRAM_HASH + 1, "%016" PRIx64, hash_text(0, path));
}

/* Ids are hashes of paths; equal ones (somebody may try) get a number behind them. */
static void name_programs(struct snapshot *snap)
{
    unsigned same = 0;

    snap->by_id = arena_calloc(&snap->arena, snap->n_programs + 1, sizeof(*snap->by_id));
    for (size_t i = 0; i < snap->n_programs; i++) {
        struct program_row *program = &snap->program[i];

        snap->by_id[i] = (uint32_t)i;
        program_hash(program->of.program, program->id);
    }
    qsort_r(snap->by_id, snap->n_programs, sizeof(*snap->by_id), by_id, snap->program);
    for (size_t i = 1; i < snap->n_programs; i++) {
        struct program_row *program = &snap->program[snap->by_id[i]];
        const struct program_row *before = &snap->program[snap->by_id[i - 1]];

        same = strncmp(program->id, before->id, PROGRAM_HASH) == 0 ? same + 1 : 0;
        if (same)
            (void)snprintf(program->id + PROGRAM_HASH, sizeof(program->id) - PROGRAM_HASH, "-%u",
                           same % 100000);
    }
}

static void finish_programs(struct snapshot *snap)
{
    if (snap->n_programs)
        qsort(snap->program, snap->n_programs, sizeof(*snap->program), by_failed);
    name_programs(snap);
    for (size_t i = 0; i < snap->n_programs; i++)
        storm_add(&snap->sum, &snap->program[i].of.storm);
}

/* ---- life */

static void make_tag(struct snapshot *snap)
{
    char text[160];

    (void)snprintf(text, sizeof(text), "%s %s %" PRIu64 " %" PRIu64 " %" PRId64 " %d %d", VERSION,
                   snap->cpu, snap->moment.dev, snap->moment.ino, snap->moment.generation,
                   snap->moment.unfinished, (int)STORM_MODEL);
    (void)snprintf(snap->tag, sizeof(snap->tag), "%016" PRIx64, hash_text(0, text));
}

int snapshot_make(const char *path, const char *cpu, const struct policy *policy, const bool *stop,
                  struct snapshot **ret_snapshot, struct err *err)
{
    struct snapshot *snap = calloc(1, sizeof(*snap));
    struct stat st = {0};
    int r;

    if (!snap)
        abort();
    snap->references = 1;
    snap->path = path;
    snap->cpu = cpu;
    snap->made_at = time(NULL);
    pthread_mutex_init(&snap->lock, NULL);
    pthread_rwlock_init(&snap->kept_lock, NULL);
    pthread_mutex_init(&snap->heavy_lock, NULL);
    pthread_mutex_init(&snap->audit_lock, NULL);
    pthread_cond_init(&snap->view_free, NULL);
    r = views_open(path, snap->view, &snap->moment, err);
    if (r == 0)
        snap->n_views = snap->n_alive = VIEWS;
    if (r == 0)
        r = index_totals(view_db(snap->view[0]), &snap->totals, err);
    if (r == 0)
        r = load_stores(snap, view_db(snap->view[0]), err);
    if (r == 0)
        r = load_packages(snap, view_db(snap->view[0]), err);
    if (r == 0)
        r = load_references(snap, view_db(snap->view[0]), err);
    if (r == 0)
        r = load_programs(snap, snap->view[0], stop, err);
    if (r < 0) {
        snapshot_unref(snap);
        return r;
    }
    snap->index_at = stat(path, &st) == 0 ? st.st_mtim.tv_sec : 0;
    finish_programs(snap);
    match_packages(snap);
    snap->policy = snapshot_policy(snap, policy);
    make_tag(snap);
    *ret_snapshot = snap;
    return 0;
}
