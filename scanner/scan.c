#include "scanner/scan_private.h"

#include "base/str.h"
#include "base/workq.h"
#include "scanner/store_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- candidates */

struct candidate *scan_candidate(struct scan *scan, const char *base)
{
    const struct name *name = intern(scan->bases, base);

    if (name->id == scan->n_candidates) {
        if (scan->n_candidates == scan->size_candidates) {
            scan->size_candidates = scan->size_candidates ? scan->size_candidates * 2 : 1024;
            scan->candidate =
                realloc(scan->candidate, scan->size_candidates * sizeof(*scan->candidate));
            if (!scan->candidate)
                abort();
        }
        scan->candidate[scan->n_candidates++] = (struct candidate){.base = name->text};
    }
    return &scan->candidate[name->id];
}

static void add_known(void *data, const struct known_package *package)
{
    struct scan *scan = data;
    struct candidate *c = scan_candidate(scan, package->base);

    c->id = package->id;
    c->state = package->state;
    c->mark = package->mark;
    c->nar_hash = package->nar_hash ? arena_strdup(&scan->arena, package->nar_hash) : NULL;
}

struct listed {
    const char **base;
    size_t n;
};

static int by_base(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The entries of the store's directory, in `arena`. 0 or -errno. */
static int read_names(const struct scan *scan, struct arena *arena, struct listed *ret)
{
    const int fd = dup(scan->store_fd);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    int error;

    if (!dir) {
        error = errno;
        if (fd >= 0)
            (void)close(fd);
        return -error;
    }
    while ((errno = 0, e = readdir(dir)))
        if (!store_name_is_internal(e->d_name)) {
            ret->base = arena_grow(arena, ret->base, ret->n, sizeof(*ret->base));
            ret->base[ret->n++] = arena_strdup(arena, e->d_name);
        }
    error = errno;
    (void)closedir(dir);
    return -error;
}

/*
 * Candidates are numbered, and thereby packages of a first scan, in the order of their names: what
 * the index keeps by name is written, and read again, from one end to the other.
 */
static int list_store(struct scan *scan, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct listed listed = {0};
    const int r = read_names(scan, &arena, &listed);

    if (r < 0)
        return err_set(err, -r, "store '%s': %s", scan->options->store, strerror(-r));
    if (listed.n > 1)
        qsort(listed.base, listed.n, sizeof(*listed.base), by_base);
    for (size_t i = 0; i < listed.n; i++)
        scan_candidate(scan, listed.base[i])->present = true;
    return 0;
}

/* ---- what has to be read */

/* Is it known for certain that nothing has changed? Marks are compared later, by the readers. */
static bool is_unchanged(const struct candidate *c)
{
    return c->id && c->state == KNOWN_SCANNED && c->path && c->path->nar_hash &&
           str_same(c->nar_hash, c->path->nar_hash);
}

int scan_name(struct scan *scan, uint32_t number, struct err *err)
{
    struct candidate *c = &scan->candidate[number];

    if (c->id)
        return 0;
    return index_add_package(scan->index, scan->store, c->base, c->path, &c->id, err);
}

int scan_want(struct scan *scan, struct candidate *c, struct err *err)
{
    int r = 0;

    if (c->queued)
        return 0;
    c->wanted = c->queued = true;
    scan->result->packages++;
    if (is_unchanged(c)) {
        scan->result->unchanged++;
        return 0;
    }
    r = scan_name(scan, scan_number(scan, c), err);
    if (scan->n_jobs == scan->size_jobs) {
        scan->size_jobs = scan->size_jobs ? scan->size_jobs * 2 : 1024;
        scan->job = realloc(scan->job, scan->size_jobs * sizeof(*scan->job));
        if (!scan->job)
            abort();
    }
    scan->job[scan->n_jobs++] = scan_number(scan, c);
    return r;
}

static int queue_wanted(struct scan *scan, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < scan->n_candidates && r == 0; i++)
        if (scan->candidate[i].wanted)
            r = scan_want(scan, &scan->candidate[i], err);
    return r;
}

