/*
 * A small store on disk, for tests of the scanner and of the index.
 *
 *	struct disk_store *s = disk_store_new();
 *	disk_store_elf(s, "0...-liba-1.0/lib/liba.so.1", &spec);
 *	... scan with root s->root, store "/store" ...
 *	disk_store_free(s);
 */
#pragma once

#include "base/db.h"
#include "tests/elf/elf_writer.h"

struct disk_store {
    struct arena arena;
    const char *root;  /* plays "/" */
    const char *store; /* "/store", as programs see it */
    const char *db;    /* where an index may be made */
};

/* An empty store in a new temporary directory. */
struct disk_store *disk_store_new(void);

/* Remove everything. */
void disk_store_free(struct disk_store *store);

/* Files below the store; directories are made as needed, an existing file is replaced. */
void disk_store_file(struct disk_store *store, const char *path, const void *bytes, size_t size);
void disk_store_elf(struct disk_store *store, const char *path, const struct elf_spec *spec);
void disk_store_link(struct disk_store *store, const char *path, const char *target);
void disk_store_dir(struct disk_store *store, const char *path);
void disk_store_fifo(struct disk_store *store, const char *path);
void disk_store_hard_link(struct disk_store *store, const char *path, const char *other);
void disk_store_remove(struct disk_store *store, const char *path);

/*
 * The packages that the tests share: a program, two libraries in a chain, a loader, and one of each
 * oddity (tests/disk_store.c lists them). Returns the number of packages.
 */
size_t disk_store_fill(struct disk_store *store);

/* An index of the store, made by a scan and open for writing. */
MUST_CHECK int disk_store_index(struct disk_store *store, struct db **ret_db, struct err *err);

#define DISK_HASH "0123456789abcdfghijklmnpqrsvwxy"
#define DISK_PROG DISK_HASH "1-prog-1.0"
#define DISK_LIBA DISK_HASH "2-liba-2.0"
#define DISK_LIBB DISK_HASH "3-libb-3.0"
#define DISK_LIBC DISK_HASH "4-glibc-2.40"
#define DISK_ODD  DISK_HASH "5-odd"
#define DISK_FILE DISK_HASH "6-file.so"
#define DISK_LINK DISK_HASH "7-link"
