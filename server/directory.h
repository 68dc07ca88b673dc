/*
 * Directories: where the failing calls of all starts go, added up.
 */
#pragma once

#include "server/snapshot.h"

/* One start that looked in vain into a directory. */
struct visit {
    const struct visit *next;
    uint32_t program; /* of the snapshot, by number */
    uint32_t failed;  /* opens and stats */
};

/* Sub-directories for CPUs (glibc-hwcaps/...) are part of the directory they are in. */
struct directory_row {
    const char *path;
    const struct package_row *package; /* NULL: in none */
    uint64_t failed_opens, failed_stats;
    uint64_t hwcaps;           /* of these, in sub-directories for CPUs */
    uint64_t hits;             /* files that were taken from it */
    uint32_t programs;         /* starts that looked there in vain */
    const struct visit *visit; /* which, if all programs were counted */
};

struct directories {
    struct arena arena;
    struct directory_row *row; /* by path */
    size_t n;
};

/* Of one program, with its start recorded here. To be freed. */
MUST_CHECK int directories_of(struct snapshot *snapshot, struct view *view,
                              const struct program_row *program, struct directories **ret,
                              struct err *err);

/* Of all programs: made at the first call, the snapshot's from then on. */
MUST_CHECK int directories_all(struct snapshot *snapshot, struct view *view,
                               const struct directories **ret, struct err *err);
void directories_free(struct directories *directories); /* NULL: nothing */
