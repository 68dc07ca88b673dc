#include "loader/storm.h"

#include "base/str.h"
#include "scanner/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SQL_PROGRAMS, SQL_DIRECTORY, SQL_COUNT, SQL_RECALL, SQL_FORGET, SQL_REMEMBER, SQL_BIN };

#define NUMBERS                                                                                    \
    "opens, failed_opens, stats, failed_stats, others, failed_others, t.objects, directories, "    \
    "dlopen_opens, dlopen_failed_opens, dlopen_stats, dlopen_failed_stats, dlopen_objects, "       \
    "dlopen_directories, profile_assumed"

const char *const storm_sql[] = {
    [SQL_PROGRAMS] = "SELECT id, directory, name FROM object "
                     "WHERE interp IS NOT NULL ORDER BY id",
    [SQL_DIRECTORY] = "SELECT s.path || '/' || p.base || iif(d.path = '', '', '/' || d.path) "
                      "FROM directory d JOIN package p ON p.id = d.package "
                      "JOIN store s ON s.id = p.store WHERE d.id = ?",
    [SQL_COUNT] = "SELECT count(*) FROM object WHERE interp IS NOT NULL",
    [SQL_RECALL] = "SELECT x.path, t.outcome, t.assumed, " NUMBERS
                   " FROM storm t JOIN object_path x ON x.object = t.program "
                   "WHERE t.cpu = ? AND t.scenario = ? AND t.model = ? AND t.generation = ? "
                   "ORDER BY t.program",
    [SQL_FORGET] = "DELETE FROM storm WHERE cpu = ? AND scenario = ?",
    [SQL_REMEMBER] =
        "INSERT INTO storm (program, cpu, scenario, model, generation, outcome, "
        "assumed, opens, failed_opens, stats, failed_stats, others, failed_others, "
        "objects, directories, dlopen_opens, dlopen_failed_opens, dlopen_stats, "
        "dlopen_failed_stats, dlopen_objects, dlopen_directories, "
        "profile_assumed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "?)",
    [SQL_BIN] = "SELECT s.path || '/' || p.base || iif(d.path = '', '', '/' || d.path) "
                "FROM directory d JOIN package p ON p.id = d.package "
                "JOIN store s ON s.id = p.store "
                "WHERE d.path IN ('', 'bin', 'sbin', 'libexec') OR d.path LIKE '%/bin' "
                "ORDER BY p.id, d.id",
    NULL,
};

/* The path of a directory. NULL: error. */
static const char *directory_path(struct db *db, int64_t id, struct arena *arena, struct err *err)
{
    struct stmt *s = db_prepare(db, storm_sql[SQL_DIRECTORY], err);
    const char *path = NULL;
    int r;

    if (!s)
        return NULL;
    stmt_bind_int(s, 1, id);
    r = stmt_step(s, err);
    if (r > 0)
        path = arena_strdup(arena, stmt_text(s, 0));
    else if (r == 0)
        (void)err_set(err, EIO, "the index is damaged: an object without its directory");
    stmt_reset(s);
    return path;
}

int storm_programs(struct db *db, struct arena *arena, struct indexed_program **ret_program,
                   size_t *ret_n, struct err *err)
{
    struct stmt *s = db_prepare(db, storm_sql[SQL_PROGRAMS], err);
    struct indexed_program *program = NULL;
    const char *path = NULL, *name;
    int64_t directory = -1;
    size_t n = 0;
    int r = s ? 0 : -err->code;

    while (s && (r = stmt_step(s, err)) > 0) {
        if (stmt_int(s, 1) != directory) { /* neighbours share it */
            directory = stmt_int(s, 1);
            path = directory_path(db, directory, arena, err);
        }
        if (!path) {
            stmt_reset(s);
            return -err->code;
        }
        name = stmt_text(s, 2); /* "": the package itself is the file */
        program = arena_grow(arena, program, n, sizeof(*program));
        program[n++] = (struct indexed_program){
            .id = stmt_int(s, 0),
            .path = name && *name ? str_join(arena, path, name) : path,
        };
    }
    if (r < 0)
        return r;
    *ret_program = program;
    *ret_n = n;
    return 0;
}

