/*
 * Which packages a scan is about, and what refers to what where no database tells.
 */
#include "scanner/scan_private.h"

#include "base/str.h"
#include "scanner/spack.h"
#include "scanner/store_name.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is told */

/* Largest id of the store's database for which references are taken from it. */
enum { NIX_ID_MAX = 1 << 28 };

/*
 * The store's own database. Without it nothing is registered. One that is there but busy or broken
 * is an error: to take what it knows for unregistered would index builds that are going on, and
 * forget what is known of the rest.
 */
static int ask_nix(struct scan *scan, struct err *err)
{
    const struct scan_options *o = scan->options;
    int64_t max = 0;

    int r;

    r = nix_db_paths(o->root, o->store, &scan->arena, &scan->nix, err);
    if (r == -EACCES)
        scan->result->database = *err;
    if (r < 0)
        return r == -EACCES || r == -ENOENT || r == -ENOTDIR ? 0 : r;
    scan->result->registered = scan->nix.n_paths > 0;
    for (size_t i = 0; i < scan->nix.n_paths; i++)
        if (scan->nix.path[i].id > max)
            max = scan->nix.path[i].id;
    if (max <= NIX_ID_MAX)
        scan->n_by_nix_id = (size_t)max + 1;
    scan->by_nix_id = calloc(scan->n_by_nix_id + 1, sizeof(*scan->by_nix_id));
    if (!scan->by_nix_id)
        abort();
    for (size_t i = 0; i < scan->nix.n_paths; i++) {
        struct candidate *c = scan_candidate(scan, scan->nix.path[i].base);

        c->path = &scan->nix.path[i];
        if (scan->n_by_nix_id)
            scan->by_nix_id[scan->nix.path[i].id] = scan_number(scan, c) + 1;
    }
    return 0;
}

static void ask_spack(struct scan *scan)
{
    const size_t n = scan->n_candidates;
    const char **base = arena_calloc(&scan->arena, n + 1, sizeof(*base));
    size_t n_present = 0;

    for (size_t i = 0; i < n; i++)
        if (scan->candidate[i].present)
            base[n_present++] = scan->candidate[i].base;
    spack_tree(scan->store_fd, scan->options->store, base, n_present, &scan->arena, &scan->told);
}

/* What a closure file tells of a path is what the database would have told. */
static void adopt_told(struct scan *scan)
{
    const struct closure_file *told = &scan->told;
    struct nix_path *path = arena_calloc(&scan->arena, told->n_paths + 1, sizeof(*path));

    for (size_t i = 0; i < told->n_paths; i++) {
        const struct closure_path *from = &told->path[i];

        path[i] = (struct nix_path){.base = str_base(from->path),
                                    .nar_hash = from->nar_hash,
                                    .deriver = from->deriver,
                                    .nar_size = from->nar_size};
        scan_candidate(scan, path[i].base)->path = &path[i];
    }
}

int scan_ask_store(struct scan *scan, struct err *err)
{
    int r = 0;

    if (!scan->told.refers)
        r = ask_nix(scan, err);
    else if (strcmp(scan->told.format, "spack") != 0)
        adopt_told(scan);
    if (r == 0 && !scan->told.format && !scan->result->registered)
        ask_spack(scan);
    return r;
}

/* ---- closures by what is told */

static void add_pair(struct graph *g, uint32_t from, uint32_t to)
{
    if (g->n == g->size) {
        g->size = g->size ? g->size * 2 : 4096;
        g->pair = realloc(g->pair, g->size * sizeof(*g->pair));
        if (!g->pair)
            abort();
    }
    g->pair[g->n++] = (struct pair){from, to};
}

static void told_pairs(struct scan *scan, struct graph *g)
{
    const struct closure_file *told = &scan->told;

    for (size_t i = 0; i < told->n_paths; i++) {
        const uint32_t from = scan_number(scan, scan_candidate(scan, str_base(told->path[i].path)));

        for (size_t k = 0; k < told->path[i].n_references; k++)
            add_pair(g, from, scan_number(scan, scan_candidate(scan, told->path[i].reference[k])));
    }
}

/* References of the database, from its ids to candidates. */
struct by_id {
    const struct scan *scan;
    struct graph *graph;
};

static void refer_by_id(void *data, int64_t referrer, int64_t reference)
{
    const struct by_id *by = data;
    const struct scan *scan = by->scan;
    uint32_t from, to;

    if (referrer < 0 || reference < 0 || (size_t)referrer >= scan->n_by_nix_id ||
        (size_t)reference >= scan->n_by_nix_id)
        return;
    from = scan->by_nix_id[referrer];
    to = scan->by_nix_id[reference];
    if (from && to)
        add_pair(by->graph, from - 1, to - 1);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    const int r = (x->from > y->from) - (x->from < y->from);

    return r ? r : (x->to > y->to) - (x->to < y->to);
}

