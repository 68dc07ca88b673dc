#include "scanner/index_private.h"

#include "scanner/store_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Between two commits: what a killed scan can lose. */
enum { COMMIT_NS = 10 * 1000 * 1000 };

#define OBJECTS_OF "BETWEEN ?1 AND ?2"

const struct sql index_sql[] = {
    [SQL_STORE_FIND] = {"store-find", "SELECT id, changed, root FROM store WHERE path = ?"},
    [SQL_STORE_ADD] = {"store-add", "INSERT INTO store (path, root) VALUES (?, ?)"},
    [SQL_STORE_CHANGED] = {"store-changed", "UPDATE store SET changed = ?2 WHERE id = ?1"},
    /* every directory is there as a whole */
    [SQL_STORE_WHOLE] = {"store-whole",
                         "UPDATE store SET whole = EXISTS (SELECT 1 FROM part WHERE store = ?1) "
                         "AND NOT EXISTS (SELECT 1 FROM part WHERE store = ?1 AND shards <> 1) "
                         "WHERE id = ?1"},
    [SQL_PARTS] = {"parts", "SELECT place, shards, shard FROM part WHERE store = ?"},
    [SQL_PART_ADD] = {"part-add", "INSERT OR IGNORE INTO part VALUES (?, ?, ?, ?)"},
    [SQL_PARTS_DROP] = {"parts-drop",
                        "DELETE FROM part WHERE store = ?1 AND (?2 IS NULL OR place <> ?2)"},
    /* all shards of one split are the whole ... */
    [SQL_PARTS_JOIN] = {"parts-join",
                        "INSERT OR IGNORE INTO part SELECT store, place, 1, 1 FROM part "
                        "WHERE store = ? AND shards > 1 GROUP BY store, place, shards "
                        "HAVING count(*) = shards"},
    /* ... which has every part in it ... */
    [SQL_PARTS_COVERED] = {"parts-covered",
                           "DELETE FROM part AS p WHERE store = ? AND shards <> 1 AND EXISTS "
                           "(SELECT 1 FROM part q WHERE q.store = p.store AND q.place = p.place "
                           "AND q.shards = 1)"},
    /* ... and 'some' says nothing beside a shard */
    [SQL_PARTS_SOME] = {"parts-some",
                        "DELETE FROM part AS p WHERE store = ? AND shards = 0 AND EXISTS "
                        "(SELECT 1 FROM part q WHERE q.store = p.store AND q.place = p.place "
                        "AND q.shards > 0)"},
    [SQL_PACKAGES] = {"packages", "SELECT id, base, nar_hash, mark, state FROM package "
                                  "WHERE store = ? ORDER BY id"},
    [SQL_PACKAGE_ADD] = {"package-add",
                         "INSERT INTO package (store, base, hash, name, pname, version, output, "
                         "state, nar_hash, nar_size) "
                         "VALUES (?, ?, ?, ?, ?, ?, ?, 'new', ?, ?)"},
    [SQL_PACKAGE_KNOW] = {"package-know",
                          "UPDATE package SET name = ?2, pname = ?3, version = ?4, output = ?5, "
                          "nar_size = ?6 WHERE id = ?1"},
    [SQL_PACKAGE_WRITE] = {"package-write",
                           "UPDATE package SET state = ?2, nar_hash = ?3, mark = ?4, kind = ?5, "
                           "target = ?6, files = ?7, macho = ?8, first_object = ?9, objects = ?10 "
                           "WHERE id = ?1"},
    [SQL_PACKAGE_COPY] = {"package-copy", "INSERT INTO package VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, "
                                          "?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    [SQL_PACKAGE_GONE] = {"package-gone",
                          "UPDATE package SET state = 'gone', mark = NULL, first_object = NULL, "
                          "objects = 0, files = NULL, macho = NULL WHERE id = ?"},
    [SQL_PACKAGE_OBJECTS] = {"package-objects",
                             "SELECT first_object, objects FROM package WHERE id = ?"},
    [SQL_DROP_LDSOS] = {"drop-ldsos", "DELETE FROM ldso WHERE object " OBJECTS_OF},
    [SQL_DROP_INODES] = {"drop-inodes", "DELETE FROM inode WHERE object " OBJECTS_OF},
    [SQL_DROP_STORMS] = {"drop-storms", "DELETE FROM storm WHERE program " OBJECTS_OF},
    [SQL_DROP_OBJECTS] = {"drop-objects", "DELETE FROM object WHERE id " OBJECTS_OF},
    [SQL_DROP_DIRECTORIES] = {"drop-directories", "DELETE FROM directory WHERE package = ?"},
    [SQL_DROP_PROBLEMS] = {"drop-problems", "DELETE FROM problem WHERE package = ?"},
    [SQL_DROP_REFERENCES] = {"drop-references", "DELETE FROM reference WHERE package = ?"},
    [SQL_DROP_REFERRERS] = {"drop-referrers", "DELETE FROM reference WHERE reference = ?"},
    [SQL_DROP_PACKAGE] = {"drop-package", "DELETE FROM package WHERE id = ?"},
    [SQL_STORES] = {"stores", "SELECT id, path, root FROM store ORDER BY id"},
    [SQL_REFERENCE_ADD] = {"reference-add", "INSERT OR IGNORE INTO reference VALUES (?, ?)"},
    [SQL_REFERENCES] = {"references", "SELECT base FROM reference JOIN package "
                                      "ON id = reference WHERE package = ?"},
    [SQL_DIRECTORY_ADD] = {"directory-add",
                           "INSERT OR REPLACE INTO directory VALUES (?, ?, ?, ?, ?, ?, ?, ?)"},
    [SQL_DIRECTORY_HAS] = {"directory-has",
                           "SELECT 1 FROM directory WHERE package = ? AND path = ?"},
    [SQL_DIRECTORY_CHANGED] = {"directory-changed",
                               "UPDATE directory SET changed = ?2 WHERE id = ?1"},
    [SQL_DIRECTORIES_WITH_OBJECTS] = {"directories-with-objects",
                                      "SELECT d.id, p.base, d.path, d.changed FROM directory d "
                                      "JOIN package p ON p.id = d.package "
                                      "WHERE p.store = ? AND p.objects > 0 AND p.kind = 'dir' "
                                      "AND p.nar_hash IS NOT NULL AND d.objects > 0"},
    [SQL_DIRECTORY_OBJECTS] = {"directory-objects",
                               "SELECT o.id, o.name FROM directory d JOIN object o ON o.id >= "
                               "d.first_object AND o.id < d.first_object + d.objects "
                               "WHERE d.id = ?"},
    [SQL_OBJECT_ADD] = {"object-add",
                        "INSERT INTO object VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                        "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    [SQL_LDSO_ADD] = {"ldso-add", "INSERT INTO ldso VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    [SQL_INODE_ADD] = {"inode-add", "INSERT OR REPLACE INTO inode VALUES (?, ?, ?)"},
    [SQL_INODE_DROP] = {"inode-drop", "DELETE FROM inode WHERE object = ?"},
    [SQL_PROBLEM_ADD] = {"problem-add", "INSERT INTO problem VALUES (?, ?, ?, ?)"},
    [SQL_NAMES] = {"names", "SELECT text, id FROM name ORDER BY id"},
    [SQL_NAME_ADD] = {"name-add", "INSERT INTO name VALUES (?, ?)"},
    [SQL_SEARCH_DIRS] = {"search-dirs", "SELECT text, id FROM search_dir ORDER BY id"},
    [SQL_SEARCH_DIR_ADD] = {"search-dir-add", "INSERT INTO search_dir VALUES (?, ?)"},
    [SQL_RUN_PATHS] = {"run-paths", "SELECT dirs, id FROM run_path ORDER BY id"},
    [SQL_RUN_PATH_ADD] = {"run-path-add", "INSERT INTO run_path VALUES (?, ?)"},
    [SQL_ORIGIN_DIRS] = {"origin-dirs",
                         "SELECT DISTINCT p.base, d.path, s.text FROM object o "
                         "JOIN run_path r ON r.id = o.rpath OR r.id = o.runpath "
                         "JOIN json_each(r.dirs) j JOIN search_dir s ON s.id = j.value "
                         "JOIN directory d ON d.id = o.directory "
                         "JOIN package p ON p.id = d.package WHERE substr(s.text, 1, 1) = '$'"},
    [SQL_LDSO_DIRS] =
        {"ldso-dirs", "SELECT system_dirs || coalesce(':' || rtrim(cache, replace(cache, '/', "
                      "'')), '') || coalesce(':' || rtrim(preload, replace(preload, '/', '')), '') "
                      "FROM ldso"},
    [SQL_MAX_OBJECT] = {"max-object", "SELECT max(id) FROM object"},
    [SQL_MAX_DIRECTORY] = {"max-directory", "SELECT max(id) FROM directory"},
    [SQL_MARK] = {"mark", "INSERT OR REPLACE INTO meta VALUES ('unfinished', 1)"},
    [SQL_MARKED] = {"marked", "SELECT value FROM meta WHERE key = 'unfinished'"},
    [SQL_UNMARK] = {"unmark", "DELETE FROM meta WHERE key = 'unfinished'"},
    [SQL_BUMP] = {"bump", "INSERT INTO meta VALUES ('generation', 1) "
                          "ON CONFLICT DO UPDATE SET value = value + 1"},
    [SQL_GENERATION] = {"generation", "SELECT value FROM meta WHERE key = 'generation'"},
    [SQL_TOTALS] = {"totals",
                    "SELECT (SELECT count(*) FROM package WHERE state = 'scanned'), "
                    "(SELECT count(*) FROM package WHERE state IN ('new', 'incomplete')), "
                    "(SELECT count(*) FROM package WHERE state = 'gone'), "
                    "(SELECT sum(files) FROM package), (SELECT sum(objects) FROM package), "
                    "(SELECT count(*) FROM object WHERE interp IS NOT NULL), "
                    "(SELECT sum(macho) FROM package), "
                    "(SELECT count(*) FROM problem WHERE kind = 'malformed'), "
                    "(SELECT count(*) FROM problem WHERE kind = 'unread')"},
    {NULL, NULL},
};

struct stmt *index_prepare(struct index *index, enum sql_id id, struct err *err)
{
    return db_prepare(index->db, index_sql[id].text, err);
}

/* ---- transactions */

static int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Say, in the first transaction of a scan, that there will be more of them. */
static int mark(struct index *index, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_MARK, err);
    int r = index_is_unfinished(index->db, &index->unfinished, err);

    if (r < 0 || !s)
        return -err->code;
    index->marked = true;
    return stmt_run(s, err);
}

int index_begin(struct index *index, struct err *err)
{
    int r;

    if (index->writing)
        return 0;
    r = db_begin(index->db, err);
    index->writing = r == 0;
    index->began_ns = now_ns();
    return r < 0 || index->marked ? r : mark(index, err);
}

int index_flush(struct index *index, struct err *err)
{
    int r;

    if (!index->writing)
        return 0;
    r = dictionary_store(index, &index->name, err);
    if (r == 0)
        r = dictionary_store(index, &index->search_dir, err);
    if (r == 0)
        r = dictionary_store(index, &index->run_path, err);
    if (r == 0)
        r = db_commit(index->db, err);
    if (r == 0)
        index->writing = false;
    return r;
}

int index_tick(struct index *index, struct err *err)
{
    if (!index->writing || now_ns() - index->began_ns < COMMIT_NS)
        return 0;
    return index_flush(index, err);
}

/* ---- dictionaries */

int64_t dictionary_id_n(struct dictionary *d, const char *text, size_t len)
{
    return (int64_t)intern_n(d->names, text, len)->id + 1;
}

int64_t dictionary_id(struct dictionary *dictionary, const char *text)
{
    return text ? dictionary_id_n(dictionary, text, strlen(text)) : 0;
}

int dictionary_store(struct index *index, struct dictionary *dictionary, struct err *err)
{
    const uint32_t n = dictionary->names ? intern_count(dictionary->names) : 0;
    struct stmt *s;
    int r = 0;

    if (dictionary->stored == n)
        return 0;
    s = index_prepare(index, dictionary->add, err);
    if (!s)
        return -err->code;
    for (; dictionary->stored < n && r == 0; dictionary->stored += r == 0) {
        const struct name *name = intern_name(dictionary->names, dictionary->stored);

        stmt_bind_int(s, 1, (int64_t)name->id + 1);
        stmt_bind_text_n(s, 2, name->text, name->len);
        r = stmt_run(s, err);
    }
    return r;
}

static int dictionary_load(struct index *index, struct dictionary *dictionary, enum sql_id all,
                           enum sql_id add, struct err *err)
{
    struct stmt *s = index_prepare(index, all, err);
    int r;

    dictionary->names = intern_new();
    dictionary->add = add;
    if (!s)
        return -err->code;
    while ((r = stmt_step(s, err)) > 0) {
        const char *text = stmt_text(s, 0);

        if (!text || dictionary_id_n(dictionary, text, stmt_size(s, 0)) != stmt_int(s, 1)) {
            stmt_reset(s);
            return err_set(err, EINVAL, "the index is damaged: table '%s' has gaps or doubles",
                           index_sql[all].name);
        }
    }
    dictionary->stored = dictionary->opened = intern_count(dictionary->names);
    return r;
}

/* ---- opening */

static int query_int(struct index *index, enum sql_id id, int64_t *ret, struct err *err)
{
    struct stmt *s = index_prepare(index, id, err);
    int r = s ? stmt_step(s, err) : -err->code;

    if (r > 0) {
        *ret = stmt_int(s, 0);
        stmt_reset(s);
    }
    return r < 0 ? r : 0;
}

int index_open(struct db *db, struct index **ret_index, struct err *err)
{
    CLEANUP(index_closep) struct index *index = calloc(1, sizeof(*index));

    if (!index)
        abort();
    index->db = db;
    *ret_index = index;
    index = NULL;
    (void)err;
    return 0;
}

/* Only what writes needs the dictionaries. */
int index_load(struct index *index, struct err *err)
{
    int r;

    if (index->expanded)
        return 0;
    index->expanded = intern_new();
    r = dictionary_load(index, &index->name, SQL_NAMES, SQL_NAME_ADD, err);
    if (r == 0)
        r = dictionary_load(index, &index->search_dir, SQL_SEARCH_DIRS, SQL_SEARCH_DIR_ADD, err);
    if (r == 0)
        r = dictionary_load(index, &index->run_path, SQL_RUN_PATHS, SQL_RUN_PATH_ADD, err);
    if (r == 0)
        r = query_int(index, SQL_MAX_OBJECT, &index->next_object, err);
    if (r == 0)
        r = query_int(index, SQL_MAX_DIRECTORY, &index->next_directory, err);
    index->next_object++;
    index->next_directory++;
    return r;
}

void index_close(struct index *index)
{
    if (!index)
        return;
    if (index->writing)
        db_rollback(index->db);
    intern_free(index->name.names);
    intern_free(index->search_dir.names);
    intern_free(index->run_path.names);
    intern_free(index->expanded);
    arena_release(&index->last);
    arena_release(&index->kept);
    free(index);
}

void index_closep(struct index **index)
{
    index_close(*index);
}

/* ---- stores and packages */

int index_store(struct index *index, const char *path, const char *root, int64_t *ret_store,
                uint64_t *ret_changed, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_STORE_FIND, err);
    int r;

    if (!s)
        return -err->code;
    index->store_path = arena_strdup(&index->kept, path);
    stmt_bind_text(s, 1, path);
    if ((r = stmt_step(s, err)) < 0)
        return r;
    if (r > 0) {
        const char *other = stmt_text(s, 2);

        *ret_store = stmt_int(s, 0);
        *ret_changed = (uint64_t)stmt_int(s, 1);
        r = str_same(other, root) ? 0
                                  : err_set(err, EEXIST,
                                            "the index holds '%s' of the tree under '%s', not "
                                            "'%s'; use another --db",
                                            path, other ? other : "", root);
        stmt_reset(s);
        return r;
    }
    if ((r = index_begin(index, err)) < 0)
        return r;
    s = index_prepare(index, SQL_STORE_ADD, err);
    if (!s)
        return -err->code;
    stmt_bind_text(s, 1, path);
    stmt_bind_text(s, 2, root);
    if ((r = stmt_run(s, err)) < 0)
        return r;
    *ret_store = db_last_id(index->db);
    *ret_changed = 0;
    return 0;
}

