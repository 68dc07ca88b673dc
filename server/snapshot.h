/*
 * Snapshots: what the service knows of one moment of the index.
 *
 * Made in the background for every new state of the index, then shared by all requests until the
 * next one is ready. What is heavy is here once: programs with their storms, packages, plans as
 * they are made, and finished answers (bodies), which die with the snapshot.
 */
#pragma once

#include "loader/storm.h"
#include "planner/follow.h"
#include "planner/plan.h"
#include "scanner/index.h"
#include "scanner/origin.h"
#include "server/http.h"
#include "server/order.h"
#include "server/view.h"

#include <pthread.h>

/* What a program's plan comes to; set once, when it is known. */
struct remedy {
    bool known;
    const char *strategy, *scope;      /* of the planner's tables */
    uint32_t after_opens, after_stats; /* that still fail */
};

struct program_row {
    char id[24];         /* stable as long as its path is */
    struct storm_row of; /* .program: its path */
    int64_t object;
    uint32_t package; /* into the snapshot's packages; UINT32_MAX: none */
    struct remedy remedy;
    const struct storm *levels; /* on each CPU level; atomic; NULL: nobody has asked yet */
};

/* A package's plan, compressed; set once. */
struct plan_text {
    char *gzip;               /* NULL: there is none (yet) */
    size_t gzip_len, raw_len; /* gzip_len 0: it did not get smaller */
    bool known;               /* planned, or it cannot be */
    const char *why_not;      /* NULL, or why there is none */
};

struct package_row {
    int64_t row;
    const char *path, *base, *pname, *version, *output, *state;
    const struct origin *origin; /* NULL: not known */
    int64_t nar_size;            /* bytes; -1: not registered */
    int64_t objects, files, first_object;
    uint32_t *program; /* into the snapshot's programs, worst first */
    uint32_t n_programs;
    uint64_t failed; /* of its worst program */
    struct plan_text plan;
};

/* Packages beside each package: those of package `i` are to[first[i]] to to[first[i + 1] - 1]. */
struct beside {
    uint32_t *first, *to; /* ascending: by base */
};

struct kept; /* a finished answer */
struct route;

struct snapshot {
    unsigned references; /* atomic */
    const char *path;    /* of the index */
    struct arena arena;
    struct moment moment;
    const char *cpu;
    struct policy policy;      /* with the index's own stores in it */
    char tag[20];              /* of everything that follows from the index alone */
    int64_t made_at, index_at; /* seconds since 1970: of the snapshot; the file's last change */
    struct store_place *store;
    size_t n_stores;
    struct index_totals totals;
    struct storm sum;
    struct program_row *program; /* worst first */
    size_t n_programs;
    uint32_t *by_id;             /* programs, by id */
    struct package_row *package; /* by base */
    size_t n_packages;
    struct beside refers_to, referred_by; /* without itself, and without what is gone */

    pthread_mutex_t lock; /* of what follows, and of remedies and plans */
    pthread_cond_t view_free;
    struct view *view[VIEWS]; /* those nobody uses */
    size_t n_views, n_alive;
    size_t n_spoiled;            /* that were replaced */
    size_t n_planned, n_to_plan; /* packages with programs */
    unsigned revision;           /* grows with plans; atomic */
    struct arena remarks;        /* why_not texts, levels */

    pthread_rwlock_t kept_lock; /* of finished answers */
    struct kept *kept;
    size_t kept_bytes;

    const bool *quit;                /* NULL, or set (atomic): what is heavy is to end soon */
    bool warm;                       /* atomic: both of what follows are there */
    pthread_mutex_t heavy_lock;      /* held while it is made */
    struct directories *directories; /* server/directory.h; NULL: nobody has asked yet */
    pthread_mutex_t audit_lock;      /* likewise */
    struct index_audit *audit;       /* server/index_audit.h; NULL: nobody has asked yet */
};

/*
 * Read the index as it is now (snapshot_make.c) and compute every program's storm. `stop` is looked at now and then:
 * true ends it with -EAGAIN. -EAGAIN also when the index changes meanwhile.
 */
MUST_CHECK int snapshot_make(const char *path, const char *cpu, const struct policy *policy,
                             const bool *stop, struct snapshot **ret_snapshot, struct err *err);
struct snapshot *snapshot_ref(struct snapshot *snapshot);
void snapshot_unref(struct snapshot *snapshot); /* NULL: nothing */

/*
 * A view for one use. Waits while all are in use. NULL: there are none any more. Given back as
 * failed (the database did not answer: its world may believe what is not so) it is replaced.
 */
struct view *snapshot_take(struct snapshot *snapshot);
void snapshot_give(struct snapshot *snapshot, struct view *view, bool failed);
/* Were there so many failures that it should be made anew? */
bool snapshot_is_worn_out(struct snapshot *snapshot);

/* A program by id or path, a package by base name or path; NULL: there is none. */
struct program_row *snapshot_program(const struct snapshot *snapshot, const char *id);
struct package_row *snapshot_package(const struct snapshot *snapshot, const char *id);

/* The programs of a package as the planner takes them, by path. */
size_t snapshot_programs_of(const struct snapshot *snapshot, const struct package_row *package,
                            struct arena *arena, struct program **ret_program);

/* Plan every package that has programs, worst first, until done or `stop`. Slow. */
void snapshot_plan(struct snapshot *snapshot, const bool *stop);

/* `from` with every store that packages of the snapshot lie in. Borrowed from both. */
struct policy snapshot_policy(struct snapshot *snapshot, const struct policy *from);

/* Keep a program's storms on all levels: the snapshot's copy, or what another thread kept first. */
const struct storm *snapshot_set_levels(struct snapshot *snapshot, struct program_row *program,
                                        const struct storm *storm, size_t n);

/* Copies of what planning changes. */
struct remedy snapshot_remedy(struct snapshot *snapshot, const struct program_row *program);
void snapshot_progress(struct snapshot *snapshot, size_t *ret_planned, size_t *ret_to_plan,
                       unsigned *ret_revision);
/* The plan of a package as JSON text, malloc()ed; NULL: not known (yet), *ret_why_not says why. */
char *snapshot_plan_text(struct snapshot *snapshot, const struct package_row *package,
                         size_t *ret_len, const char **ret_why_not);

/*
 * Finished answers by URL, as it was sent: sealed bodies, kept for a route until plans, or where
 * the route is about them audits, are others. The body is referenced for the caller.
 */
struct http_body *snapshot_recall(struct snapshot *snapshot, const char *url, unsigned audits,
                                  const struct route **ret_route);
void snapshot_keep(struct snapshot *snapshot, const char *url, const struct route *route,
                   unsigned revision, unsigned audits, struct http_body *body);

/* What of a program's id follows from its path alone; a number behind it tells equal ones apart. */
enum { PROGRAM_HASH = 16 };
void program_hash(const char *path, char ret_hash[PROGRAM_HASH + 1]);

/* 64 bits of FNV-1a over a text; `seed` 0 at first. */
uint64_t hash_text(uint64_t seed, const char *text);
