/*
 * A closure out of the index: what the last scan saw.
 */
#include "linter/closure.h"

#include "base/str.h"
#include "loader/world_index.h"

#include <errno.h>
#include <string.h>

static const char STORES[] = "SELECT path FROM store ORDER BY id";
static const char PACKAGES[] =
    "SELECT p.id, s.path, p.base, p.state, p.nar_hash IS NOT NULL, o.attribute, o.maintainers, "
    "o.position FROM package p JOIN store s ON s.id = p.store "
    "LEFT JOIN origin o ON o.name = p.name WHERE p.state <> 'gone' ORDER BY p.id";
static const char REFERENCES[] = "SELECT package, reference FROM reference ORDER BY 1, 2";
/* Package by package in the order of paths, in which everything is gone through afterwards: what
 * belongs together then lies together, in the index and in memory. */
static const char OBJECTS[] =
    "SELECT p.id, s.path || '/' || p.base || iif(d.path = '', '', '/' || d.path) || "
    "iif(o.name = '', '', '/' || o.name), n.text, l.object IS NOT NULL "
    "FROM store s CROSS JOIN package p ON p.store = s.id "
    "CROSS JOIN directory d ON d.package = p.id CROSS JOIN object o "
    "ON o.id >= d.first_object AND o.id < d.first_object + d.objects "
    "LEFT JOIN name n ON n.id = o.interp LEFT JOIN ldso l ON l.object = o.id "
    "ORDER BY s.id, p.base, d.path, o.id";
static const char PROBLEMS[] = "SELECT package, path, kind, text FROM problem ORDER BY 1, 2, 4";

/* Rows' ids to packages. */
struct rows {
    struct closure *closure;
    struct db *db;
    const struct progress *progress;
    struct lint_package **package; /* by id; NULL: gone */
    size_t n;
};

static struct lint_package *row_package(const struct rows *rows, int64_t id)
{
    return id >= 0 && (size_t)id < rows->n ? rows->package[id] : NULL;
}

static int query(struct db *db, const char *sql, struct stmt **ret_stmt, struct err *err)
{
    *ret_stmt = db_prepare(db, sql, err);
    return *ret_stmt ? 0 : -err->code;
}

/* stmt_step(), until it is to end. */
static int next(const struct rows *rows, struct stmt *s, struct err *err)
{
    const int r = progress_check(rows->progress, err);

    if (r < 0)
        stmt_reset(s);
    return r < 0 ? r : stmt_step(s, err);
}

static void keep_row(struct rows *rows, int64_t id, struct lint_package *package)
{
    if ((size_t)id >= rows->n) {
        const size_t n = (size_t)id * 2 + 64;
        struct lint_package **grown =
            arena_calloc(&rows->closure->arena, n, sizeof(struct lint_package *));

        if (rows->n)
            memcpy(grown, rows->package, rows->n * sizeof(struct lint_package *));
        rows->package = grown;
        rows->n = n;
    }
    rows->package[id] = package;
}

static int read_packages(struct rows *rows, struct err *err)
{
    struct closure *c = rows->closure;
    struct stmt *s;
    int r = query(rows->db, STORES, &s, err);

    if (r < 0)
        return r;
    while ((r = next(rows, s, err)) > 0)
        closure_add_store(c, stmt_text(s, 0));
    if (r < 0 || (r = query(rows->db, PACKAGES, &s, err)) < 0)
        return r;
    while ((r = next(rows, s, err)) > 0) {
        struct lint_package *p = closure_add_package(c, stmt_text(s, 1), stmt_text(s, 2));
        const char *state = stmt_text(s, 3);

        p->origin = origin_of_row(s, 5, &c->arena);
        p->registered = stmt_int(s, 4) != 0 && strcmp(state, "new") != 0;
        keep_row(rows, stmt_int(s, 0), p);
    }
    return r;
}

static int read_references(struct rows *rows, struct err *err)
{
    struct stmt *s;
    int r = query(rows->db, REFERENCES, &s, err);

    if (r < 0)
        return r;
    while ((r = next(rows, s, err)) > 0) {
        struct lint_package *from = row_package(rows, stmt_int(s, 0));
        struct lint_package *to = row_package(rows, stmt_int(s, 1));

        if (from && to)
            closure_add_reference(rows->closure, from, to);
    }
    return r;
}