int index_set_store(struct index *index, int64_t store, uint64_t changed, struct err *err)
{
    struct stmt *s;
    int r = index_begin(index, err);

    if (r < 0)
        return r;
    s = index_prepare(index, SQL_STORE_CHANGED, err);
    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, store);
    stmt_bind_int(s, 2, (int64_t)changed);
    return stmt_run(s, err);
}

/* Run a statement about one store. */
static int run_of_store(struct index *index, enum sql_id id, int64_t store, const char *place,
                        struct err *err)
{
    struct stmt *s = index_prepare(index, id, err);

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, store);
    if (id == SQL_PARTS_DROP)
        stmt_bind_text(s, 2, place);
    return stmt_run(s, err);
}

int index_add_part(struct index *index, int64_t store, const struct part *part, struct err *err)
{
    struct stmt *s;
    int r = index_begin(index, err);

    if (r < 0)
        return r;
    s = index_prepare(index, SQL_PART_ADD, err);
    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, store);
    stmt_bind_text(s, 2, part->place);
    stmt_bind_int(s, 3, part->shards);
    stmt_bind_int(s, 4, part->shard);
    return stmt_run(s, err);
}

int index_settle_parts(struct index *index, int64_t store, struct err *err)
{
    static const enum sql_id ids[] = {SQL_PARTS_JOIN, SQL_PARTS_COVERED, SQL_PARTS_SOME,
                                      SQL_STORE_WHOLE};
    int r = index_begin(index, err);

    for (size_t i = 0; i < ARRAY_LEN(ids) && r == 0; i++)
        r = run_of_store(index, ids[i], store, NULL, err);
    return r;
}

