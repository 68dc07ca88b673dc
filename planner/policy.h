/*
 * Policies: what must not break, and what the target offers.
 *
 * The default is stock glibc, no reader of notes, and overrides that must keep winning. A policy
 * file is JSON; what it does not name stays at its default:
 *
 *	{"schema": "stormlint-policy/1", "name": "hpc", "cpu": "x86-64-v4", "overrides": false,
 *	 "reader": "resolver", "resolver": "/nix/store/...-stormlint-resolver/lib/...",
 *	 "absolute": true, "stores": ["/opt/spack"], "allowed_references": ["/nix/store/..."]}
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "loader/profile.h"

struct policy {
    const char *name;
    const char *cpu;         /* whose numbers decide; NULL: the default of the program's machine */
    enum note_reader reader; /* what of it the target's loaders have; READER_NONE: stock glibc */
    const char *resolver;    /* reader "resolver": its library's path on the target; NULL: none */
    bool interpreters;       /* closure notes for interpreters, too */
    bool renew;              /* a closure note that says something else is replaced */
    bool overrides;          /* LD_LIBRARY_PATH and LD_PRELOAD must keep winning */
    bool absolute;           /* absolute paths are asked for: they may be chosen */
    bool cautious; /* every object that could locate itself keeps its path, reviewed or not */
    uint32_t small_graph;   /* libraries: up to so many are not lifted */
    uint32_t min_saving;    /* failed calls a start must save to be worth an edit at all */
    uint32_t reader_saving; /* failed calls that a start must have for a closure note */
    uint32_t lift_saving;   /* failed calls that lifting must save beyond scope own */

    const char **store; /* directories of packages, without final slash */
    size_t n_stores;

    /* A derivation's allowedReferences and disallowedReferences; NULL: not told. */
    const char **allowed, **disallowed;
    size_t n_allowed, n_disallowed;
};

/* The default policy. Static. */
const struct policy *policy_default(void);

/* Read a policy, or a file that holds one. Strings go into `arena`; `where` names it in errors. */
MUST_CHECK int policy_parse(json_t *json, const char *where, struct arena *arena,
                            struct policy *ret_policy, struct err *err);
MUST_CHECK int policy_read(const char *path, struct arena *arena, struct policy *ret_policy,
                           struct err *err);

/* The policy that a plan was made under, by the JSON text that policy_json() wrote into it. */
MUST_CHECK int policy_of_plan(const char *text, struct arena *arena, struct policy *ret_policy,
                              struct err *err);

/* How the policy is named in plans, so that two machines can see that they decided alike. */
json_t *policy_json(const struct policy *policy);

/* "none", "glibc-a", "glibc-b" */
const char *reader_name(enum note_reader reader);

/*
 * The package a path belongs to: "/nix/store/HASH-name" of "/nix/store/HASH-name/lib/x.so". NULL:
 * it lies in no store.
 */
const char *policy_package(const struct policy *policy, struct arena *arena, const char *path);