/* Known packages that are not there any more, or that their database knows no more. */
static bool is_gone(const struct scan *scan, const struct candidate *c)
{
    if (!c->id || c->state == KNOWN_GONE)
        return false;
    return !c->present || (scan->result->registered && c->nar_hash && !c->path);
}

static int forget_gone(struct scan *scan, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < scan->n_candidates && r == 0; i++) {
        struct candidate *c = &scan->candidate[i];

        if (!is_gone(scan, c))
            continue;
        r = index_forget_package(scan->index, c->id, err);
        c->state = KNOWN_GONE;
        c->wanted = false;
        scan->result->gone++;
    }
    return r;
}

/* ---- readers and writer */

static void *open_walker(void *data)
{
    return walker_new(((struct scan *)data)->options->store);
}

static void close_walker(void *data UNUSED, void *walker)
{
    walker_free(walker);
}

static void *read_package(void *data, void *walker, size_t job)
{
    const struct scan *scan = data;
    const struct job *j = &scan->round[job];
    struct package_facts *facts =
        walk_package(walker, scan->store_fd, j->base, !j->registered, j->known_mark);

    facts->number = j->number;
    return facts;
}

static void drop_facts(void *facts)
{
    package_facts_free(facts);
}

static int write_facts(struct scan *scan, struct package_facts *f, struct err *err)
{
    const uint32_t number = f->number;
    struct candidate *c = &scan->candidate[number];
    struct scan_result *result = scan->result;
    int r;

    if (f->state == PACKAGE_UNCHANGED) {
        result->unchanged++;
        return scan->closure ? scan_known_references(scan, number, err) : 0;
    }
    if (f->state == PACKAGE_GONE) {
        result->gone++;
        return index_forget_package(scan->index, c->id, err);
    }
    c->written = true;
    c->incomplete = f->state == PACKAGE_INCOMPLETE;
    result->scanned++;
    result->incomplete += c->incomplete;
    r = index_write_package(scan->index, c->id, f, c->path ? c->path->nar_hash : NULL,
                            c->state != KNOWN_NEW, err);
    if (r == 0 && !c->path)
        r = scan_own_references(scan, number, f, err);
    return r;
}

static int write_package(void *data, void *facts, struct err *err)
{
    struct scan *scan = data;
    const int r = write_facts(scan, facts, err);

    package_facts_free(facts);
    scan->n_written++;
    progress_update(scan->options->progress, "packages",
                    scan->result->packages - scan->n_jobs + scan->n_written,
                    scan->result->packages);
    return r < 0 ? r : index_tick(scan->index, err);
}

/* Nothing to write: what is done might as well be safe. */
static int when_idle(void *data, struct err *err)
{
    return index_tick(((struct scan *)data)->index, err);
}

/* Largest first, where the size is known: so no reader is left alone with a large one at the end.
 */
static int compare_jobs(const void *a, const void *b)
{
    const struct job *x = a, *y = b;

    return (x->size < y->size) - (x->size > y->size);
}

/* What readers are told: they share it, while the writer adds candidates. */
static const struct job *make_round(struct scan *scan, size_t n)
{
    struct job *round = arena_calloc(&scan->arena, n, sizeof(*round));

    for (size_t i = 0; i < n; i++) {
        const uint32_t number = scan->job[scan->n_done + i];
        const struct candidate *c = &scan->candidate[number];

        round[i] = (struct job){c->base, number, c->state == KNOWN_SCANNED ? c->mark : 0,
                                c->path ? c->path->nar_size : 0, c->path && c->path->nar_hash};
    }
    qsort(round, n, sizeof(*round), compare_jobs);
    return round;
}

