/*
 * Which paths of a cache a scan is about, and which directories of theirs are read afterwards.
 */
#include "scanner/cache_scan_private.h"

#include "base/workq.h"
#include "scanner/closure_file.h"
#include "scanner/store_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is asked for */

/* Want the package of a path, or of a bare name in the store. */
static int want_path(struct cache_scan *scan, const char *path, struct err *err)
{
    const char *base = path[0] == '/' ? store_path_split(&scan->arena, scan->cache_options->store,
                                                         path, &(const char *){NULL})
                                      : path;
    struct store_name name;
    struct cached *c;

    if (base)
        store_name_parse(&scan->arena, base, NULL, &name);
    if (!base || !name.hash || strncmp(base, name.hash, STORE_HASH) != 0)
        return err_set(err, EINVAL, "'%s' is no path of store '%s'", path,
                       scan->cache_options->store);
    c = cache_scan_cached(scan, base);
    if (!c->base)
        c->base = arena_strdup(&scan->arena, base);
    c->named = true;
    return 0;
}

static int read_closure_file(struct cache_scan *scan, const char *path, struct err *err)
{
    struct closure_file file;
    int r = closure_file_read(path, scan->cache_options->store, &scan->arena, &file, err);

    for (size_t i = 0; r == 0 && i < file.n_paths; i++)
        r = want_path(scan, file.path[i].path, err);
    return r;
}

static void want_hash(void *data, const char *hash)
{
    cache_scan_cached(data, hash)->named = true;
}

static int want_given(struct cache_scan *scan, struct err *err)
{
    const struct scan_options *o = scan->options;
    int r = 0;

    scan->follow = !o->closure;
    if (!o->closure && o->n_paths == 0)
        return cache_list(scan->cache, want_hash, scan, err);
    if (o->closure)
        r = read_closure_file(scan, o->closure, err);
    for (size_t i = 0; i < o->n_paths && r == 0; i++)
        r = want_path(scan, o->path[i], err);
    return r;
}

/* ---- narinfos */

struct asked {
    uint32_t number;
    int code; /* 0, or why not */
    struct err err;
    struct narinfo info;
    struct arena arena;
};

static void *open_reader(void *data)
{
    return cache_reader_new(((const struct cache_scan *)data)->cache);
}

static void close_reader(void *data UNUSED, void *reader)
{
    cache_reader_free(reader);
}

static void *ask(void *data, void *reader, size_t job)
{
    const struct cache_scan *scan = data;
    struct asked *asked = calloc(1, sizeof(*asked));

    if (!asked)
        abort();
    asked->number = scan->round[job].number;
    asked->code =
        cache_info(reader, scan->round[job].hash, &asked->arena, &asked->info, &asked->err);
    return asked;
}

static void drop_asked(void *result)
{
    struct asked *asked = result;

    arena_release(&asked->arena);
    free(asked);
}

/* Only what is needed later, in the scan's own memory. */
static const struct narinfo *keep_info(struct cache_scan *scan, const struct narinfo *info)
{
    struct arena *a = &scan->arena;
    struct narinfo *kept = arena_alloc(a, sizeof(*kept));

    *kept = (struct narinfo){.base = arena_strdup(a, info->base),
                             .url = arena_strdup(a, info->url),
                             .compression = arena_strdup(a, info->compression),
                             .file_size = info->file_size,
                             .nar_hash = arena_strdup(a, info->nar_hash),
                             .nar_size = info->nar_size,
                             .deriver = info->deriver ? arena_strdup(a, info->deriver) : NULL,
                             .n_references = info->n_references};
    kept->reference = arena_calloc(a, info->n_references, sizeof(*kept->reference));
    for (size_t i = 0; i < info->n_references; i++) {
        struct cached *to = cache_scan_cached(scan, info->reference[i]);

        if (!to->base)
            to->base = arena_strdup(a, info->reference[i]);
        kept->reference[i] = to->base;
    }
    return kept;
}

