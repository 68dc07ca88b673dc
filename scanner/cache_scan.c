#include "scanner/cache_scan_private.h"

#include "base/workq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURES_MAX = 10 };

struct cached *cache_scan_cached(struct cache_scan *scan, const char *hash)
{
    const struct name *name = intern_n(scan->hashes, hash, strnlen(hash, STORE_HASH));

    if (name->id == scan->n_cached) {
        if (scan->n_cached == scan->size_cached) {
            scan->size_cached = scan->size_cached ? scan->size_cached * 2 : 1024;
            scan->cached = realloc(scan->cached, scan->size_cached * sizeof(*scan->cached));
            if (!scan->cached)
                abort();
        }
        scan->cached[scan->n_cached++] = (struct cached){.hash = name->text};
    }
    return &scan->cached[name->id];
}

void cache_scan_add_job(struct cache_scan *scan, uint32_t number)
{
    if (scan->n_jobs == scan->size_jobs) {
        scan->size_jobs = scan->size_jobs ? scan->size_jobs * 2 : 1024;
        scan->job = realloc(scan->job, scan->size_jobs * sizeof(*scan->job));
        if (!scan->job)
            abort();
    }
    scan->job[scan->n_jobs++] = number;
}

int cache_scan_work(struct cache_scan *scan, const struct work *work, struct err *err)
{
    struct arena arena = {0};
    int r;

    scan->n_done = 0;
    scan->round = arena_calloc(&arena, scan->n_jobs, sizeof(*scan->round));
    for (size_t i = 0; i < scan->n_jobs; i++) {
        const struct cached *c = &scan->cached[scan->job[i]];

        scan->round[i] = (struct cache_job){scan->job[i], c->hash, c->info, {c->only, c->n_only}};
    }
    r = index_flush(scan->index, err); /* the rows of what is about to be read */
    if (r == 0)
        r = work_run(work, scan->n_jobs, scan->options->readers, err);
    arena_release(&arena);
    return r;
}

int cache_scan_count_failure(struct cache_scan *scan, int code, const char *why, struct err *err)
{
    static const int connection[] = {-ECONNREFUSED, -ECONNRESET, -EHOSTUNREACH, -ETIMEDOUT,
                                     -EAGAIN};
    bool lost = false;

    for (size_t i = 0; i < ARRAY_LEN(connection); i++)
        lost |= code == connection[i];
    scan->failures = lost ? scan->failures + 1 : 0;
    if (scan->failures < FAILURES_MAX)
        return 0;
    return err_set(err, ECONNABORTED,
                   "the cache does not answer any more: %s; what was read is kept, a scan again "
                   "goes on from there",
                   why);
}

int cache_scan_write_absent(struct cache_scan *scan, uint32_t number, const char *why,
                            struct err *err)
{
    struct cached *c = &scan->cached[number];
    struct package_facts *f;
    int r = 0;

    if (!c->id)
        r = index_add_package(scan->index, scan->store, c->base, NULL, &c->id, err);
    if (r < 0)
        return r;
    f = facts_new(c->base);
    facts_add_problem(f, "", "", true, why);
    r = index_write_package(scan->index, c->id, f, NULL, c->state != KNOWN_NEW, err);
    package_facts_free(f);
    c->unread = true;
    scan->result->scan.incomplete++;
    return r;
}

/* ---- what is wanted */

static void add_known(void *data, const struct known_package *package)
{
    struct cache_scan *scan = data;
    struct cached *c = cache_scan_cached(scan, package->base);

    c->base = arena_strdup(&scan->arena, package->base);
    c->id = package->id;
    c->state = package->state;
}

/* ---- reading archives */

/* What a reader hands to the writer. */
struct walked {
    uint32_t number;
    struct package_facts *facts;
    struct cache_walk walk;
};

static void *open_reader(void *data)
{
    return cache_reader_new(((const struct cache_scan *)data)->cache);
}

static void close_reader(void *data UNUSED, void *reader)
{
    cache_reader_free(reader);
}

static void *read_archive(void *data, void *reader, size_t job)
{
    const struct cache_scan *scan = data;
    struct walked *walked = calloc(1, sizeof(*walked));

    if (!walked)
        abort();
    walked->number = scan->round[job].number;
    walked->facts = cache_walk(reader, scan->round[job].info, NULL, &walked->walk);
    return walked;
}

static void drop_walked(void *result)
{
    struct walked *walked = result;

    package_facts_free(walked->facts);
    free(walked);
}

static int write_references(struct cache_scan *scan, const struct cached *c, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < c->info->n_references && r == 0; i++) {
        const struct cached *to = cache_scan_cached(scan, c->info->reference[i]);

        if (to->id && to->queued)
            r = index_add_reference(scan->index, c->id, to->id, err);
    }
    return r;
}