/* Read what is queued, round by round: what is read may refer to more. */
static int read_packages(struct scan *scan, struct err *err)
{
    const struct work work = {.data = scan,
                              .reader_open = open_walker,
                              .reader_close = close_walker,
                              .read = read_package,
                              .write = write_package,
                              .idle = when_idle,
                              .drop = drop_facts};
    int r = 0;

    while (scan->n_done < scan->n_jobs && r == 0) {
        const size_t n = scan->n_jobs - scan->n_done;

        scan->round = make_round(scan, n);
        r = index_flush(scan->index, err); /* the rows of what is about to be read */
        if (r == 0)
            r = work_run(&work, n, scan->options->readers, err);
        scan->n_done += n;
        if (r == 0 && scan->closure && !scan->listed && !scan->options->shards)
            r = scan_spread(scan, err);
        if (r == 0)
            r = queue_wanted(scan, err);
    }
    return r;
}

/* What is registered and about to be read is not to be collected meanwhile, where that is possible. */
static void hold_queued(struct scan *scan)
{
    const char **base = arena_calloc(&scan->arena, scan->n_jobs + 1, sizeof(*base));
    size_t n = 0;

    for (size_t i = 0; scan->result->registered && i < scan->n_jobs; i++)
        if (scan->candidate[scan->job[i]].path)
            base[n++] = scan->candidate[scan->job[i]].base;
    if (n)
        scan->roots = temp_roots_hold(scan->options->root, scan->options->store, base, n);
}

/* ---- afterwards */

static int add_told_reference(struct scan *scan, const struct pair *pair, struct err *err)
{
    const struct candidate *by = &scan->candidate[pair->from];
    int r;

    if (!by->written)
        return 0;
    if (scan->candidate[pair->to].elsewhere && (r = scan_name(scan, pair->to, err)) < 0)
        return r;
    if (!scan->candidate[pair->to].id)
        return 0;
    return index_add_reference(scan->index, by->id, scan->candidate[pair->to].id, err);
}

/* In the order of candidates, which is mostly that of packages, and of the table. */
static int add_references(struct scan *scan, struct err *err)
{
    struct graph g = {0};
    int r;

    if (scan->result->scanned == 0)
        return 0;
    r = scan_graph(scan, &g, err);
    for (size_t i = 0; i < g.n && r == 0; i++)
        r = add_told_reference(scan, &g.pair[i], err);
    free(g.pair);
    return r;
}

static int forget_written(struct scan *scan, struct candidate *c, struct err *err)
{
    scan->result->scanned--;
    scan->result->incomplete -= c->incomplete;
    scan->result->gone++;
    c->written = c->incomplete = false;
    c->state = KNOWN_GONE;
    return index_forget_package(scan->index, c->id, err);
}

/*
 * A collector unregisters a path, then deletes it, file by file. What is registered as it was when
 * all has been read was whole while it was read; the rest may have been anything. With temporary
 * roots there is no rest.
 */
static int forget_collected(struct scan *scan, struct err *err)
{
    const struct nix_path **path = arena_calloc(&scan->arena, scan->nix.n_paths, sizeof(*path));
    bool *same = arena_calloc(&scan->arena, scan->nix.n_paths, sizeof(*same));
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; i < scan->nix.n_paths && !scan->roots; i++)
        if (scan_candidate(scan, scan->nix.path[i].base)->written)
            path[n++] = &scan->nix.path[i];
    if (n)
        r = nix_db_same(scan->options->root, scan->options->store, path, n, same, err);
    for (size_t i = 0; i < n && r == 0; i++)
        if (!same[i])
            r = forget_written(scan, scan_candidate(scan, path[i]->base), err);
    return r;
}