static int take_info(struct cache_scan *scan, struct asked *asked, struct err *err)
{
    const struct narinfo *info = keep_info(scan, &asked->info);
    struct cached *c = &scan->cached[asked->number];
    const struct nix_path path = {.base = info->base,
                                  .nar_hash = info->nar_hash,
                                  .deriver = info->deriver,
                                  .nar_size = (int64_t)info->nar_size};

    if (c->base && strcmp(c->base, info->base) != 0)
        return err_set(err, EINVAL, "cache '%s' has '%s' where '%s' is asked for",
                       cache_url(scan->cache), info->base, c->base);
    c->base = info->base;
    c->info = info;
    return c->id ? index_know_package(scan->index, c->id, &path, err)
                 : index_add_package(scan->index, scan->store, c->base, &path, &c->id, err);
}

static int write_asked(void *data, void *result, struct err *err)
{
    struct cache_scan *scan = data;
    struct asked *asked = result;
    const struct cached *c = &scan->cached[asked->number];
    int r;

    if (asked->code == 0)
        r = take_info(scan, asked, err);
    else if (asked->code == -ENOENT && c->named && c->base)
        r = err_set(err, ENOENT, "'%s' is not in cache '%s'", c->base, cache_url(scan->cache));
    else
        r = cache_scan_count_failure(scan, asked->code, asked->err.text, err);
    if (r == 0 && asked->code < 0 && c->base)
        r = cache_scan_write_absent(scan, asked->number, asked->err.text, err);
    else if (r == 0 && asked->code < 0)
        r = err_set(err, -asked->code, "%s", asked->err.text);
    drop_asked(asked);
    progress_update(scan->options->progress, "narinfos", ++scan->n_done, scan->n_jobs);
    return r < 0 ? r : index_tick(scan->index, err);
}

/* ---- the closure */

static bool is_elsewhere(struct cache_scan *scan, const char *hash)
{
    return scan->options->shards && store_name_shard(arena_printf(&scan->arena, "%s-x", hash),
                                                     scan->options->shards) != scan->options->shard;
}

/* Want it; it is a job of the next round unless all is known of it. */
static void want(struct cache_scan *scan, uint32_t number)
{
    struct cached *c = &scan->cached[number];
    struct scan_result *result = &scan->result->scan;

    if (c->queued)
        return;
    c->queued = true;
    c->elsewhere = is_elsewhere(scan, c->hash);
    if (c->elsewhere)
        result->elsewhere++;
    else
        result->packages++;
    result->unchanged += !c->elsewhere && c->state == KNOWN_SCANNED && c->id;
    cache_scan_add_job(scan, number);
}

static void want_base(void *data, const char *base)
{
    struct cache_scan *scan = data;
    struct cached *c = cache_scan_cached(scan, base);

    if (!c->base)
        c->base = arena_strdup(&scan->arena, base);
    want(scan, (uint32_t)(c - scan->cached));
}

/* Of what was read earlier the index knows the references: those jobs need no asking. */
static int answer_known(struct cache_scan *scan, struct err *err)
{
    size_t kept = 0;
    int r = 0;

    for (size_t i = 0; i < scan->n_jobs && r == 0; i++) { /* it grows meanwhile */
        const uint32_t number = scan->job[i];
        const struct cached *c = &scan->cached[number];
        const bool known = c->id && c->state == KNOWN_SCANNED;

        if (known && scan->follow)
            r = index_references(scan->index, c->id, want_base, scan, err);
        if (!known)
            scan->job[kept++] = number;
    }
    scan->n_jobs = kept;
    return r;
}

int cache_scan_choose(struct cache_scan *scan, struct err *err)
{
    const struct work work = {.data = scan,
                              .reader_open = open_reader,
                              .reader_close = close_reader,
                              .read = ask,
                              .write = write_asked,
                              .drop = drop_asked};
    int r = want_given(scan, err);

    for (uint32_t i = 0; i < scan->n_cached && r == 0; i++)
        if (scan->cached[i].named)
            want(scan, i);
    while (r == 0 && scan->n_jobs) {
        uint32_t *round;
        size_t n;

        r = answer_known(scan, err);
        n = scan->n_jobs;
        round = arena_memdup(&scan->arena, scan->job, n * sizeof(*round));
        if (r == 0)
            r = cache_scan_work(scan, &work, err);
        scan->n_jobs = 0;
        for (size_t i = 0; i < n && r == 0 && scan->follow; i++) {
            const struct narinfo *info = scan->cached[round[i]].info;

            for (size_t k = 0; info && k < info->n_references; k++)
                want_base(scan, info->reference[k]);
        }
    }
    return r;
}

/* ---- directories that only run paths name */