/* ---- rows */

/* The numbers of a row, in the order of NUMBERS. */
enum { N_NUMBERS = 14 };

static void row_numbers(struct storm_row *row, uint32_t *number[N_NUMBERS])
{
    struct storm *s = &row->storm, *d = &row->dlopen;
    uint32_t *const all[N_NUMBERS] = {
        &s->opens,         &s->failed_opens, &s->stats,       &s->failed_stats, &s->others,
        &s->failed_others, &s->objects,      &s->directories, &d->opens,        &d->failed_opens,
        &d->stats,         &d->failed_stats, &d->objects,     &d->directories,
    };

    memcpy(number, all, sizeof(all));
}

static enum trace_exit exit_of(const char *outcome)
{
    static const struct row {
        const char *start;
        enum trace_exit exit;
    } rows[] =
        {
            {"missing: ", EXIT_MISSING},     {"bad: ", EXIT_BAD},
            {"abort: ", EXIT_ABORT},         {"not dynamic", EXIT_NOT_DYNAMIC},
            {"no loader: ", EXIT_NO_LOADER}, {"too large: ", EXIT_TOO_LARGE},
        },
      *row;

    for_each (row, rows)
        if (str_starts(outcome, row->start))
            return row->exit;
    return EXIT_OK;
}

static struct storm_row recalled(struct stmt *s, struct arena *arena)
{
    struct storm_row row = {.program = arena_strdup(arena, stmt_text(s, 0)),
                            .exit_text = arena_strdup(arena, stmt_text(s, 1)),
                            .assumed = stmt_int(s, 2) != 0};
    uint32_t *number[N_NUMBERS];

    row.exit = exit_of(row.exit_text);
    row_numbers(&row, number);
    for (size_t i = 0; i < N_NUMBERS; i++)
        *number[i] = (uint32_t)stmt_int(s, 3 + (int)i);
    if (stmt_text(s, 3 + N_NUMBERS))
        row.profile_assumed = arena_strdup(arena, stmt_text(s, 3 + N_NUMBERS));
    return row;
}

static int count_programs(struct db *db, size_t *ret_n, struct err *err)
{
    struct stmt *s = db_prepare(db, storm_sql[SQL_COUNT], err);
    int r = s ? stmt_step(s, err) : -err->code;

    if (r < 0)
        return r;
    *ret_n = (size_t)stmt_int(s, 0);
    stmt_reset(s);
    return 0;
}

int storm_recall(struct db *db, const struct storm_key *key, struct arena *arena,
                 struct storm_row **ret_row, size_t *ret_n, struct err *err)
{
    struct stmt *s = db_prepare(db, storm_sql[SQL_RECALL], err);
    struct storm_row *row = NULL;
    size_t n = 0, programs = 0;
    int r;

    if (!s)
        return -err->code;
    stmt_bind_text(s, 1, key->cpu);
    stmt_bind_text(s, 2, key->scenario);
    stmt_bind_int(s, 3, STORM_MODEL);
    stmt_bind_int(s, 4, key->generation);
    while ((r = stmt_step(s, err)) > 0) {
        row = arena_grow(arena, row, n, sizeof(*row));
        row[n++] = recalled(s, arena);
    }
    if (r < 0 || (n && (r = count_programs(db, &programs, err)) < 0))
        return r;
    *ret_row = row;
    *ret_n = n && n == programs ? n : 0;
    return 0;
}

static int remember_row(struct stmt *s, const struct storm_key *key,
                        const struct indexed_program *program, struct storm_row row,
                        struct err *err)
{
    uint32_t *number[N_NUMBERS];