int scan_graph(struct scan *scan, struct graph *ret_graph, struct err *err)
{
    struct graph g = {0};
    struct by_id by = {scan, &g};
    int r = 0;

    if (scan->told.refers)
        told_pairs(scan, &g);
    else if (scan->result->registered)
        r = nix_db_references(scan->options->root, scan->options->store, refer_by_id, &by, err);
    if (r < 0) {
        free(g.pair);
        return r;
    }
    if (g.n)
        qsort(g.pair, g.n, sizeof(*g.pair), compare_pairs);
    *ret_graph = g;
    return 0;
}

/* First pair of `from` in the sorted graph. */
static size_t first_pair(const struct graph *g, uint32_t from)
{
    size_t low = 0, high = g->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (g->pair[middle].from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Want everything that the wanted candidates refer to, and that is there. */
static void spread(struct scan *scan, const struct graph *g)
{
    uint32_t *todo = calloc(scan->n_candidates + 1, sizeof(*todo));
    size_t n = 0;

    if (!todo)
        abort();
    for (uint32_t i = 0; i < scan->n_candidates; i++)
        if (scan->candidate[i].wanted)
            todo[n++] = i;
    while (n) {
        const uint32_t from = todo[--n];

        for (size_t i = first_pair(g, from); i < g->n && g->pair[i].from == from; i++) {
            struct candidate *to = &scan->candidate[g->pair[i].to];

            if (!to->wanted && (to->present || to->path))
                todo[n++] = g->pair[i].to;
            to->wanted |= to->present || to->path;
        }
    }
    free(todo);
}

int scan_spread(struct scan *scan, struct err *err)
{
    struct graph g = {0};
    const int r = scan_graph(scan, &g, err);

    if (r == 0)
        spread(scan, &g);
    free(g.pair);
    return r;
}

/* ---- the choice */

/* The package of a path given by the user: in the store, or leading there by links. */
static const char *given_package(struct scan *scan, const char *path)
{
    char real[PATH_MAX];
    const char *base =
        store_path_split(&scan->arena, scan->options->store, path, &(const char *){NULL});

    if (base || strcmp(scan->options->root, "/") != 0 || !realpath(path, real))
        return base;
    return store_path_split(&scan->arena, scan->options->store, real, &(const char *){NULL});
}

static int want_given(struct scan *scan, const char *path, struct err *err)
{
    const char *base = given_package(scan, path);
    struct candidate *c;

    if (!base)
        return err_set(err, EINVAL, "'%s' is not in store '%s'", path, scan->options->store);
    c = scan_candidate(scan, base);
    if (!c->present && scan->options->skips_absent) {
        scan->result->absent++;
        return 0;
    }
    if (!c->present)
        return err_set(err, ENOENT, "'%s': no such package in store '%s'", base,
                       scan->options->store);
    c->wanted = true;
    return 0;
}

int scan_read_closure(struct scan *scan, struct err *err)
{
    const struct scan_options *o = scan->options;

    if (!o->closure)
        return 0;
    return closure_file_read(o->closure, o->store, &scan->arena, &scan->told, err);
}

static void want_all(struct scan *scan)
{
    for (size_t i = 0; i < scan->n_candidates; i++) {
        struct candidate *c = &scan->candidate[i];

        /* what was asked for by name once stays, registered or not */
        c->wanted = c->present && (c->path || !scan->result->registered ||
                                   (c->id && !c->nar_hash && c->state != KNOWN_GONE));
        scan->result->unregistered += c->present && !c->wanted;
    }
}

/* Others read the other shards. */
static void leave_others(struct scan *scan)
{
    for (size_t i = 0; i < scan->n_candidates; i++) {
        struct candidate *c = &scan->candidate[i];

        if (!c->wanted || store_name_shard(c->base, scan->options->shards) == scan->options->shard)
            continue;
        c->wanted = false;
        c->elsewhere = true;
        scan->result->elsewhere++;
    }
}

int scan_choose(struct scan *scan, struct err *err)
{
    const struct scan_options *o = scan->options;
    int r = 0;

    scan->result->references = o->closure                 ? "closure file"
                               : scan->result->registered ? "database"
                               : scan->told.n_paths       ? "spack"
                                                          : "run paths";
    scan->listed = o->closure != NULL;
    scan->closure = scan->listed || o->n_paths;
    if (o->shards && scan->closure && !scan->listed && !scan->result->registered &&
        !scan->told.refers)
        return err_set(err, EINVAL,
                       "a shard of a closure needs the store's database, which store '%s' has not, "
                       "or a closure file",
                       o->store);
    if (!scan->closure)
        want_all(scan);
    for (size_t i = 0; scan->listed && i < scan->told.n_paths && r == 0; i++)
        r = want_given(scan, scan->told.path[i].path, err);
    for (size_t i = 0; i < o->n_paths && r == 0; i++)
        r = want_given(scan, o->path[i], err);
    if (r == 0 && scan->closure && !scan->listed)
        r = scan_spread(scan, err);
    if (r == 0 && o->shards)
        leave_others(scan);
    return r;
}

/* ---- references that nobody registered */

struct referrer {
    struct scan *scan;
    uint32_t number;
    struct arena *arena;
    struct err *err;
    int error;
};

static void refer(struct referrer *by, const char *base)
{
    struct scan *scan = by->scan;
    struct candidate *to;

    if (by->error)
        return;
    to = scan_candidate(scan, base);
    if (to->elsewhere)
        by->error = scan_name(scan, scan_number(scan, to), by->err);
    else if (to->present && scan->closure && !scan->listed && !scan->options->shards)
        by->error = scan_want(scan, to, by->err);
    to = scan_candidate(scan, base);
    if (by->error == 0 && to->id && to->present)
        by->error =
            index_add_reference(scan->index, scan->candidate[by->number].id, to->id, by->err);
}

static void refer_path(struct referrer *by, const char *path)
{
    const char *below, *base;

    base = path && path[0] == '/'
               ? store_path_split(by->arena, by->scan->options->store, path, &below)
               : NULL;
    if (base)
        refer(by, base);
}

static void refer_run_path(struct referrer *by, const char *path)
{
    while (path && *path) {
        const size_t len = strcspn(path, ":");

        refer_path(by, arena_strndup(by->arena, path, len));
        path += len + (path[len] == ':');
    }
}

int scan_own_references(struct scan *scan, uint32_t number, const struct package_facts *facts,
                        struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct referrer by = {scan, number, &arena, err, 0};

    for (size_t i = 0; i < facts->n_links; i++)
        refer(&by, facts->link[i]);
    for (size_t d = 0; d < facts->n_dirs; d++)
        for (size_t i = 0; i < facts->dir[d].n_objects; i++) {
            const struct object *o = facts->dir[d].object[i].object;

            refer_path(&by, o->interp);
            refer_run_path(&by, o->rpath);
            refer_run_path(&by, o->runpath);
            for (size_t k = 0; k < o->n_needs; k++)
                refer_path(&by, o->need[k].name);
        }
    return by.error;
}

static void refer_known(void *data, const char *base)
{
    struct referrer *by = data;
    struct candidate *to = scan_candidate(by->scan, base);

    if (by->error == 0 && to->present && !by->scan->listed && !by->scan->options->shards)
        by->error = scan_want(by->scan, to, by->err);
}

int scan_known_references(struct scan *scan, uint32_t number, struct err *err)
{
    struct referrer by = {.scan = scan, .number = number, .err = err};
    const int r = index_references(scan->index, scan->candidate[number].id, refer_known, &by, err);

    return r < 0 ? r : by.error;
}

/* ---- directories that only run paths name */

struct search {
    struct scan *scan;
    struct walker *walker;
    struct arena *arena;
    struct err *err;
    int error;
};

/*
 * Keep the directory `path` of a package if it is one. False: nothing below it can be there. Of a
 * package that others read, only what they will not keep by themselves.
 */
static bool keep_directory(struct search *search, const struct candidate *c, const char *path)
{
    struct scan *scan = search->scan;
    struct package_facts *f;
    bool has = false, there;

    if (c->elsewhere && facts_always_keep(path))
        return true;

    search->error = index_has_directory(scan->index, c->id, path, &has, search->err);
    if (search->error || has)
        return has;
    f = walk_directory(search->walker, scan->store_fd, c->base, path);
    there = f->n_dirs > 0;
    if (there && (!c->elsewhere || f->dir[0].n_objects == 0))
        search->error = index_add_directories(scan->index, c->id, f, search->err);
    package_facts_free(f);
    return there;
}

/* Has the index lost what it knew of the package's directories, or never had it? */
static bool may_lack(const struct candidate *c)
{
    return c->written || (c->elsewhere && c->state == KNOWN_GONE);
}

static void keep_search_dir(void *data, const char *path, bool known)
{
    struct search *search = data;
    const char *base, *below, *slash;
    const struct candidate *c;
    bool has = false;

    base = search->error
               ? NULL
               : store_path_split(search->arena, search->scan->options->store, path, &below);
    if (!base)
        return;
    c = scan_candidate(search->scan, base);
    if (known && !may_lack(c))
        return;
    if (c->elsewhere)
        search->error = scan_name(search->scan, scan_number(search->scan, c), search->err);
    if (search->error || !c->id || !c->present || !(c->queued || c->elsewhere))
        return;
    search->error = index_has_directory(search->scan->index, c->id, below, &has, search->err);
    if (search->error || has)
        return;
    for (slash = below; slash; slash = strchr(slash + (*slash == '/'), '/')) {
        const size_t len = slash == below ? 0 : (size_t)(slash - below);

        if (!keep_directory(search, c, arena_strndup(search->arena, below, len)) || !*below)
            return;
    }
    (void)keep_directory(search, c, below);
}

int scan_search_dirs(struct scan *scan, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct search search = {scan, walker_new(scan->options->store), &arena, err, 0};
    int r;

    r = index_search_dirs(scan->index, keep_search_dir, &search, err);
    walker_free(search.walker);
    return r < 0 ? r : search.error;
}
