/*
 * The archive: audit files (docs/audits.md) that were posted or made here, in one directory.
 *
 * An audit's id is a hash of its bytes: posted twice it is there once, and what an id stands for
 * never changes. Of every audit the header and totals are kept in memory, of a few that were asked
 * for last all of it. All functions may be called by any thread.
 */
#pragma once

#include "audit/audit.h"

enum { ARCHIVE_MAX = 2000, ARCHIVE_HELD = 4 };

struct archive;

/* An audit with all its lines, shared while somebody looks at it. */
struct held {
    struct audit audit;
    char id[20];

    /* private */
    struct arena arena;
    unsigned references;
};

/* `writable`: make the directory. Else it need not be there. Files that are no audits are skipped.
 */
MUST_CHECK int archive_open(const char *dir, bool writable, struct archive **ret_archive,
                            struct err *err);
void archive_close(struct archive *archive); /* NULL: nothing */

/* A place for a file that will be added, malloc()ed; `name` tells it from others. */
char *archive_draft(const struct archive *archive, const char *name);

/*
 * Take a file in (it is moved, or removed). -EBADMSG: it is no whole audit; -EMSGSIZE: there are
 * too many. *ret_is_new false: it was there.
 */
MUST_CHECK int archive_add(struct archive *archive, const char *path, char ret_id[20],
                           bool *ret_is_new, struct err *err);
/* -ENOENT */
MUST_CHECK int archive_remove(struct archive *archive, const char *id, struct err *err);

/* Ids are of archive_add(), or "latest". -ENOENT. To be given back. */
MUST_CHECK int archive_take(struct archive *archive, const char *id, struct held **ret_held,
                            struct err *err);
void archive_give(struct archive *archive, struct held *held);

/* What lists say of all, the newest first; of one (NULL: there is none). New references. */
json_t *archive_list(struct archive *archive);
json_t *archive_one(struct archive *archive, const char *id);

/* The file of an audit, malloc()ed; NULL: there is none. */
char *archive_file(struct archive *archive, const char *id);

/* Changes whenever one is added or removed. */
unsigned archive_revision(struct archive *archive);
