/*
 * Every SQL text that writes the index, in one table.
 */
#include "scanner/index_private.h"

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
                         "INSERT INTO package (store, base, hash, nar_hash, name, pname, version, "
                         "output, nar_size, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'new')"},
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
    [SQL_ORIGIN_DIRS] =
        {"origin-dirs", "WITH r AS MATERIALIZED (SELECT r.id, s.text FROM run_path r "
                        "JOIN json_each(r.dirs) j JOIN search_dir s ON s.id = j.value "
                        "WHERE substr(s.text, 1, 1) = '$') "
                        "SELECT DISTINCT p.base, d.path, r.text FROM object o "
                        "JOIN r ON r.id = o.rpath OR r.id = o.runpath "
                        "JOIN directory d ON d.id = o.directory JOIN package p ON p.id = d.package "
                        "WHERE o.rpath IN (SELECT id FROM r) OR o.runpath IN (SELECT id FROM r)"},
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
