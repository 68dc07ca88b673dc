#include "server/view.h"

#include "loader/world_index.h"
#include "scanner/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LOADERS = 6,                 /* CPUs kept; the one used longest ago makes room */
    HELD_MAX = 64 * 1024 * 1024, /* bytes of a view's world and loaders, between two uses */
};

struct cpu_loader {
    struct cpu cpu;
    struct loader *loader;
    uint64_t used;
};

struct view {
    struct db *db;
    struct world *world;
    struct moment moment;
    uint64_t uses;
    struct cpu_loader cpu[LOADERS];
};

bool moment_same(const struct moment *a, const struct moment *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->generation == b->generation &&
           a->schema == b->schema && a->unfinished == b->unfinished;
}

static int read_schema(struct db *db, int64_t *ret_schema, struct err *err)
{
    static const char SCHEMA[] = "PRAGMA schema_version";
    struct stmt *s = db_prepare(db, SCHEMA, err);
    const int r = s ? stmt_step(s, err) : -err->code;

    if (r < 0)
        return r;
    *ret_schema = stmt_int(s, 0);
    stmt_reset(s);
    return 0;
}

int moment_read(struct db *db, const char *path, struct moment *ret_moment, struct err *err)
{
    struct moment moment = {0};
    struct stat st;
    int r;

    if (stat(path, &st) < 0)
        return err_set(err, errno, "the index: %s", strerror(errno));
    moment.dev = st.st_dev;
    moment.ino = st.st_ino;
    r = index_generation(db, &moment.generation, err);
    if (r == 0)
        r = index_is_unfinished(db, &moment.unfinished, err);
    if (r == 0)
        r = read_schema(db, &moment.schema, err);
    if (r == 0)
        *ret_moment = moment;
    return r;
}

static void drop_loaders(struct view *view)
{
    for (size_t i = 0; i < LOADERS; i++)
        loader_free(view->cpu[i].loader);
    memset(view->cpu, 0, sizeof(view->cpu));
}

int view_empty(struct view *view, struct err *err)
{
    drop_loaders(view);
    return world_index_anew(&view->world, err);
}

int view_trim(struct view *view, struct err *err)
{
    size_t held = world_held(view->world);

    for (size_t i = 0; i < LOADERS; i++)
        held += view->cpu[i].loader ? loader_held(view->cpu[i].loader) : 0;
    return held > HELD_MAX ? view_empty(view, err) : 0;
}

void view_close(struct view *view)
{
    if (!view)
        return;
    drop_loaders(view);
    world_close(view->world);
    db_close(view->db);
    free(view);
}

static int open_one(const char *path, struct view **ret_view, struct err *err)
{
    struct view *view = calloc(1, sizeof(*view));
    int r;

    if (!view)
        abort();
    r = db_open(path, DB_READ, &view->db, err);
    /*
     * A file that is cut while it is mapped would end the process. 32 MiB of pages are kept: some
     * hundred packages of a large store lie on 8, and reading one again costs more than its rows.
     */
    if (r == 0)
        r = db_exec(view->db, "PRAGMA mmap_size = 0; PRAGMA cache_size = -32768", err);
    if (r == 0)
        r = world_index(view->db, WORLD_EVERYTHING, &view->world, err);
    if (r == 0) /* within the world's transaction: the moment is the world's */
        r = moment_read(view->db, path, &view->moment, err);
    if (r < 0) {
        view_close(view);
        return r;
    }
    *ret_view = view;
    return 0;
}

int view_open(const char *path, const struct moment *moment, struct view **ret_view,
              struct err *err)
{
    struct view *view;
    int r = open_one(path, &view, err);

    if (r < 0)
        return r;
    if (!moment_same(&view->moment, moment)) {
        view_close(view);
        return err_set(err, EAGAIN, "the index is another one by now");
    }
    *ret_view = view;
    return 0;
}

int views_open(const char *path, struct view *ret_view[VIEWS], struct moment *ret_moment,
               struct err *err)
{
    struct view *view[VIEWS] = {0};
    int r = 0;

    for (size_t i = 0; i < VIEWS && r == 0; i++) {
        r = open_one(path, &view[i], err);
        if (r == 0 && !moment_same(&view[i]->moment, &view[0]->moment))
            r = err_set(err, EAGAIN, "the index is being changed");
    }
    if (r < 0) {
        for (size_t i = 0; i < VIEWS; i++)
            view_close(view[i]);
        return r;
    }
    memcpy(ret_view, view, sizeof(view));
    *ret_moment = view[0]->moment;
    return 0;
}

struct db *view_db(struct view *view)
{
    return view->db;
}

struct world *view_world(struct view *view)
{
    return view->world;
}

int view_loader(struct view *view, const char *cpu, struct loader **ret_loader, struct err *err)
{
    struct cpu_loader *at = view->cpu;
    struct cpu found;
    int r = cpu_find(cpu, &found, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < LOADERS; i++) {
        if (view->cpu[i].loader && !strcmp(view->cpu[i].cpu.name, found.name)) {
            view->cpu[i].used = ++view->uses;
            *ret_loader = view->cpu[i].loader;
            return 0;
        }
        if (view->cpu[i].used < at->used)
            at = &view->cpu[i];
    }
    loader_free(at->loader);
    at->cpu = found;
    at->loader = loader_new(view->world, &at->cpu, "/", false);
    at->used = ++view->uses;
    *ret_loader = at->loader;
    return 0;
}

void view_begin(struct view *view, unsigned ms)
{
    db_limit(view->db, ms);
}

void view_end(struct view *view)
{
    db_limit(view->db, 0);
}