static int write_facts(struct cache_scan *scan, struct walked *walked, struct err *err)
{
    struct cached *c = &scan->cached[walked->number];
    struct cache_scan_result *result = scan->result;
    struct package_facts *f = walked->facts;
    int r =
        index_write_package(scan->index, c->id, f, c->info->nar_hash, c->state != KNOWN_NEW, err);

    c->written = true;
    c->unread = walked->walk.error != 0;
    result->scan.scanned++;
    result->scan.incomplete += f->state == PACKAGE_INCOMPLETE;
    result->listed += walked->walk.listed;
    result->ranged += walked->walk.ranged;
    result->bytes += walked->walk.bytes;
    if (r == 0)
        r = write_references(scan, &scan->cached[walked->number], err);
    if (r == 0)
        r = cache_scan_count_failure(scan, walked->walk.error,
                                     f->n_problems ? f->problem[0].text : "", err);
    return r;
}

static int write_archive(void *data, void *result, struct err *err)
{
    struct cache_scan *scan = data;
    const int r = write_facts(scan, result, err);

    drop_walked(result);
    progress_update(scan->options->progress, "packages", ++scan->n_done, scan->n_jobs);
    return r < 0 ? r : index_tick(scan->index, err);
}

static int when_idle(void *data, struct err *err)
{
    return index_tick(((struct cache_scan *)data)->index, err);
}

/* Largest first: so no reader is left alone with a large one at the end. */
static int compare_jobs(const void *a, const void *b, void *data)
{
    const struct cache_scan *scan = data;
    const uint64_t x = scan->cached[*(const uint32_t *)a].info->nar_size;
    const uint64_t y = scan->cached[*(const uint32_t *)b].info->nar_size;

    return (x < y) - (x > y);
}

/* Read what is wanted and not known. */
static int cache_scan_read(struct cache_scan *scan, struct err *err)
{
    const struct work work = {.data = scan,
                              .reader_open = open_reader,
                              .reader_close = close_reader,
                              .read = read_archive,
                              .write = write_archive,
                              .idle = when_idle,
                              .drop = drop_walked};

    scan->n_jobs = 0;
    for (uint32_t i = 0; i < scan->n_cached; i++) {
        const struct cached *c = &scan->cached[i];

        if (c->queued && c->info && !c->elsewhere && c->state != KNOWN_SCANNED)
            cache_scan_add_job(scan, i);
    }
    if (scan->n_jobs)
        qsort_r(scan->job, scan->n_jobs, sizeof(*scan->job), compare_jobs, scan);
    return cache_scan_work(scan, &work, err);
}

/* ---- the passes */

/* What the index has and the cache, asked for everything, has no more. */
static int forget_gone(struct cache_scan *scan, struct err *err)
{
    int r = 0;

    if (scan->options->n_paths || scan->options->closure)
        return 0;
    for (size_t i = 0; i < scan->n_cached && r == 0; i++) {
        struct cached *c = &scan->cached[i];

        if (!c->id || c->queued || c->elsewhere || c->state == KNOWN_GONE)
            continue;
        r = index_forget_package(scan->index, c->id, err);
        scan->result->scan.gone++;
    }
    return r;
}

static int note_part(struct cache_scan *scan, bool *ret_changed, struct err *err)
{
    const struct scan_options *o = scan->options;
    struct part part = {.place = cache_url(scan->cache), .shards = 1, .shard = 1};

    if (o->n_paths || o->closure || scan->result->scan.incomplete)
        part.shards = part.shard = 0;
    else if (o->shards)
        part.shards = o->shards, part.shard = o->shard;
    part.adds = o->n_paths || o->closure || o->shards;
    return index_note_part(scan->index, scan->store, &part, ret_changed, err);
}

static int run_passes(struct cache_scan *scan, struct err *err)
{
    const struct scan_result *result = &scan->result->scan;
    uint64_t changed;
    bool parted = false;
    int r = index_store(scan->index, scan->cache_options->store, "", &scan->store, &changed, err);

    if (r == 0)
        r = index_packages(scan->index, scan->store, add_known, scan, err);
    if (r == 0)
        r = cache_scan_choose(scan, err);
    if (r == 0)
        r = forget_gone(scan, err);
    if (r == 0)
        r = cache_scan_read(scan, err);
    if (r == 0)
        r = cache_scan_search_dirs(scan, err);
    if (r == 0)
        r = note_part(scan, &parted, err);
    return r < 0
               ? r
               : index_finish(scan->index,
                              result->scanned || result->gone || result->incomplete || parted, err);
}

int cache_scan(struct db *db, const struct scan_options *options, const struct cache_options *cache,
               struct cache_scan_result *ret_result, struct err *err)
{
    struct cache_scan_result result = {.scan = {.references = "cache"}};
    struct cache_scan scan = {.options = options, .cache_options = cache, .result = &result};
    struct err flushing;
    int r = cache_open(cache, &scan.cache, err);

    if (r < 0)
        return r;
    scan.hashes = intern_new();
    r = index_open(db, &scan.index, err);
    if (r == 0)
        r = run_passes(&scan, err);
    if (r < 0 && scan.index)
        (void)!index_flush(scan.index, &flushing); /* what came before is true */
    index_close(scan.index);
    cache_close(scan.cache);
    intern_free(scan.hashes);
    free(scan.cached);
    free(scan.job);
    arena_release(&scan.arena);
    if (r == 0)
        *ret_result = result;
    return r;
}
