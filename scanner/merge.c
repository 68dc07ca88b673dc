#include "scanner/merge_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is read from the inputs. */
static const struct sql merge_sql[] = {
    [MERGE_STORES] = {"stores", "SELECT id, path, root, changed FROM store ORDER BY id"},
    [MERGE_PARTS] = {"parts", "SELECT place, shards, shard FROM part WHERE store = ?"},
    [MERGE_PACKAGES] = {"packages",
                        "SELECT p.id, s.path, base, state, nar_hash, mark, files, objects, macho, "
                        "target, name, pname, version, output, first_object, hash, nar_size, kind "
                        "FROM package p JOIN store s ON s.id = p.store ORDER BY p.id"},
    [MERGE_DIRECTORIES] = {"directories",
                           "SELECT id, path, first_object, objects, entries, packed, "
                           "changed FROM directory WHERE package = ? ORDER BY id"},
    [MERGE_OBJECTS] = {"objects", "SELECT * FROM object WHERE id BETWEEN ? AND ? ORDER BY id"},
    [MERGE_LDSOS] = {"ldsos", "SELECT * FROM ldso WHERE object BETWEEN ? AND ?"},
    [MERGE_INODES] = {"inodes", "SELECT object, dev, ino FROM inode WHERE object BETWEEN ? AND ?"},
    [MERGE_PROBLEMS] = {"problems", "SELECT package, path, kind, text FROM problem "
                                    "WHERE package = ? ORDER BY rowid"},
    [MERGE_REFERENCES] = {"references", "SELECT package, reference FROM reference"},
    [MERGE_EMPTY_DIRECTORIES] = {"empty-directories",
                                 "SELECT path, entries, changed FROM directory "
                                 "WHERE package = ? AND objects = 0 ORDER BY id"},
    [MERGE_ORIGINS] = {"origins", "SELECT name, attribute, maintainers, position FROM origin"},
    [MERGE_NAME] = {"name", "SELECT text FROM name WHERE id = ?"},
    [MERGE_SEARCH_DIR] = {"search-dir", "SELECT text FROM search_dir WHERE id = ?"},
    [MERGE_RUN_PATH] = {"run-path", "SELECT dirs FROM run_path WHERE id = ?"},
    [MERGE_COLUMN] = {"column", "SELECT cid FROM pragma_table_info('object') WHERE name = ?"},
};

struct stmt *input_prepare(struct input *input, enum merge_sql_id id, struct err *err)
{
    return db_prepare(input->db, merge_sql[id].text, err);
}

/* ---- editions */

static int rank_of(const char *state)
{
    static const char *const ranks[] = {"new", "gone", "incomplete", "scanned"};

    for (size_t i = 0; i < ARRAY_LEN(ranks); i++)
        if (str_same(state, ranks[i]))
            return (int)i;
    return 0;
}

struct edition edition_of(struct input *input, struct stmt *row, struct arena *arena)
{
    struct str names = {.arena = arena};

    for (int i = P_TARGET; i <= P_OUTPUT; i++) {
        const char *text = stmt_text(row, i);

        str_add(&names, text ? text : "");
        str_add_n(&names, "\n", 1);
    }
    return (struct edition){.rank = rank_of(stmt_text(row, P_STATE)),
                            .nar_hash = stmt_text(row, P_NAR_HASH),
                            .mark = stmt_int(row, P_MARK),
                            .files = stmt_int(row, P_FILES),
                            .objects = stmt_int(row, P_OBJECTS),
                            .macho = stmt_int(row, P_MACHO),
                            .names = names.text,
                            .in = input->number,
                            .id = stmt_int(row, P_ID)};
}

