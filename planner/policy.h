/*
 * Policies: what must not break, and what the target offers.
 *
 *	stock          a loader as it comes, overrides keep winning (the default)
 *	resolver       programs may name the resolver library, which reads closure notes
 *	patched-glibc  the loader reads upstream resolution notes
 *	leaf-absolute  absolute paths, overrides given up: for self-contained leaf applications
 *
 * or a JSON file; what it does not name stays as in the policy it is based on (else stock):
 *
 *	{"schema": "stormlint-policy/1", "name": "hpc", "based_on": "leaf-absolute",
 *	 "cpu": "x86-64-v4", "stores": ["/opt/spack"], "max_inodes": 500,
 *	 "packages": [{"pname": "firefox*", "strategy": "none", "reason": "checks itself"}]}
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "linter/danger.h"
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
    bool cautious;       /* every object that could locate itself keeps its path, reviewed or not */
    uint32_t min_saving; /* failed opens that a start, or a package's programs, must save */
    uint32_t min_percent;   /* ... and which part of the failed opens as built */
    uint32_t reader_saving; /* failed calls that a start must have for a closure note */
    uint32_t lift_saving;   /* failed calls that lifting must save beyond scope own */

    const char **store; /* directories of packages, without final slash */
    size_t n_stores;

    /* A derivation's allowedReferences and disallowedReferences; NULL: not told. */
    const char **allowed, **disallowed;
    size_t n_allowed, n_disallowed;

    const char **required; /* ids of criteria that must not fail; NULL: what their table says */
    size_t n_required;

    /* Budgets of one object's edits; 0: none. Broken ones fail the criteria size and references. */
    uint32_t max_bytes, max_inodes, max_references;

    /*
     * What programs dlopen beside what they declare: NAME or PATH, "@OBJECT" behind it when that
     * library does (planner/plugins.h).
     */
    const char *const *plugins;
    size_t n_plugins;

    struct policy_package *package; /* pinned and excluded ones; the first that fits counts */
    size_t n_packages;

    const struct danger *danger; /* rules besides the table's (linter/danger_file.h); NULL: none */
};

/* What is to be done with a package, whatever would be best. */
struct policy_package {
    const char *pname;            /* glob */
    const char *strategy, *scope; /* "none" excludes it; scope NULL: any */
    const char *reason;
};

/* The default policy. Static. */
const struct policy *policy_default(void);

/* Read a policy. Strings go into `arena`; `where` names it in errors. */
MUST_CHECK int policy_parse(json_t *json, const char *where, struct arena *arena,
                            struct policy *ret_policy, struct err *err);

struct named_policy {
    const char *summary;
    struct policy policy;
};

/* The policies that have a name, by it; the last row's policy has no name. */
const struct named_policy *policies(void);

/* The first row for a package of that name; NULL: nothing is said. */
const struct policy_package *policy_pin(const struct policy *policy, const char *pname);

/* A policy by its name, or, when it is none, from a file. Strings go into `arena`. */
MUST_CHECK int policy_read(const char *path, struct arena *arena, struct policy *ret_policy,
                           struct err *err);

/* The policy that a plan was made under, by the JSON text that policy_json() wrote into it. */
MUST_CHECK int policy_of_plan(const char *text, struct arena *arena, struct policy *ret_policy,
                              struct err *err);

/* How the policy is named in plans, so that two machines can see that they decided alike. */
json_t *policy_json(const struct policy *policy);

/* "none", "glibc-a", "glibc-b" */
const char *reader_name(enum note_reader reader);

/* ---- policy_stores.c */

/*
 * The package a path belongs to: "/nix/store/HASH-name" of "/nix/store/HASH-name/lib/x.so". NULL:
 * it lies in no store.
 */
const char *policy_package(const struct policy *policy, struct arena *arena, const char *path);

/* Add a directory of packages; nothing when it is one already. */
void policy_add_store(struct policy *policy, struct arena *arena, const char *store);

/*
 * Add the store that a path lies in by its shape: a directory on the way is called
 * "HASH-name" or "name-HASH", with a hash of 32 characters, as Nix, Guix and Spack do.
 */
void policy_learn_store(struct policy *policy, struct arena *arena, const char *path);
