/*
 * Packages out of one index into another, where everything has other ids.
 */
#include "scanner/merge_private.h"
#include "scanner/packed.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int input_damaged(const struct input *input, struct err *err)
{
    return err_set(err, EINVAL, "the index '%s' is damaged: it has an id too many", input->path);
}

/* ---- dictionaries */

/* Where the new id of their id goes; 0: not asked for yet. NULL: no id. */
static int64_t *map_slot(struct id_map *map, int64_t id)
{
    if (id <= 0 || id >= IDS_MAX)
        return NULL;
    if ((size_t)id >= map->n) {
        const size_t n = (size_t)id * 2 + 256;

        map->to = realloc(map->to, n * sizeof(*map->to));
        if (!map->to)
            abort();
        memset(map->to + map->n, 0, (n - map->n) * sizeof(*map->to));
        map->n = n;
    }
    return &map->to[id];
}

/* Their text of an id, on the current row of *ret_row. */
static int their_text(struct input *input, enum merge_sql_id text, int64_t id,
                      struct stmt **ret_row, struct err *err)
{
    struct stmt *s = input_prepare(input, text, err);
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, id);
    if ((r = stmt_step(s, err)) <= 0)
        return r < 0 ? r : input_damaged(input, err);
    *ret_row = s;
    return 0;
}

/* The new id of their id in a dictionary; texts are looked up when they are first used. */
static int map_id(struct input *input, struct id_map *map, struct dictionary *to,
                  enum merge_sql_id text, int64_t id, int64_t *ret_id, struct err *err)
{
    int64_t *slot = map_slot(map, id);
    struct stmt *row = NULL;
    int r;

    if (!slot)
        return input_damaged(input, err);
    if (*slot == 0) {
        if ((r = their_text(input, text, id, &row, err)) < 0)
            return r;
        *slot = dictionary_id_n(to, stmt_text(row, 0), stmt_size(row, 0));
        stmt_reset(row);
    }
    *ret_id = *slot;
    return 0;
}

static int map_name(struct input *input, int64_t id, int64_t *ret_id, struct err *err)
{
    return map_id(input, &input->name, &input->merge->index->name, MERGE_NAME, id, ret_id, err);
}

static int map_search_dir(struct input *input, int64_t id, int64_t *ret_id, struct err *err)
{
    return map_id(input, &input->search_dir, &input->merge->index->search_dir, MERGE_SEARCH_DIR, id,
                  ret_id, err);
}

typedef int map_function(struct input *, int64_t, int64_t *, struct err *);

/* A list of ids, nested or not, with every number in it mapped: '[3,"a17",[5,-2]]'. */
static int map_text(struct input *input, const char *at, map_function *map, struct str *ret_list,
                    struct err *err)
{
    str_add(ret_list, "");
    while (*at) {
        char *end;
        int64_t id = 0;
        int r;

        if (!isdigit((unsigned char)*at)) {
            str_add_n(ret_list, at++, 1);
            continue;
        }
        r = map(input, strtoll(at, &end, 10), &id, err);
        if (r < 0)
            return r;
        str_printf(ret_list, "%" PRId64, id);
        at = end;
    }
    return 0;
}

/* A run path is a list of directories, which have other ids, too. */
static int map_run_path(struct input *input, int64_t id, int64_t *ret_id, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    int64_t *slot = map_slot(&input->run_path, id);
    struct str list = {.arena = &arena};
    struct stmt *row = NULL;
    int r;

    if (!slot)
        return input_damaged(input, err);
    if (*slot == 0) {
        if ((r = their_text(input, MERGE_RUN_PATH, id, &row, err)) < 0)
            return r;
        r = map_text(input, stmt_text(row, 0), map_search_dir, &list, err);
        stmt_reset(row);
        if (r < 0)
            return r;
        *slot = dictionary_id_n(&input->merge->index->run_path, list.text, list.len);
    }
    *ret_id = *slot;
    return 0;
}

static int map_list(struct input *input, struct stmt *to, struct stmt *row, int column,
                    struct arena *arena, struct err *err)
{
    struct str list = {.arena = arena};
    const char *text = stmt_text(row, column);
    int r;

    if (!text) {
        stmt_bind_null(to, column + 1);
        return 0;
    }
    r = map_text(input, text, map_name, &list, err);
    if (r == 0)
        stmt_bind_text_n(to, column + 1, list.text, list.len);
    return r;
}

static int map_one(struct input *input, struct stmt *to, struct stmt *row, int column,
                   map_function *map, struct err *err)
{
    int64_t id;
    int r;

    if (stmt_is_null(row, column)) {
        stmt_bind_null(to, column + 1);
        return 0;
    }
    r = map(input, stmt_int(row, column), &id, err);
    if (r == 0)
        stmt_bind_int(to, column + 1, id);
    return r;
}