static int compare_int(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* A total order over everything but where it is from: so the winner is whoever is greatest. */
static int edition_compare(const struct edition *a, const struct edition *b)
{
    const int orders[] = {compare_int(a->rank, b->rank),   compare_text(a->nar_hash, b->nar_hash),
                          compare_int(a->files, b->files), compare_int(a->objects, b->objects),
                          compare_int(a->macho, b->macho), compare_int(a->mark, b->mark),
                          compare_text(a->names, b->names)};

    for (size_t i = 0; i < ARRAY_LEN(orders); i++)
        if (orders[i])
            return orders[i];
    return 0;
}

bool edition_agrees(const struct edition *a, const struct edition *b)
{
    if (a->nar_hash && b->nar_hash)
        return strcmp(a->nar_hash, b->nar_hash) == 0;
    if (a->nar_hash || b->nar_hash || a->rank < rank_of("scanned") || b->rank < rank_of("scanned"))
        return true;
    return a->files == b->files && a->objects == b->objects && a->macho == b->macho;
}

/* ---- the first pass */

static uint32_t package_number(struct merge *merge, const char *store, const char *base)
{
    CLEANUP(arena_release) struct arena a = {0};
    const struct name *name = intern(merge->packages, str_join(&a, store, base));

    if (name->id >= merge->size_packages) {
        merge->size_packages = merge->size_packages ? merge->size_packages * 2 : 1024;
        merge->package = realloc(merge->package, merge->size_packages * sizeof(*merge->package));
        if (!merge->package)
            abort();
    }
    if (name->id == merge->result->packages)
        merge->package[merge->result->packages++] =
            (struct merged_package){.name = name, .edition.rank = -1};
    return name->id;
}

int input_packages(struct input *input,
                   int (*each)(struct input *, struct stmt *, uint32_t, struct err *),
                   struct err *err)
{
    struct stmt *s = input_prepare(input, MERGE_PACKAGES, err);
    int r;

    if (!s)
        return -err->code;
    while ((r = stmt_step(s, err)) > 0) {
        const char *store = stmt_text(s, P_STORE), *base = stmt_text(s, P_BASE);

        r = each(input, s, package_number(input->merge, store ? store : "", base ? base : ""), err);
        if (r < 0) {
            stmt_reset(s);
            return r;
        }
    }
    return r;
}

/* Texts of its own for an edition that is kept. */
static struct edition keep_edition(struct merge *merge, struct edition edition)
{
    edition.names = arena_strdup(&merge->arena, edition.names);
    if (edition.nar_hash)
        edition.nar_hash = arena_strdup(&merge->arena, edition.nar_hash);
    return edition;
}

static void add_clash(struct merge *merge, uint32_t number, const struct edition *edition)
{
    struct merged_package *p = &merge->package[number];

    merge->result->clashes += !p->clashes;
    p->clashes = true;
    merge->clash = arena_grow(&merge->arena, merge->clash, merge->n_clashes, sizeof(*merge->clash));
    merge->clash[merge->n_clashes++] = (struct clash){number, *edition};
}

static int survey_package(struct input *input, struct stmt *row, uint32_t number,
                          struct err *err UNUSED)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct merge *merge = input->merge;
    struct merged_package *p = &merge->package[number];
    struct edition edition = edition_of(input, row, &a);
    const bool first = p->edition.rank < 0;
    const int order = first ? 1 : edition_compare(&edition, &p->edition);
    const bool agrees = first || edition_agrees(&edition, &p->edition);

    merge->result->repeated +=
        !first && edition.rank == rank_of("scanned") && p->edition.rank == edition.rank;
    if (!agrees || order > 0)
        edition = keep_edition(merge, edition);
    if (!agrees)
        add_clash(merge, number, order > 0 ? &p->edition : &edition);
    if (order > 0)
        merge->package[number].edition = edition;
    return 0;
}

struct merged_store *merge_store(struct merge *merge, const char *path)
{
    for (size_t i = 0; i < merge->n_stores; i++)
        if (str_same(merge->store[i].path, path))
            return &merge->store[i];
    return NULL;
}

static int survey_parts(struct input *input, int64_t theirs, struct merged_store *store,
                        struct err *err)
{
    struct merge *merge = input->merge;
    struct stmt *s = input_prepare(input, MERGE_PARTS, err);
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, theirs);
    while ((r = stmt_step(s, err)) > 0) {
        const struct part part = {.place = stmt_text(s, 0),
                                  .shards = (unsigned)stmt_int(s, 1),
                                  .shard = (unsigned)stmt_int(s, 2)};

        if (!store->place)
            store->place = arena_strdup(&merge->arena, part.place);
        store->places |= strcmp(store->place, part.place) != 0;
        r = index_add_part(merge->index, store->id, &part, err);
        if (r < 0) {
            stmt_reset(s);
            return r;
        }
    }
    return r;
}

static int survey_store(struct input *input, struct stmt *row, struct err *err)
{
    struct merge *merge = input->merge;
    const char *path = stmt_text(row, 1), *root = stmt_text(row, 2);
    const int64_t changed = stmt_int(row, 3);
    struct merged_store *store = merge_store(merge, path ? path : "");

    if (!store) {
        merge->store =
            arena_grow(&merge->arena, merge->store, merge->n_stores, sizeof(*merge->store));
        store = &merge->store[merge->n_stores++];
        *store = (struct merged_store){.id = (int64_t)merge->n_stores,
                                       .path = arena_strdup(&merge->arena, path ? path : ""),
                                       .root = arena_strdup(&merge->arena, root ? root : ""),
                                       .changed = changed};
    }
    if (!str_same(store->root, root))
        store->root = "";
    if (store->changed != changed)
        store->changed = 0;
    return survey_parts(input, stmt_int(row, 0), store, err);
}

/* First pass over an input. */
static int merge_survey(struct input *input, struct err *err)
{
    struct stmt *s;
    bool unfinished = false;
    int r = index_is_unfinished(input->db, &unfinished, err);

    if (r < 0)
        return r;
    if (unfinished)
        return err_set(err, EBUSY,
                       "the scan of index '%s' has not ended: wait for it, or run it again",
                       input->path);
    s = input_prepare(input, MERGE_STORES, err);
    if (!s)
        return -err->code;
    while ((r = stmt_step(s, err)) > 0)
        if ((r = survey_store(input, s, err)) < 0) {
            stmt_reset(s);
            return r;
        }
    return r < 0 ? r : input_packages(input, survey_package, err);
}

/* ---- the passes */

