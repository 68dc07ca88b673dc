/*
 * Packages into rows, and out of them again.
 */
#include "scanner/index_private.h"

#include "scanner/store_name.h"

/* ---- by name */

int index_packages(struct index *index, int64_t store,
                   void (*each)(void *data, const struct known_package *package), void *data,
                   struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_PACKAGES, err);
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, store);
    while ((r = stmt_step(s, err)) > 0) {
        const char *state = stmt_text(s, 4);
        struct known_package p = {stmt_int(s, 0), stmt_text(s, 1), stmt_text(s, 2),
                                  (uint64_t)stmt_int(s, 3), KNOWN_NEW};

        if (state && state[0] == 's')
            p.state = KNOWN_SCANNED;
        else if (state && state[0] == 'i')
            p.state = KNOWN_INCOMPLETE;
        else if (state && state[0] == 'g')
            p.state = KNOWN_GONE;
        each(data, &p);
    }
    return r;
}

/* What the name tells, from parameter `at` on, and the archive's size behind it. */
static void bind_named(struct stmt *s, int at, const struct store_name *name,
                       const struct nix_path *path)
{
    stmt_bind_text(s, at++, name->name);
    stmt_bind_text(s, at++, name->pname);
    stmt_bind_text(s, at++, name->version);
    stmt_bind_text(s, at++, name->output);
    if (path && path->nar_size)
        stmt_bind_int(s, at, path->nar_size);
    else
        stmt_bind_null(s, at);
}

int index_add_package(struct index *index, int64_t store, const char *base,
                      const struct nix_path *path, int64_t *ret_id, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct store_name name;
    struct stmt *s;
    int r = index_begin(index, err);

    if (r < 0)
        return r;
    s = index_prepare(index, SQL_PACKAGE_ADD, err);
    if (!s)
        return -err->code;
    store_name_parse(&a, base, path ? path->deriver : NULL, &name);
    stmt_bind_int(s, 1, store);
    stmt_bind_text(s, 2, base);
    stmt_bind_text(s, 3, name.hash);
    stmt_bind_text(s, 4, path ? path->nar_hash : NULL);
    bind_named(s, 5, &name, path);
    if ((r = stmt_run(s, err)) == 0)
        *ret_id = db_last_id(index->db);
    return r;
}

int index_know_package(struct index *index, int64_t id, const struct nix_path *path,
                       struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct store_name name;
    struct stmt *s;
    int r = index_begin(index, err);

    if (r < 0)
        return r;
    s = index_prepare(index, SQL_PACKAGE_KNOW, err);
    if (!s)
        return -err->code;
    store_name_parse(&a, path->base, path->deriver, &name);
    stmt_bind_int(s, 1, id);
    bind_named(s, 2, &name, path);
    return stmt_run(s, err);
}

int index_add_reference(struct index *index, int64_t package, int64_t reference, struct err *err)
{
    struct stmt *s;
    int r = index_begin(index, err);

    if (r < 0)
        return r;
    s = index_prepare(index, SQL_REFERENCE_ADD, err);
    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, package);
    stmt_bind_int(s, 2, reference);
    return stmt_run(s, err);
}

int index_references(struct index *index, int64_t package,
                     void (*each)(void *data, const char *base), void *data, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_REFERENCES, err);
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, package);
    while ((r = stmt_step(s, err)) > 0)
        each(data, stmt_text(s, 0));
    return r;
}

/* ---- what was there before */

static int drop_range(struct index *index, enum sql_id id, int64_t first, int64_t last,
                      struct err *err)
{
    struct stmt *s = index_prepare(index, id, err);

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, first);
    stmt_bind_int(s, 2, last);
    return stmt_run(s, err);
}

static int drop_objects(struct index *index, int64_t package, struct err *err)
{
    static const enum sql_id ids[] = {SQL_DROP_LDSOS, SQL_DROP_INODES, SQL_DROP_STORMS,
                                      SQL_DROP_OBJECTS};
    struct stmt *s = index_prepare(index, SQL_PACKAGE_OBJECTS, err);
    int64_t first = 0, n = 0;
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, package);
    if ((r = stmt_step(s, err)) < 0)
        return r;
    if (r > 0) {
        first = stmt_int(s, 0);
        n = stmt_int(s, 1);
        stmt_reset(s);
        r = 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(ids) && n && r == 0; i++)
        r = drop_range(index, ids[i], first, first + n - 1, err);
    return r;
}

static int drop_package(struct index *index, int64_t package, struct err *err)
{
    static const enum sql_id ids[] = {SQL_DROP_DIRECTORIES, SQL_DROP_PROBLEMS, SQL_DROP_REFERENCES};
    int r = drop_objects(index, package, err);

    for (size_t i = 0; i < ARRAY_LEN(ids) && r == 0; i++)
        r = index_run_of(index, ids[i], package, err);
    return r;
}

int index_forget_package(struct index *index, int64_t id, struct err *err)
{
    int r = index_begin(index, err);

    if (r == 0)
        r = drop_package(index, id, err);
    if (r == 0)
        r = index_run_of(index, SQL_PACKAGE_GONE, id, err);
    return r;
}

int index_drop_package(struct index *index, int64_t id, struct err *err)
{
    static const enum sql_id ids[] = {SQL_DROP_REFERRERS, SQL_DROP_PACKAGE};
    int r = index_begin(index, err);

    if (r == 0)
        r = drop_package(index, id, err);
    for (size_t i = 0; i < ARRAY_LEN(ids) && r == 0; i++)
        r = index_run_of(index, ids[i], id, err);
    return r;
}

