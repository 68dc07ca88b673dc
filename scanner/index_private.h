/*
 * What the files of the index share, nobody else.
 */
#pragma once

#include "base/intern.h"
#include "base/str.h"
#include "scanner/index.h"

enum sql_id {
    SQL_STORE_FIND,
    SQL_STORE_ADD,
    SQL_STORE_CHANGED,
    SQL_STORE_WHOLE,
    SQL_PARTS,
    SQL_PART_ADD,
    SQL_PARTS_DROP,
    SQL_PARTS_JOIN,
    SQL_PARTS_COVERED,
    SQL_PARTS_SOME,
    SQL_PACKAGES,
    SQL_PACKAGE_ADD,
    SQL_PACKAGE_KNOW,
    SQL_PACKAGE_WRITE,
    SQL_PACKAGE_COPY,
    SQL_PACKAGE_GONE,
    SQL_PACKAGE_OBJECTS,
    SQL_DROP_LDSOS,
    SQL_DROP_INODES,
    SQL_DROP_STORMS,
    SQL_DROP_OBJECTS,
    SQL_DROP_DIRECTORIES,
    SQL_DROP_PROBLEMS,
    SQL_DROP_REFERENCES,
    SQL_DROP_REFERRERS,
    SQL_DROP_PACKAGE,
    SQL_STORES,
    SQL_REFERENCE_ADD,
    SQL_REFERENCES,
    SQL_DIRECTORY_ADD,
    SQL_DIRECTORY_HAS,
    SQL_DIRECTORY_CHANGED,
    SQL_DIRECTORIES_WITH_OBJECTS,
    SQL_DIRECTORY_OBJECTS,
    SQL_OBJECT_ADD,
    SQL_LDSO_ADD,
    SQL_INODE_ADD,
    SQL_INODE_DROP,
    SQL_PROBLEM_ADD,
    SQL_NAMES,
    SQL_NAME_ADD,
    SQL_SEARCH_DIRS,
    SQL_SEARCH_DIR_ADD,
    SQL_RUN_PATHS,
    SQL_RUN_PATH_ADD,
    SQL_ORIGIN_DIRS,
    SQL_LDSO_DIRS,
    SQL_MAX_OBJECT,
    SQL_MAX_DIRECTORY,
    SQL_MARK,
    SQL_MARKED,
    SQL_UNMARK,
    SQL_BUMP,
    SQL_GENERATION,
    SQL_TOTALS,
};

/* An interned table: id in the database = id in memory + 1, both dense. */
struct dictionary {
    struct intern *names;
    uint32_t opened, stored; /* ids below were there when the index was opened / are there now */
    enum sql_id add;
};

struct index {
    struct db *db;
    struct dictionary name, search_dir, run_path;
    const char *store_path; /* as programs see it */

    struct intern *expanded; /* directories searched that search_dir does not spell out */
    struct arena kept;
    int64_t next_object, next_directory;
    bool writing;
    bool replaced;    /* a package was written in the place of an earlier state */
    bool marked;      /* it is said that a scan is not finished */
    bool unfinished;  /* so it was before: an earlier scan was killed */
    int64_t began_ns; /* when the transaction did */

    /* The run path seen last and its id: a package's objects mostly share one. */
    struct arena last;
    const char *last_path;
    int64_t last_id;
};

struct stmt *index_prepare(struct index *index, enum sql_id id, struct err *err);

/* Run a statement whose one parameter is an id. */
MUST_CHECK int index_run_of(struct index *index, enum sql_id sql, int64_t id, struct err *err);

/* Remember that somebody looks into the directories of a ':'-separated list. */
void index_note_dirs(struct index *index, const char *dirs);

/* ... into `dir`, which starts with $ORIGIN, of an object in directory `below` of a package. */
void index_note_origin(struct index *index, const char *base, const char *below, const char *dir);

/* Open a transaction if there is none: every change begins with this. */
MUST_CHECK int index_begin(struct index *index, struct err *err);

/* Read the dictionaries: before the first package is written. */
MUST_CHECK int index_load(struct index *index, struct err *err);

/* Database id of an interned text; NULL gives 0. */
int64_t dictionary_id(struct dictionary *dictionary, const char *text);
int64_t dictionary_id_n(struct dictionary *dictionary, const char *text, size_t len);

/* Read one, which is empty. -EINVAL: the index is damaged. */
MUST_CHECK int dictionary_load(struct index *index, struct dictionary *dictionary, enum sql_id all,
                               enum sql_id add, struct err *err);

/* Write what was interned since the last time. */
MUST_CHECK int dictionary_store(struct index *index, struct dictionary *dictionary,
                                struct err *err);

MUST_CHECK int index_add_inode(struct index *index, int64_t object, uint64_t dev, uint64_t ino,
                               struct err *err);

/*
 * Add one object, its numbers to `packed`; `place`: the directory it is in, as programs see it.
 */
MUST_CHECK int index_add_object(struct index *index, int64_t directory, const char *place,
                                const struct walked_object *found, struct str *packed,
                                struct err *err);
