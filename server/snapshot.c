#include "server/snapshot.h"

#include "base/str.h"
#include "server/directory.h"
#include "server/index_audit.h"
#include "server/route.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum {
    SPOILED_ENOUGH = 4,
    KEPT_MAX_BYTES = 64 * 1024 * 1024,
    KEPT_BODY_MAX = 8 * 1024 * 1024,
    KEPT_BESIDE = 2048, /* what else an answer takes: headers, the table's row */
};

/* ---- life */

struct snapshot *snapshot_ref(struct snapshot *snap)
{
    __atomic_add_fetch(&snap->references, 1, __ATOMIC_RELAXED);
    return snap;
}

struct kept {
    UT_hash_handle hh;
    struct http_body *body;
    const struct route *route;
    unsigned revision, audits;
    char url[];
};

/* Compressed it takes no more than once again. */
static size_t kept_size(const struct kept *kept)
{
    return 2 * kept->body->len + strlen(kept->url) + KEPT_BESIDE;
}

static void forget(struct snapshot *snap, struct kept *kept)
{
    HASH_DEL(snap->kept, kept);
    snap->kept_bytes -= kept_size(kept);
    http_body_unref(kept->body);
    free(kept);
}

void snapshot_unref(struct snapshot *snap)
{
    if (!snap || __atomic_sub_fetch(&snap->references, 1, __ATOMIC_ACQ_REL))
        return;
    while (snap->kept)
        forget(snap, snap->kept);
    for (size_t i = 0; i < snap->n_packages; i++)
        free(snap->package[i].plan.gzip);
    index_audit_free(snap->audit);
    for (size_t i = 0; i < snap->n_views; i++)
        view_close(snap->view[i]);
    pthread_cond_destroy(&snap->view_free);
    pthread_mutex_destroy(&snap->heavy_lock);
    pthread_mutex_destroy(&snap->audit_lock);
    pthread_mutex_destroy(&snap->lock);
    pthread_rwlock_destroy(&snap->kept_lock);
    directories_free(snap->directories);
    arena_release(&snap->remarks);
    arena_release(&snap->arena);
    free(snap);
}

/* ---- views */

struct view *snapshot_take(struct snapshot *snap)
{
    struct view *view = NULL;

    pthread_mutex_lock(&snap->lock);
    while (!snap->n_views && snap->n_alive)
        pthread_cond_wait(&snap->view_free, &snap->lock);
    if (snap->n_views)
        view = snap->view[--snap->n_views];
    pthread_mutex_unlock(&snap->lock);
    return view;
}

void snapshot_give(struct snapshot *snap, struct view *view, bool failed)
{
    struct err ignored; /* without a new one there is one less */

    view_end(view);
    failed = failed || view_trim(view, &ignored) < 0;
    if (failed) {
        view_close(view);
        if (view_open(snap->path, &snap->moment, &view, &ignored) < 0)
            view = NULL;
    }
    pthread_mutex_lock(&snap->lock);
    snap->n_spoiled += failed;
    if (view)
        snap->view[snap->n_views++] = view;
    else
        snap->n_alive--;
    pthread_cond_broadcast(&snap->view_free);
    pthread_mutex_unlock(&snap->lock);
}

bool snapshot_is_worn_out(struct snapshot *snap)
{
    bool worn_out;

    pthread_mutex_lock(&snap->lock);
    worn_out = snap->n_alive < VIEWS || snap->n_spoiled >= SPOILED_ENOUGH;
    pthread_mutex_unlock(&snap->lock);
    return worn_out;
}

/* ---- look-ups */

/* The first program, in the order of ids, whose id begins as `id` does, or what comes after. */
static size_t first_like(const struct snapshot *snap, const char *id)
{
    size_t low = 0, high = snap->n_programs;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (strncmp(snap->program[snap->by_id[middle]].id, id, PROGRAM_HASH) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct program_row *snapshot_program(const struct snapshot *snap, const char *id)
{
    const bool is_path = *id == '/';
    char of_path[PROGRAM_HASH + 1];
    const char *like = is_path ? of_path : id;

    if (is_path)
        program_hash(id, of_path);
    for (size_t i = first_like(snap, like); i < snap->n_programs; i++) {
        struct program_row *program = &snap->program[snap->by_id[i]];

        if (strncmp(program->id, like, PROGRAM_HASH) != 0)
            break;
        if (!strcmp(is_path ? program->of.program : program->id, id))
            return program;
    }
    return NULL;
}

struct package_row *snapshot_package(const struct snapshot *snap, const char *id)
{
    const char *base = *id == '/' ? str_base(id) : id;
    size_t low = 0, high = snap->n_packages;

    while (low < high) { /* the first one of that name */
        const size_t middle = (low + high) / 2;

        if (strcmp(snap->package[middle].base, base) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < snap->n_packages && !strcmp(snap->package[low].base, base); low++)
        if (*id != '/' || !strcmp(snap->package[low].path, id))
            return &snap->package[low];
    return NULL;
}

const struct storm *snapshot_set_levels(struct snapshot *snap, struct program_row *program,
                                        const struct storm *storm, size_t n)
{
    pthread_mutex_lock(&snap->lock);
    if (!program->levels)
        __atomic_store_n(&program->levels, arena_memdup(&snap->remarks, storm, n * sizeof(*storm)),
                         __ATOMIC_RELEASE);
    storm = program->levels;
    pthread_mutex_unlock(&snap->lock);
    return storm;
}

/* ---- finished answers */

struct http_body *snapshot_recall(struct snapshot *snap, const char *url, unsigned audits,
                                  const struct route **ret_route)
{
    struct http_body *body = NULL;
    struct kept *kept;

    pthread_rwlock_rdlock(&snap->kept_lock);
    HASH_FIND(hh, snap->kept, url, strlen(url), kept);
    if (kept &&
        (kept->revision == __atomic_load_n(&snap->revision, __ATOMIC_ACQUIRE) ||
         kept->route->flags & ROUTE_STEADY) &&
        (kept->audits == audits || !(kept->route->flags & ROUTE_AUDIT))) {
        body = http_body_ref(kept->body);
        *ret_route = kept->route;
    }
    pthread_rwlock_unlock(&snap->kept_lock);
    return body;
}

void snapshot_keep(struct snapshot *snap, const char *url, const struct route *route,
                   unsigned revision, unsigned audits, struct http_body *body)
{
    const size_t len = strlen(url);
    struct kept *kept, *old;

    if (body->len > KEPT_BODY_MAX)
        return;
    kept = calloc(1, sizeof(*kept) + len + 1);
    if (!kept)
        abort();
    memcpy(kept->url, url, len);
    kept->body = http_body_ref(body);
    kept->route = route;
    kept->revision = revision;
    kept->audits = audits;
    pthread_rwlock_wrlock(&snap->kept_lock);
    HASH_FIND(hh, snap->kept, url, len, old);
    if (old)
        forget(snap, old);
    while (snap->kept && snap->kept_bytes + kept_size(kept) > KEPT_MAX_BYTES)
        forget(snap, snap->kept); /* the one kept first */
    HASH_ADD(hh, snap->kept, url, len, kept);
    snap->kept_bytes += kept_size(kept);
    pthread_rwlock_unlock(&snap->kept_lock);
}