struct search {
    struct cache_scan *scan;
    struct err *err;
    int error;
};

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_only(struct search *search, uint32_t number, const char *path)
{
    struct cache_scan *scan = search->scan;
    struct cached *c = &scan->cached[number];
    bool has = false;

    for (size_t i = 0; i < c->n_only; i++)
        if (strcmp(c->only[i], path) == 0)
            return;
    search->error = index_has_directory(scan->index, c->id, path, &has, search->err);
    if (search->error || has || (c->elsewhere && facts_always_keep(path)))
        return;
    c->only = arena_grow(&scan->arena, c->only, c->n_only, sizeof(*c->only));
    c->only[c->n_only++] = arena_strdup(&scan->arena, path);
}

/* The directory at `path` and all above it. */
static void add_search_dir(void *data, const char *path, bool known)
{
    struct search *search = data;
    struct cache_scan *scan = search->scan;
    CLEANUP(arena_release) struct arena a = {0};
    const char *below, *base, *slash;
    const struct cached *c;
    uint32_t number;
    bool has = false;

    base = search->error ? NULL : store_path_split(&a, scan->cache_options->store, path, &below);
    if (!base)
        return;
    c = cache_scan_cached(scan, base);
    number = (uint32_t)(c - scan->cached);
    if (!c->queued || !c->id || !c->base || strcmp(c->base, base) != 0 || c->unread ||
        (known && !c->written))
        return;
    search->error = index_has_directory(scan->index, c->id, below, &has, search->err);
    if (has)
        return;
    add_only(search, number, "");
    for (slash = strchr(below, '/'); slash && !search->error; slash = strchr(slash + 1, '/'))
        add_only(search, number, arena_strndup(&a, below, (size_t)(slash - below)));
    if (!search->error)
        add_only(search, number, below);
}

struct searched {
    uint32_t number;
    struct package_facts *facts;
    int code;
    struct err err;
};

static void *search_package(void *data, void *reader, size_t job)
{
    CLEANUP(arena_release) struct arena a = {0};
    const struct cache_scan *scan = data;
    struct searched *searched = calloc(1, sizeof(*searched));
    const struct cache_job *j = &scan->round[job];
    const struct narinfo *info = j->info;
    struct narinfo asked;
    struct cache_walk walk;

    if (!searched)
        abort();
    searched->number = j->number;
    if (!info) {
        searched->code = cache_info(reader, j->hash, &a, &asked, &searched->err);
        info = &asked;
    }
    if (searched->code == 0) {
        searched->facts = cache_walk(reader, info, &j->only, &walk);
        searched->code = walk.error;
        if (walk.error && searched->facts->n_problems)
            (void)err_set(&searched->err, -walk.error, "%s", searched->facts->problem[0].text);
    }
    return searched;
}

static void drop_searched(void *result)
{
    struct searched *searched = result;

    package_facts_free(searched->facts);
    free(searched);
}

/* What fails here ends the scan, unfinished: then the next one looks at all directories again. */
static int write_searched(void *data, void *result, struct err *err)
{
    struct cache_scan *scan = data;
    struct searched *searched = result;
    const struct cached *c = &scan->cached[searched->number];
    int r = 0;

    if (searched->code < 0)
        r = err_set(err, -searched->code, "'%s': %s", c->base, searched->err.text);
    else
        r = index_add_directories(scan->index, c->id, searched->facts, err);
    drop_searched(searched);
    return r < 0 ? r : index_tick(scan->index, err);
}

int cache_scan_search_dirs(struct cache_scan *scan, struct err *err)
{
    const struct work work = {.data = scan,
                              .reader_open = open_reader,
                              .reader_close = close_reader,
                              .read = search_package,
                              .write = write_searched,
                              .drop = drop_searched};
    struct search search = {scan, err, 0};
    int r = index_search_dirs(scan->index, add_search_dir, &search, err);

    if (r == 0)
        r = search.error;
    scan->n_jobs = 0;
    for (uint32_t i = 0; i < scan->n_cached && r == 0; i++) {
        struct cached *c = &scan->cached[i];

        if (c->n_only == 0)
            continue;
        qsort(c->only, c->n_only, sizeof(*c->only), compare_paths);
        cache_scan_add_job(scan, i);
    }
    return r < 0 ? r : cache_scan_work(scan, &work, err);
}