    row_numbers(&row, number);
    stmt_bind_int(s, 1, program->id);
    stmt_bind_text(s, 2, key->cpu);
    stmt_bind_text(s, 3, key->scenario);
    stmt_bind_int(s, 4, STORM_MODEL);
    stmt_bind_int(s, 5, key->generation);
    stmt_bind_text(s, 6, row.exit_text);
    stmt_bind_int(s, 7, row.assumed);
    for (size_t i = 0; i < N_NUMBERS; i++)
        stmt_bind_int(s, 8 + (int)i, *number[i]);
    stmt_bind_text(s, 8 + N_NUMBERS, row.profile_assumed);
    return stmt_run(s, err);
}

int storm_remember(struct db *db, const struct storm_key *key,
                   const struct indexed_program *program, const struct storm_row *row, size_t n,
                   struct err *err)
{
    struct stmt *forget, *s;
    int64_t generation;
    int r;

    if ((r = db_begin(db, err)) < 0)
        return r;
    forget = db_prepare(db, storm_sql[SQL_FORGET], err);
    if (!forget || index_generation(db, &generation, err) < 0)
        goto undo;
    stmt_bind_text(forget, 1, key->cpu);
    stmt_bind_text(forget, 2, key->scenario);
    if (generation != key->generation) {
        db_rollback(db);
        return 0;
    }
    if (stmt_run(forget, err) < 0)
        goto undo;
    for (size_t i = 0; i < n; i++) {
        s = db_prepare(db, storm_sql[SQL_REMEMBER], err);
        if (!s || remember_row(s, key, &program[i], row[i], err) < 0)
            goto undo;
    }
    return db_commit(db, err);
undo:
    db_rollback(db);
    return -err->code;
}

/* ---- programs by name */

struct found_programs {
    struct world *world;
    struct arena *arena;
    const char **path;
    const struct node **node; /* where it leads, to have each once */
    size_t n;
};

static void found_add(struct found_programs *f, const struct node *node)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->node[i] == node)
            return;
    f->path = arena_grow(f->arena, f->path, f->n, sizeof(*f->path));
    f->node = arena_grow(f->arena, f->node, f->n, sizeof(*f->node));
    f->path[f->n] = world_path(f->arena, node);
    f->node[f->n++] = node;
}

/* The program that a path leads to; NULL: none. */
static struct node *program_at(struct world *world, const char *path, struct node **ret_other)
{
    const struct place at = world_walk(world, NULL, path);
    const struct object *object;

    if (at.error || at.node->kind != NODE_FILE)
        return NULL;
    object = world_object(world, at.node);
    if (object && object->interp)
        return at.node;
    if (!object)
        *ret_other = at.node;
    return NULL;
}

static void found_look(struct found_programs *f, const char *dir, const char *name)
{
    const char *path = str_join(f->arena, dir, name);
    struct node *script = NULL, *node = program_at(f->world, path, &script);

    if (node) {
        found_add(f, node);
        return;
    }
    if (!script || !script->parent)
        return;
    path = arena_printf(f->arena, "%s/.%s-wrapped", world_path(f->arena, script->parent),
                        script->name->text);
    node = program_at(f->world, path, &script);
    if (node)
        found_add(f, node);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int storm_find(struct db *db, struct world *world, const char *name, struct arena *arena,
               const char ***ret_path, size_t *ret_n, struct err *err)
{
    struct found_programs found = {.world = world, .arena = arena};
    struct stmt *s = db_prepare(db, storm_sql[SQL_BIN], err);
    const char **dir = NULL;
    size_t n = 0;
    int r = s ? 0 : -err->code;

    while (s && (r = stmt_step(s, err)) > 0) {
        dir = arena_grow(arena, dir, n, sizeof(*dir));
        dir[n++] = arena_strdup(arena, stmt_text(s, 0));
    }
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        found_look(&found, dir[i], name);
    if (found.n)
        qsort(found.path, found.n, sizeof(*found.path), by_text);
    *ret_path = found.path;
    *ret_n = found.n;
    return 0;
}