/* ---- what is there now */

static int add_directory(struct index *index, int64_t package, const char *place,
                         const struct walked_dir *dir, struct arena *arena, struct err *err)
{
    const int64_t id = index->next_directory++, first_object = index->next_object;
    const char *where = dir->path[0] ? str_join(arena, place, dir->path) : place;
    struct str packed = {.arena = arena};
    struct stmt *s;
    int r = 0;

    str_add(&packed, "");
    for (size_t i = 0; i < dir->n_objects && r == 0; i++)
        r = index_add_object(index, id, where, &dir->object[i], &packed, err);
    if (r < 0)
        return r;
    s = index_prepare(index, SQL_DIRECTORY_ADD, err);
    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, id);
    stmt_bind_int(s, 2, package);
    stmt_bind_text(s, 3, dir->path);
    stmt_bind_int(s, 4, first_object);
    stmt_bind_int(s, 5, (int64_t)dir->n_objects);
    stmt_bind_blob(s, 6, dir->entries, dir->entries_size);
    stmt_bind_blob(s, 7, packed.text, packed.len);
    stmt_bind_int(s, 8, (int64_t)dir->changed);
    return stmt_run(s, err);
}

static int add_problems(struct index *index, int64_t package, const struct package_facts *f,
                        struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < f->n_problems && r == 0; i++) {
        const struct walked_problem *p = &f->problem[i];
        struct stmt *s = index_prepare(index, SQL_PROBLEM_ADD, err);

        if (!s)
            return -err->code;
        stmt_bind_int(s, 1, package);
        stmt_bind_text(s, 2, p->path);
        stmt_bind_text(s, 3, p->unread ? "unread" : "malformed");
        stmt_bind_text(s, 4, p->text);
        r = stmt_run(s, err);
    }
    return r;
}

static int write_row(struct index *index, int64_t id, const struct package_facts *f,
                     const char *nar_hash, int64_t first_object, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_PACKAGE_WRITE, err);

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, id);
    stmt_bind_text(s, 2, f->state == PACKAGE_SCANNED ? "scanned" : "incomplete");
    stmt_bind_text(s, 3, nar_hash);
    if (f->mark)
        stmt_bind_int(s, 4, (int64_t)f->mark);
    else
        stmt_bind_null(s, 4);
    stmt_bind_text(s, 5, f->kind);
    stmt_bind_text(s, 6, f->target);
    stmt_bind_int(s, 7, (int64_t)f->files);
    stmt_bind_int(s, 8, (int64_t)f->macho);
    stmt_bind_int(s, 9, first_object);
    stmt_bind_int(s, 10, index->next_object - first_object);
    return stmt_run(s, err);
}

int index_add_directories(struct index *index, int64_t id, const struct package_facts *f,
                          struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    int r = index_load(index, err);

    if (r == 0)
        r = index_begin(index, err);
    for (size_t i = 0; i < f->n_dirs && r == 0; i++)
        r = add_directory(index, id, str_join(&arena, index->store_path, f->base), &f->dir[i],
                          &arena, err);
    return r;
}

int index_write_package(struct index *index, int64_t id, const struct package_facts *f,
                        const char *nar_hash, bool replaces, struct err *err)
{
    int64_t first_object;
    int r = index_load(index, err);

    if (r == 0)
        r = index_begin(index, err);
    if (r == 0 && replaces)
        r = drop_package(index, id, err);
    index->replaced |= replaces;
    first_object = index->next_object;
    if (r == 0)
        r = index_add_directories(index, id, f, err);
    if (r == 0)
        r = add_problems(index, id, f, err);
    if (r == 0)
        r = write_row(index, id, f, nar_hash, first_object, err);
    return r;
}

int index_has_directory(struct index *index, int64_t id, const char *path, bool *ret_has,
                        struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_DIRECTORY_HAS, err);
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, id);
    stmt_bind_text(s, 2, path);
    if ((r = stmt_step(s, err)) < 0)
        return r;
    if (r > 0)
        stmt_reset(s);
    *ret_has = r > 0;
    return 0;
}

/* What earlier scans have seen and search_dir does not spell out, as if this one had. */
static int note_expanded(struct index *index, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_ORIGIN_DIRS, err);
    int r;

    if (!s)
        return -err->code;
    while ((r = stmt_step(s, err)) > 0)
        index_note_origin(index, stmt_text(s, 0), stmt_text(s, 1), stmt_text(s, 2));
    if (r == 0 && !(s = index_prepare(index, SQL_LDSO_DIRS, err)))
        return -err->code;
    while (r == 0 && (r = stmt_step(s, err)) > 0) {
        index_note_dirs(index, stmt_text(s, 0));
        r = 0;
    }
    return r;
}

int index_search_dirs(struct index *index, void (*each)(void *data, const char *path, bool known),
                      void *data, struct err *err)
{
    const struct dictionary *dirs = &index->search_dir;
    bool unfinished = index->unfinished;
    int r = index->marked ? 0 : index_is_unfinished(index->db, &unfinished, err);

    if (r == 0 && unfinished)
        r = index_load(index, err);
    if (r == 0 && (unfinished || index->replaced))
        r = note_expanded(index, err);
    if (r < 0 || !index->expanded)
        return r;
    for (uint32_t i = 0; i < intern_count(dirs->names); i++)
        each(data, intern_name(dirs->names, i)->text, i < dirs->opened && !unfinished);
    for (uint32_t i = 0; i < intern_count(index->expanded); i++)
        each(data, intern_name(index->expanded, i)->text, false);
    return 0;
}