/* A scope's path: its package is selected. *ret_file: it names less than the package. */
static int select_path(struct closure *c, const char *path, const char **ret_file, struct err *err)
{
    const struct place at = world_walk(c->world, NULL, path);
    const char *real = at.error ? path : world_path(&c->arena, at.node);
    struct lint_package *p = closure_package_of(c, real);

    if (!p || (at.error && !at.assumed))
        return err_set(err, ENOENT, "'%s': not in the index", path);
    p->selected = true;
    *ret_file = strcmp(real, p->path) ? real : NULL;
    return 0;
}

static int select_scope(struct closure *c, const struct lint_scope *scope, const char ***ret_file,
                        struct err *err)
{
    const char **file = arena_calloc(&c->arena, scope->n_paths + 1, sizeof(*file));
    int r = 0;

    for (size_t i = 0; i < scope->n_paths && r == 0; i++)
        r = select_path(c, scope->path[i], &file[i], err);
    for (size_t i = 0; i < c->n_packages && scope->n_paths == 0; i++)
        c->package[i]->selected = true;
    if (r == 0 && scope->closure)
        closure_spread(c);
    *ret_file = file;
    return r;
}

/* Is it below one of the paths that were named in its package, if any were? */
static bool is_named(const struct lint_scope *scope, const char *const *file,
                     const struct lint_package *package, const char *path)
{
    const size_t package_len = strlen(package->path);
    bool narrowed = false;

    for (size_t i = 0; i < scope->n_paths && !scope->closure; i++) {
        const size_t len = file[i] ? strlen(file[i]) : 0;

        if (!file[i] || strncmp(file[i], package->path, package_len) != 0)
            continue;
        if (!strncmp(path, file[i], len) && (path[len] == '\0' || path[len] == '/'))
            return true;
        narrowed = true;
    }
    return !narrowed;
}

/* The interpreter of the current row: mostly that of the program before. */
static const char *read_interp(struct closure *c, struct stmt *s, const char **last)
{
    const char *interp = stmt_text(s, 2);

    if (interp && !str_same(interp, *last))
        *last = arena_strdup(&c->arena, interp);
    return interp ? *last : NULL;
}

static int read_objects(struct rows *rows, const struct lint_scope *scope, const char *const *file,
                        struct err *err)
{
    struct closure *c = rows->closure;
    const char *interp = NULL;
    struct stmt *s;
    int r = query(rows->db, OBJECTS, &s, err);

    if (r < 0)
        return r;
    while ((r = next(rows, s, err)) > 0) {
        struct lint_package *p = row_package(rows, stmt_int(s, 0));
        struct lint_object *o;

        if (!p || !p->selected || !is_named(scope, file, p, stmt_text(s, 1)))
            continue;
        o = closure_add_object(c, arena_strdup(&c->arena, stmt_text(s, 1)), p);
        o->interp = read_interp(c, s, &interp);
        o->is_ldso = stmt_int(s, 3) != 0;
    }
    return r;
}

static int read_problems(struct rows *rows, const struct lint_scope *scope, const char *const *file,
                         struct err *err)
{
    struct closure *c = rows->closure;
    struct stmt *s;
    int r = query(rows->db, PROBLEMS, &s, err);

    if (r < 0)
        return r;
    while ((r = next(rows, s, err)) > 0) {
        struct lint_package *p = row_package(rows, stmt_int(s, 0));
        struct lint_problem problem = {.package = p, .unread = !strcmp(stmt_text(s, 2), "unread")};

        if (!p || !p->selected)
            continue;
        problem.path = arena_printf(&c->arena, "%s%s%s", p->path, *stmt_text(s, 1) ? "/" : "",
                                    stmt_text(s, 1));
        problem.text = arena_strdup(&c->arena, stmt_text(s, 3));
        if (is_named(scope, file, p, problem.path))
            closure_add_problem(c, &problem);
    }
    return r;
}

int closure_index(struct closure *closure, struct db *db, const struct lint_scope *scope,
                  struct err *err)
{
    struct rows rows = {.closure = closure, .db = db, .progress = scope->progress};
    const char **file = NULL;
    int r = world_index_beside(closure->world, &closure->own, err);

    if (r < 0)
        return r;
    closure->world = closure->own;
    r = read_packages(&rows, err);
    if (r == 0)
        r = read_references(&rows, err);
    if (r == 0)
        r = select_scope(closure, scope, &file, err);
    if (r == 0)
        r = read_objects(&rows, scope, file, err);
    if (r == 0)
        r = read_problems(&rows, scope, file, err);
    closure_finish(closure);
    return r;
}
