/*
 * A closure out of files as they are.
 */
#include "linter/closure.h"

#include "scanner/nix_db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 4 * 1000 * 1000 };

static const char *const stores[] = {"/nix/store", "/gnu/store"};

/* ---- references, by the store's database */

struct id_at {
    int64_t id;
    size_t at;
};

static int by_id(const void *a, const void *b)
{
    const struct id_at *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

struct by_ids {
    struct closure *closure;
    struct id_at *row;
    struct lint_package **package;
    size_t n;
};

static struct lint_package *by_row(const struct by_ids *ids, int64_t id)
{
    const struct id_at key = {.id = id};
    const struct id_at *row = bsearch(&key, ids->row, ids->n, sizeof(key), by_id);

    return row ? ids->package[row->at] : NULL;
}

static void add_reference(void *data, int64_t referrer, int64_t reference)
{
    const struct by_ids *ids = data;
    struct lint_package *from = by_row(ids, referrer), *to = by_row(ids, reference);

    if (from && to)
        closure_add_reference(ids->closure, from, to);
}

/* Everything the database of `store` tells. A store without one has no registered packages. */
static int read_store(struct closure *c, const char *root, const char *store, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct by_ids ids = {.closure = c};
    struct nix_db db = {0};
    struct err why;
    int r = nix_db_paths(root, store, &arena, &db, &why);

    if (r == -ENOENT || (r == 0 && db.n_paths == 0))
        return 0;
    if (r < 0)
        return err_set(err, -r, "%s", why.text);
    ids.n = db.n_paths;
    ids.row = arena_calloc(&arena, ids.n, sizeof(*ids.row));
    ids.package = arena_calloc(&arena, ids.n, sizeof(struct lint_package *));
    for (size_t i = 0; i < ids.n; i++) {
        ids.row[i] = (struct id_at){db.path[i].id, i};
        ids.package[i] = closure_add_package(c, store, db.path[i].base);
        ids.package[i]->registered = true;
    }
    qsort(ids.row, ids.n, sizeof(*ids.row), by_id);
    return nix_db_references(root, store, add_reference, &ids, err);
}

/* ---- files */

struct walk {
    struct closure *closure;
    struct node **dir; /* still to be looked into */
    size_t n_dirs, n_entries;
};

static void keep_dir(struct walk *walk, struct node *dir)
{
    walk->dir = arena_grow(&walk->closure->arena, walk->dir, walk->n_dirs, sizeof(struct node *));
    walk->dir[walk->n_dirs++] = dir;
}

static int look_into(struct walk *walk, struct node *dir, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct world *world = walk->closure->world;
    const char **name = NULL;
    size_t n = 0;
    const int r = world_names(world, dir, &arena, &name, &n);

    if (r < 0) {
        const char *path = world_path(&walk->closure->arena, dir);
        const struct lint_problem problem = {.package = closure_package_of(walk->closure, path),
                                             .path = path,
                                             .text = strerror(-r),
                                             .unread = true};

        closure_add_problem(walk->closure, &problem);
        return 0;
    }
    walk->n_entries += n;
    if (walk->n_entries > MAX_ENTRIES)
        return err_set(err, E2BIG, "'%s': too many files; scan them into an index",
                       world_path(&walk->closure->arena, dir));
    for (size_t i = 0; i < n; i++) {
        struct node *node = world_child(world, dir, intern(world->names, name[i]));

        if (node && node->kind == NODE_DIR)
            keep_dir(walk, node);
        else if (node)
            closure_add_file(walk->closure, node);
    }
    return 0;
}

static int walk_below(struct closure *c, struct node *top, struct err *err)
{
    struct walk walk = {.closure = c};
    int r = 0;

    if (top->kind != NODE_DIR) {
        closure_add_file(c, top);
        return 0;
    }
    keep_dir(&walk, top);
    while (walk.n_dirs && r == 0)
        r = look_into(&walk, walk.dir[--walk.n_dirs], err);
    return r;
}

/* ---- the scope */

/* The package of a path, made known when the store's database does not have it. */
static struct lint_package *package_at(struct closure *c, const char *real)
{
    struct lint_package *p = closure_package_of(c, real);

    for (size_t i = 0; !p && i < c->n_stores; i++) {
        const size_t len = strlen(c->store[i]);

        if (!strncmp(real, c->store[i], len) && real[len] == '/') {
            const char *base = real + len + 1;

            p = closure_add_package(c, c->store[i],
                                    arena_strndup(&c->arena, base, strcspn(base, "/")));
        }
    }
    return p;
}

static int add_path(struct closure *c, const char *path, bool whole, struct err *err)
{
    const struct place at = world_walk(c->world, NULL, path);
    struct lint_package *p;
    const char *real;

    if (at.error)
        return err_set(err, at.error, "'%s': %s", path, strerror(at.error));
    real = world_path(&c->arena, at.node);
    p = package_at(c, real);
    if (p)
        p->selected = true;
    else if (whole)
        return err_set(err, ENODATA, "'%s' is in no store: it has no closure", path);
    if (whole && !p->registered)
        return err_set(err, ENODATA,
                       "references of '%s' are not known to the store's database: scan it, and "
                       "lint the index",
                       path);
    return whole ? 0 : walk_below(c, at.node, err);
}

static int add_packages(struct closure *c, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < c->n_packages && r == 0; i++) {
        const struct place at = world_walk(c->world, NULL, c->package[i]->path);

        if (!c->package[i]->selected)
            continue;
        if (at.error)
            r = err_set(err, at.error, "'%s': %s", c->package[i]->path, strerror(at.error));
        else
            r = walk_below(c, at.node, err);
    }
    return r;
}

int closure_live(struct closure *closure, const struct lint_scope *scope, struct err *err)
{
    const char *const *store;
    int r = 0;

    closure->live = true;
    for_each (store, stores) {
        closure_add_store(closure, *store);
        if ((r = read_store(closure, scope->root, *store, err)) < 0)
            return r;
    }
    for (size_t i = 0; i < scope->n_paths && r == 0; i++)
        r = add_path(closure, scope->path[i], scope->closure, err);
    if (r == 0 && scope->closure) {
        closure_spread(closure);
        r = add_packages(closure, err);
    }
    closure_finish(closure);
    return r;
}