static int read_columns(struct merge *merge, struct err *err)
{
    const struct {
        const char *name;
        int *at;
    } columns[] = {
        {"interp", &merge->column.interp},   {"soname", &merge->column.soname},
        {"needed", &merge->column.needed},   {"rpath", &merge->column.rpath},
        {"runpath", &merge->column.runpath}, {"verneed", &merge->column.verneed},
        {"verdef", &merge->column.verdef},   {"dlopen_string", &merge->column.dlopen_string}};

    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        struct stmt *s = db_prepare(merge->db, merge_sql[MERGE_COLUMN].text, err);
        int r;

        if (!s)
            return -err->code;
        stmt_bind_text(s, 1, columns[i].name);
        if ((r = stmt_step(s, err)) < 0)
            return r;
        if (r == 0)
            return err_set(err, EINVAL, "table object has no column '%s'", columns[i].name);
        *columns[i].at = (int)stmt_int(s, 0);
        stmt_reset(s);
    }
    return 0;
}

static int over_inputs(struct merge *merge, const char *label,
                       int (*pass)(struct input *, struct err *), struct err *err)
{
    const struct merge_options *o = merge->options;
    int r = 0;

    for (size_t i = 0; i < o->n_in && r == 0; i++) {
        struct input input = {.merge = merge, .path = o->in[i], .number = (uint32_t)i};

        r = db_open(o->in[i], DB_READ, &input.db, err);
        if (r == 0)
            r = pass(&input, err);
        db_close(input.db);
        free(input.name.to);
        free(input.search_dir.to);
        free(input.run_path.to);
        free(input.package);
        progress_update(o->progress, label, i + 1, o->n_in);
    }
    return r;
}

/* The rows of the stores, when all inputs have told what they know of them. */
static int write_stores(struct merge *merge, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < merge->n_stores && r == 0; i++) {
        struct merged_store *store = &merge->store[i];
        uint64_t changed;
        int64_t id = 0;

        r = index_store(merge->index, store->path, store->root, &id, &changed, err);
        if (r == 0 && id != store->id)
            r = err_set(err, EEXIST, "the new index is not empty");
        if (r == 0 && store->changed && !store->places)
            r = index_set_store(merge->index, id, (uint64_t)store->changed, err);
        if (r == 0)
            r = index_settle_parts(merge->index, id, err);
    }
    return r;
}

static int compare_clashes(const void *a, const void *b, void *data)
{
    const struct clash *x = a, *y = b;
    const struct merge *merge = data;
    int order =
        strcmp(merge->package[x->package].name->text, merge->package[y->package].name->text);

    return order ? order : compare_text(x->edition.nar_hash, y->edition.nar_hash);
}

/* Each other content of a path once, whatever the order in which they came. */
static void tell_clashes(struct merge *merge)
{
    const struct merge_options *o = merge->options;
    const struct clash *last = NULL;

    if (merge->n_clashes)
        qsort_r(merge->clash, merge->n_clashes, sizeof(*merge->clash), compare_clashes, merge);
    for (size_t i = 0; i < merge->n_clashes && o->clash; i++) {
        const struct clash *c = &merge->clash[i];
        const struct edition *kept = &merge->package[c->package].edition;
        const struct merge_clash told = {merge->package[c->package].name->text, kept->nar_hash,
                                         o->in[kept->in], c->edition.nar_hash,
                                         o->in[c->edition.in]};

        if (str_same(kept->nar_hash, c->edition.nar_hash) && kept->nar_hash)
            continue;
        if (last && last->package == c->package && c->edition.nar_hash &&
            str_same(last->edition.nar_hash, c->edition.nar_hash))
            continue;
        o->clash(o->data, &told);
        last = c;
    }
}

static void count_packages(struct merge *merge)
{
    for (size_t i = 0; i < merge->result->packages; i++) {
        const int rank = merge->package[i].edition.rank;

        merge->result->named += rank == rank_of("new");
        merge->result->incomplete += rank == rank_of("incomplete");
    }
}

static int run_passes(struct merge *merge, struct err *err)
{
    int r = read_columns(merge, err);

    if (r == 0)
        r = over_inputs(merge, "surveying", merge_survey, err);
    if (r == 0)
        r = write_stores(merge, err);
    if (r == 0)
        r = index_load(merge->index, err);
    if (r == 0)
        r = over_inputs(merge, "copying", merge_copy, err);
    if (r == 0)
        r = over_inputs(merge, "joining", merge_join, err);
    if (r == 0)
        r = index_finish(merge->index, true, err);
    return r;
}

int merge_run(struct db *db, const struct merge_options *options, struct merge_result *ret_result,
              struct err *err)
{
    struct merge_result result = {0};
    struct merge merge = {.options = options,
                          .result = &result,
                          .db = db,
                          .packages = intern_new(),
                          .next_package = 1};
    int r = index_open(db, &merge.index, err);

    if (r == 0)
        r = run_passes(&merge, err);
    if (r == 0) {
        count_packages(&merge);
        tell_clashes(&merge);
        *ret_result = result;
    }
    index_close(merge.index);
    intern_free(merge.packages);
    free(merge.package);
    arena_release(&merge.arena);
    return r;
}