/* The ids in what is packed. */
struct mapping {
    struct input *input;
    struct err *err;
};

static int map_packed_name(void *data, int64_t id, int64_t *ret_id)
{
    const struct mapping *mapping = data;

    return map_name(mapping->input, id, ret_id, mapping->err);
}

static int map_packed_run_path(void *data, int64_t id, int64_t *ret_id)
{
    const struct mapping *mapping = data;

    return map_run_path(mapping->input, id, ret_id, mapping->err);
}

/* ---- one package */

/* A package on its way: where its rows go. */
struct moving {
    struct input *input;
    struct arena arena;
    int64_t their_id, id;
    int64_t their_first, n_objects; /* its objects there */
    int64_t first;                  /* ... and here */
    bool places;                    /* inputs have read different directories */
    struct moved_dir {
        int64_t their_id, id;
    } * dir; /* by their ids, ascending */
    size_t n_dirs;
};

static bool is_object(const struct moving *m, int64_t theirs)
{
    return theirs >= m->their_first && theirs - m->their_first < m->n_objects;
}

static void bind_row(struct stmt *to, struct stmt *row)
{
    for (int i = 0; i < stmt_columns(row); i++)
        stmt_bind_column(to, i + 1, row, i);
}

static int map_packed(struct moving *m, struct stmt *to, int at, struct stmt *row, int column,
                      struct err *err)
{
    struct mapping mapping = {m->input, err};
    const struct packed_maps maps = {map_packed_name, map_packed_run_path, &mapping};
    struct str packed = {.arena = &m->arena};
    size_t size;
    const unsigned char *bytes = stmt_blob(row, column, &size);
    int r;

    str_add(&packed, "");
    r = pack_mapped(&packed, (struct packed){bytes, bytes + size}, &maps);
    if (r == 0)
        stmt_bind_blob(to, at, packed.text, packed.len);
    return r;
}

static int copy_directory(struct moving *m, struct stmt *row, struct err *err)
{
    struct index *index = m->input->merge->index;
    struct stmt *to = index_prepare(index, SQL_DIRECTORY_ADD, err);
    const int64_t first = stmt_int(row, 2), n = stmt_int(row, 3);
    int r;

    if (!to)
        return -err->code;
    if (n && (n < 0 || !is_object(m, first) || !is_object(m, first + n - 1)))
        return input_damaged(m->input, err);
    m->dir = arena_grow(&m->arena, m->dir, m->n_dirs, sizeof(*m->dir));
    m->dir[m->n_dirs++] = (struct moved_dir){stmt_int(row, 0), index->next_directory};
    stmt_bind_int(to, 1, index->next_directory++);
    stmt_bind_int(to, 2, m->id);
    stmt_bind_column(to, 3, row, 1);
    stmt_bind_int(to, 4, n ? first - m->their_first + m->first : m->first);
    stmt_bind_int(to, 5, n);
    stmt_bind_column(to, 6, row, 4);
    stmt_bind_int(to, 8, m->places ? 0 : stmt_int(row, 6));
    r = map_packed(m, to, 7, row, 5, err);
    return r < 0 ? r : stmt_run(to, err);
}

static int64_t moved_dir(const struct moving *m, int64_t theirs)
{
    size_t low = 0, high = m->n_dirs;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (m->dir[middle].their_id < theirs)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->n_dirs && m->dir[low].their_id == theirs ? m->dir[low].id : 0;
}

static int copy_object(struct moving *m, struct stmt *row, struct err *err)
{
    struct input *input = m->input;
    const struct column *c = &input->merge->column;
    struct stmt *to = index_prepare(input->merge->index, SQL_OBJECT_ADD, err);
    const int64_t dir = moved_dir(m, stmt_int(row, 1));
    int r;

    if (!to)
        return -err->code;
    if (dir == 0)
        return input_damaged(input, err);
    bind_row(to, row);
    stmt_bind_int(to, 1, stmt_int(row, 0) - m->their_first + m->first);
    stmt_bind_int(to, 2, dir);
    r = map_one(input, to, row, c->interp, map_name, err);
    if (r == 0)
        r = map_one(input, to, row, c->soname, map_name, err);
    if (r == 0)
        r = map_list(input, to, row, c->needed, &m->arena, err);
    if (r == 0)
        r = map_one(input, to, row, c->rpath, map_run_path, err);
    if (r == 0)
        r = map_one(input, to, row, c->runpath, map_run_path, err);
    if (r == 0)
        r = map_list(input, to, row, c->verneed, &m->arena, err);
    if (r == 0)
        r = map_list(input, to, row, c->verdef, &m->arena, err);
    if (r == 0)
        r = map_list(input, to, row, c->dlopen_string, &m->arena, err);
    return r < 0 ? r : stmt_run(to, err);
}