/* Is nothing new in `part`: is it all there is, or, when it adds something, in what there is? */
static int is_known_part(struct index *index, int64_t store, const struct part *part,
                         bool *ret_known, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_PARTS, err);
    bool others = false, has = false;
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, store);
    while ((r = stmt_step(s, err)) > 0) {
        const unsigned shards = (unsigned)stmt_int(s, 1);
        const bool same = str_same(stmt_text(s, 0), part->place);
        const bool equal = shards == part->shards && stmt_int(s, 2) == part->shard;

        has |= same && (equal || (part->adds && (shards == 1 || part->shards == 0)));
        others |= !same || (!equal && !part->adds);
    }
    *ret_known = has && !others;
    return r;
}

int index_note_part(struct index *index, int64_t store, const struct part *part, bool *ret_changed,
                    struct err *err)
{
    bool known = false;
    int r = is_known_part(index, store, part, &known, err);

    *ret_changed = r == 0 && !known;
    if (r < 0 || known)
        return r;
    r = index_begin(index, err);
    if (r == 0)
        r = run_of_store(index, SQL_PARTS_DROP, store, part->adds ? part->place : NULL, err);
    if (r == 0)
        r = index_add_part(index, store, part, err);
    return r < 0 ? r : index_settle_parts(index, store, err);
}

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
    stmt_bind_text(s, 4, name.name);
    stmt_bind_text(s, 5, name.pname);
    stmt_bind_text(s, 6, name.version);
    stmt_bind_text(s, 7, name.output);
    stmt_bind_text(s, 8, path ? path->nar_hash : NULL);
    if (path && path->nar_size)
        stmt_bind_int(s, 9, path->nar_size);
    else
        stmt_bind_null(s, 9);
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
    stmt_bind_text(s, 2, name.name);
    stmt_bind_text(s, 3, name.pname);
    stmt_bind_text(s, 4, name.version);
    stmt_bind_text(s, 5, name.output);
    stmt_bind_int(s, 6, path->nar_size);
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