static int identify(void *data, const char *path, struct identity *ret)
{
    struct scan *scan = data;
    struct stat st;

    if (fstatat(scan->store_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    ret->dev = st.st_dev;
    ret->ino = st.st_ino;
    ret->nlink = st.st_nlink;
    ret->changed = (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
    return 0;
}

/*
 * Optimising a store replaces files by hard links, which changes the store's directory and the
 * file's: while the first is as it was, nothing has happened.
 */
static int refresh_inodes(struct scan *scan, struct err *err)
{
    int r = 0;

    if (scan->store_changed == scan->store_changed_before)
        return 0;
    /* what was read in this scan came with its inodes */
    if (scan->result->unchanged || scan->result->elsewhere)
        r = index_refresh_inodes(scan->index, scan->store, identify, scan, &scan->result->refreshed,
                                 err);
    if (r == 0 && !scan->closure && scan->result->incomplete == 0)
        r = index_set_store(scan->index, scan->store, scan->store_changed, err);
    return r;
}

/* Say which part of the store's directory is in the index now. */
static int note_part(struct scan *scan, bool *ret_changed, struct err *err)
{
    const struct scan_options *o = scan->options;
    const struct scan_result *result = scan->result;
    struct part part = {.place = scan->place, .shards = 1, .shard = 1};

    if (scan->closure || result->unregistered || result->incomplete)
        part.shards = part.shard = 0;
    else if (o->shards)
        part.shards = o->shards, part.shard = o->shard;
    part.adds = scan->closure || (o->shards && scan->store_changed == scan->store_changed_before);
    return index_note_part(scan->index, scan->store, &part, ret_changed, err);
}

static int finish(struct scan *scan, struct err *err)
{
    const struct scan_result *result = scan->result;
    bool parted = false;
    int r = add_references(scan, err);

    if (r == 0)
        r = scan_search_dirs(scan, err);
    if (r == 0)
        r = forget_collected(scan, err);
    if (r == 0)
        r = refresh_inodes(scan, err);
    if (r == 0)
        r = note_part(scan, &parted, err);
    return r < 0
               ? r
               : index_finish(scan->index,
                              result->scanned || result->gone || result->refreshed || parted, err);
}

/* ---- the passes */

/* Which directory it is, whatever its name: no two that ever were have all of this in common. */
static void name_place(struct scan *scan)
{
    struct statx st = {0};

    (void)statx(scan->store_fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st);
    (void)snprintf(scan->place, sizeof(scan->place), "%x:%x:%llu:%lld.%09u", st.stx_dev_major,
                   st.stx_dev_minor, (unsigned long long)st.stx_ino, (long long)st.stx_btime.tv_sec,
                   st.stx_btime.tv_nsec);
}

static int open_store(struct scan *scan, struct err *err)
{
    const struct scan_options *o = scan->options;
    const char *path = strcmp(o->root, "/") == 0
                           ? o->store
                           : arena_printf(&scan->arena, "%s%s", o->root, o->store);
    struct stat st;
    int r;

    scan->store_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scan->store_fd < 0 || fstat(scan->store_fd, &st) < 0)
        return err_set(err, errno, "store '%s': %s", path, strerror(errno));
    scan->store_changed = (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
    name_place(scan);
    r = index_store(scan->index, o->store, o->root, &scan->store, &scan->store_changed_before, err);
    return r;
}

static int run_passes(struct scan *scan, struct err *err)
{
    int r = open_store(scan, err);

    if (r == 0)
        r = index_packages(scan->index, scan->store, add_known, scan, err);
    if (r == 0)
        r = list_store(scan, err);
    if (r == 0)
        r = scan_read_closure(scan, err);
    if (r < 0)
        return r;
    r = scan_ask_store(scan, err);
    if (r == 0)
        r = scan_choose(scan, err);
    if (r == 0)
        r = forget_gone(scan, err);
    if (r == 0)
        r = queue_wanted(scan, err);
    if (r == 0)
        hold_queued(scan);
    if (r == 0)
        r = read_packages(scan, err);
    return r < 0 ? r : finish(scan, err);
}

int scan_run(struct db *db, const struct scan_options *options, struct scan_result *ret_result,
             struct err *err)
{
    struct scan_result result = {0};
    struct scan scan = {.options = options, .result = &result, .store_fd = -1};
    int r;

    scan.bases = intern_new();
    r = index_open(db, &scan.index, err);
    if (r == 0)
        r = run_passes(&scan, err);
    index_close(scan.index);
    temp_roots_drop(scan.roots);
    if (scan.store_fd >= 0)
        (void)close(scan.store_fd);
    intern_free(scan.bases);
    free(scan.candidate);
    free(scan.by_nix_id);
    free(scan.job);
    arena_release(&scan.arena);
    if (r == 0)
        *ret_result = result;
    return r;
}