/* A row about an object: only its number changes. */
static int copy_about(struct moving *m, struct stmt *row, enum sql_id id, struct err *err)
{
    struct stmt *to = index_prepare(m->input->merge->index, id, err);

    if (!to)
        return -err->code;
    bind_row(to, row);
    stmt_bind_int(to, 1, stmt_int(row, 0) - m->their_first + m->first);
    return stmt_run(to, err);
}

static int copy_ldso(struct moving *m, struct stmt *row, struct err *err)
{
    return copy_about(m, row, SQL_LDSO_ADD, err);
}

static int copy_inode(struct moving *m, struct stmt *row, struct err *err)
{
    return m->places ? 0 : copy_about(m, row, SQL_INODE_ADD, err);
}

static int copy_problem(struct moving *m, struct stmt *row, struct err *err)
{
    struct stmt *to = index_prepare(m->input->merge->index, SQL_PROBLEM_ADD, err);

    if (!to)
        return -err->code;
    bind_row(to, row);
    stmt_bind_int(to, 1, m->id);
    return stmt_run(to, err);
}

/* Every row of a query about the package, or about its objects. */
static int copy_rows(struct moving *m, enum merge_sql_id id, int64_t first, int64_t last,
                     int (*copy)(struct moving *, struct stmt *, struct err *), struct err *err)
{
    struct stmt *s = input_prepare(m->input, id, err);
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, first);
    stmt_bind_int(s, 2, last); /* where the query has no second place, nothing */
    while ((r = stmt_step(s, err)) > 0)
        if ((r = copy(m, s, err)) < 0) {
            stmt_reset(s);
            return r;
        }
    return r;
}

/* Columns of MERGE_PACKAGES into those of table package. */
static int copy_row(struct moving *m, struct stmt *row, int64_t store, struct err *err)
{
    static const struct {
        int to, from;
    } columns[] = {{3, P_BASE},      {4, P_HASH},   {5, P_NAME},  {6, P_PNAME},
                   {7, P_VERSION},   {8, P_OUTPUT}, {9, P_STATE}, {10, P_NAR_HASH},
                   {11, P_NAR_SIZE}, {12, P_MARK},  {13, P_KIND}, {14, P_TARGET},
                   {15, P_FILES},    {16, P_MACHO}};
    struct stmt *to = index_prepare(m->input->merge->index, SQL_PACKAGE_COPY, err);

    if (!to)
        return -err->code;
    stmt_bind_int(to, 1, m->id);
    stmt_bind_int(to, 2, store);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        stmt_bind_column(to, columns[i].to, row, columns[i].from);
    if (stmt_is_null(row, P_FIRST))
        stmt_bind_null(to, 17);
    else
        stmt_bind_int(to, 17, m->first);
    stmt_bind_int(to, 18, m->n_objects);
    return stmt_run(to, err);
}

static int copy_package(struct moving *m, struct stmt *row, int64_t store, struct err *err)
{
    const int64_t last = m->their_first + m->n_objects - 1;
    int r = copy_row(m, row, store, err);

    if (r == 0)
        r = copy_rows(m, MERGE_DIRECTORIES, m->their_id, 0, copy_directory, err);
    if (r == 0)
        r = copy_rows(m, MERGE_PROBLEMS, m->their_id, 0, copy_problem, err);
    if (r < 0 || m->n_objects == 0)
        return r;
    r = copy_rows(m, MERGE_OBJECTS, m->their_first, last, copy_object, err);
    if (r == 0)
        r = copy_rows(m, MERGE_LDSOS, m->their_first, last, copy_ldso, err);
    return r < 0 ? r : copy_rows(m, MERGE_INODES, m->their_first, last, copy_inode, err);
}

static int copy_winner(struct input *input, struct stmt *row, uint32_t number, struct err *err)
{
    struct merge *merge = input->merge;
    struct merged_package *p = &merge->package[number];
    const struct merged_store *store = merge_store(merge, stmt_text(row, P_STORE));
    struct moving m = {.input = input,
                       .their_id = stmt_int(row, P_ID),
                       .their_first = stmt_int(row, P_FIRST),
                       .n_objects = stmt_int(row, P_OBJECTS)};
    int r;

    if (p->edition.in != input->number || p->edition.id != m.their_id)
        return 0;
    if (!store || m.n_objects < 0 || m.n_objects > INT32_MAX)
        return input_damaged(input, err);
    m.places = store->places;
    m.id = p->id = merge->next_package++;
    m.first = merge->index->next_object;
    r = index_begin(merge->index, err);
    if (r == 0)
        r = copy_package(&m, row, store->id, err);
    merge->index->next_object += m.n_objects;
    arena_release(&m.arena);
    return r < 0 ? r : index_tick(merge->index, err);
}

int merge_copy(struct input *input, struct err *err)
{
    return input_packages(input, copy_winner, err);
}
