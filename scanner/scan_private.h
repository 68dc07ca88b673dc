/*
 * What the scan's two files share, nobody else.
 */
#pragma once

#include "base/intern.h"
#include "scanner/closure_file.h"
#include "scanner/index.h"
#include "scanner/scan.h"
#include "scanner/temp_roots.h"

/* What a reader is told about a package. */
struct job {
    const char *base;
    uint32_t number;     /* of the candidate */
    uint64_t known_mark; /* 0: none */
    int64_t size;        /* of its archive, bytes; 0: not known */
    bool registered;
};

/* A package as one scan sees it. */
struct candidate {
    const char *base;
    int64_t id;                  /* in the index; 0: not there */
    int state;                   /* of struct known_package */
    uint64_t mark;               /* known mark */
    const char *nar_hash;        /* known identity */
    const struct nix_path *path; /* what the database or the closure file says; NULL: nothing */
    bool present;                /* in the store's directory */
    bool wanted, queued;
    bool written, incomplete; /* in this scan */
    bool elsewhere;           /* wanted, but of another shard */
};

struct scan {
    const struct scan_options *options;
    struct scan_result *result;
    struct arena arena;
    struct index *index;
    int64_t store;
    uint64_t store_changed, store_changed_before;
    char place[80]; /* which directory it is */
    int store_fd;
    bool closure; /* only some packages ... */
    bool listed;  /* ... and a file says which */

    struct intern *bases; /* names; their ids number the candidates */
    struct candidate *candidate;
    size_t n_candidates, size_candidates;

    struct temp_roots *roots; /* of what is read; NULL: not held */
    struct closure_file told; /* by the closure file, or by Spack's packages */
    struct nix_db nix;
    uint32_t *by_nix_id; /* candidate number + 1 by the database's id */
    size_t n_by_nix_id;

    uint32_t *job; /* candidates to be read */
    size_t n_jobs, size_jobs, n_done, n_written;
    const struct job *round; /* of the work going on */
};

/* The candidate of that name, made if needed. Candidates move: keep numbers, not pointers. */
struct candidate *scan_candidate(struct scan *scan, const char *base);

static inline uint32_t scan_number(const struct scan *scan, const struct candidate *candidate)
{
    return (uint32_t)(candidate - scan->candidate);
}

/* Give a candidate of another shard a row, so that it can be referred to. */
MUST_CHECK int scan_name(struct scan *scan, uint32_t number, struct err *err);

/* Read the closure file, if there is one. */
MUST_CHECK int scan_read_closure(struct scan *scan, struct err *err);

/* Which candidates are wanted. */
MUST_CHECK int scan_choose(struct scan *scan, struct err *err);

/* What the database, the closure file or Spack's packages tell; without them there is nothing. */
MUST_CHECK int scan_ask_store(struct scan *scan, struct err *err);

/* Every reference that is told, by numbers of candidates, in their order. To be freed: its pairs. */
struct graph {
    struct pair {
        uint32_t from, to;
    } * pair;
    size_t n, size;
};
MUST_CHECK int scan_graph(struct scan *scan, struct graph *ret_graph, struct err *err);

/* Want what the wanted candidates refer to, as far as it is told. */
MUST_CHECK int scan_spread(struct scan *scan, struct err *err);

/* A candidate that a closure turns out to need; queued if it has to be read. */
MUST_CHECK int scan_want(struct scan *scan, struct candidate *candidate, struct err *err);

/* References of a package that only its own content tells / as the index knows them. */
MUST_CHECK int scan_own_references(struct scan *scan, uint32_t number,
                                   const struct package_facts *facts, struct err *err);

MUST_CHECK int scan_known_references(struct scan *scan, uint32_t number, struct err *err);

/* Directories that run paths name and no package's walk has kept. */
MUST_CHECK int scan_search_dirs(struct scan *scan, struct err *err);
