#include "scanner/gc.h"

#include "base/str.h"
#include "scanner/index.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct gone_store {
    int64_t id;
    const char *path; /* where its directory is on this machine ... */
    bool here;        /* ... if it was read in one */
};

struct collecting {
    struct arena arena;
    struct gone_store *store;
    size_t n_stores;
    const char *in; /* the store being looked at */
    int64_t *gone;  /* packages */
    size_t n_gone, n_packages;
    int error; /* of the first path that cannot be looked at */
};

static void keep_store(void *data, int64_t store, const char *path, const char *root)
{
    struct collecting *c = data;

    c->store = arena_grow(&c->arena, c->store, c->n_stores, sizeof(*c->store));
    c->store[c->n_stores++] = (struct gone_store){
        store, arena_printf(&c->arena, "%s%s", strcmp(root, "/") ? root : "", path),
        root[0] == '/'};
}

static void look_at(void *data, const struct known_package *package)
{
    struct collecting *c = data;
    struct stat st;

    c->n_packages++;
    if (package->state != KNOWN_GONE && lstat(str_join(&c->arena, c->in, package->base), &st) == 0)
        return;
    if (package->state != KNOWN_GONE && errno != ENOENT) {
        c->error = c->error ? c->error : errno;
        return;
    }
    c->gone = arena_grow(&c->arena, c->gone, c->n_gone, sizeof(*c->gone));
    c->gone[c->n_gone++] = package->id;
}

static int collect(struct index *index, struct collecting *c, struct err *err)
{
    int r = index_stores(index, keep_store, c, err);

    for (size_t i = 0; i < c->n_stores && r == 0; i++) {
        struct stat st;

        c->in = c->store[i].path;
        if (!c->store[i].here)
            return err_set(err, EINVAL,
                           "store '%s' was not read in one directory of this machine: nothing is "
                           "dropped",
                           c->in);
        if (stat(c->in, &st) < 0)
            return err_set(err, errno, "store '%s': %s: nothing is dropped", c->in,
                           strerror(errno));
        r = index_packages(index, c->store[i].id, look_at, c, err);
        if (r == 0 && c->error)
            r = err_set(err, c->error, "store '%s': %s", c->in, strerror(c->error));
    }
    return r;
}

int gc_run(struct db *db, bool dry, struct gc_result *ret_result, struct err *err)
{
    CLEANUP(index_closep) struct index *index = NULL;
    struct collecting c = {0};
    int r = index_open(db, &index, err);

    if (r == 0)
        r = collect(index, &c, err);
    for (size_t i = 0; i < c.n_gone && r == 0 && !dry; i++)
        r = index_drop_package(index, c.gone[i], err);
    if (r == 0 && c.n_gone && !dry)
        r = index_settle(index, err);
    if (r == 0)
        *ret_result = (struct gc_result){c.n_packages, c.n_gone};
    arena_release(&c.arena);
    return r;
}