/* ---- meta */

int index_bump(struct index *index, struct err *err)
{
    struct stmt *s;
    int r = index_begin(index, err);

    if (r < 0)
        return r;
    s = index_prepare(index, SQL_BUMP, err);
    return s ? stmt_run(s, err) : -err->code;
}

/* Commit the last transaction, with the mark or without it. */
static int end(struct index *index, bool unmarks, struct err *err)
{
    struct stmt *s;
    int r = 0;

    if (index->marked && unmarks) {
        r = index_begin(index, err);
        s = r == 0 ? index_prepare(index, SQL_UNMARK, err) : NULL;
        r = s ? stmt_run(s, err) : -err->code;
    }
    if (r == 0)
        r = index_flush(index, err);
    index->marked = index->marked && r < 0;
    return r;
}

int index_finish(struct index *index, bool changed, struct err *err)
{
    const int r = changed || index->unfinished ? index_bump(index, err) : 0;

    return r < 0 ? r : end(index, true, err);
}

int index_settle(struct index *index, struct err *err)
{
    const int r = index_bump(index, err);

    return r < 0 ? r : end(index, !index->unfinished, err);
}

int index_is_unfinished(struct db *db, bool *ret_unfinished, struct err *err)
{
    struct stmt *s = db_prepare(db, index_sql[SQL_MARKED].text, err);
    int r = s ? stmt_step(s, err) : -err->code;

    if (r < 0)
        return r;
    *ret_unfinished = r > 0;
    stmt_reset(s);
    return 0;
}

int index_generation(struct db *db, int64_t *ret_generation, struct err *err)
{
    struct index index = {.db = db};

    *ret_generation = 0;
    return query_int(&index, SQL_GENERATION, ret_generation, err);
}

int index_totals(struct db *db, struct index_totals *ret, struct err *err)
{
    struct index index = {.db = db};
    struct stmt *s = index_prepare(&index, SQL_TOTALS, err);
    int r;

    if (!s)
        return -err->code;
    if ((r = stmt_step(s, err)) <= 0)
        return r;
    *ret = (struct index_totals){stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2),
                                 stmt_int(s, 3), stmt_int(s, 4), stmt_int(s, 5),
                                 stmt_int(s, 6), stmt_int(s, 7), stmt_int(s, 8)};
    stmt_reset(s);
    return 0;
}
