/*
 * Strategies: who proposes what. One file each, one row each in the table.
 *
 * A strategy looks at a subject and proposes edits, or names the reason why it cannot. It never
 * judges itself: gates say whether it may try, criteria whether what it did is right.
 */
#pragma once

#include "planner/edit.h"
#include "planner/subject.h"

enum scope { SCOPE_OWN, SCOPE_LIFTED, SCOPE_CLOSURE };

enum method {
    METHOD_NONE,
    METHOD_FARM_OWN,
    METHOD_FARM_LIFTED,
    METHOD_ABSOLUTE_OWN,
    METHOD_ABSOLUTE_LIFTED,
    METHOD_NOTE_OWN,
    METHOD_NOTE_CLOSURE,
    N_METHODS,
};

#define METHOD_BIT(method) (1U << (method))
#define METHODS_FARM       (METHOD_BIT(METHOD_FARM_OWN) | METHOD_BIT(METHOD_FARM_LIFTED))
#define METHODS_ABSOLUTE   (METHOD_BIT(METHOD_ABSOLUTE_OWN) | METHOD_BIT(METHOD_ABSOLUTE_LIFTED))
#define METHODS_CLOSURE    METHOD_BIT(METHOD_NOTE_CLOSURE)
#define METHODS_NOTE       (METHOD_BIT(METHOD_NOTE_OWN) | METHODS_CLOSURE)
#define METHODS_LIFTED     (METHOD_BIT(METHOD_FARM_LIFTED) | METHOD_BIT(METHOD_ABSOLUTE_LIFTED))
#define METHODS_EDITING    (METHODS_FARM | METHODS_ABSOLUTE | METHODS_NOTE)

struct strategy {
    const char *name; /* "farm" */
    enum scope scope;
    const char *summary; /* what it does to the program, one line */
    const char *needs;   /* what it needs at run time that is not there everywhere; NULL: nothing */
    /* See strategy_propose(); the scope is its own. */
    int (*propose)(const struct subject *subject, enum scope scope, struct edits *ret_edits,
                   const char **ret_why_not, struct err *err);
};

/* The table, by method. */
const struct strategy *strategy_of(enum method method);

/*
 * 0 and edits; or 0 and *ret_why_not (a sentence), edits empty. Negative errno: the world failed.
 */
MUST_CHECK int strategy_propose(const struct strategy *strategy, const struct subject *subject,
                                struct edits *ret_edits, const char **ret_why_not, struct err *err);

/* The method of a strategy's and a scope's name (NULL: its first one); N_METHODS: there is none. */
enum method method_find(const char *strategy, const char *scope);

/* "own", "lifted", "closure" */
const char *scope_name(enum scope scope);

extern const struct strategy strategy_none;
extern const struct strategy strategy_farm_own, strategy_farm_lifted;
extern const struct strategy strategy_absolute_own, strategy_absolute_lifted;
extern const struct strategy strategy_note_own, strategy_note_closure;

/* ---- shared by strategies */

/*
 * One name to be taken care of: as asked, by whom it was asked first, and what answered.
 */
struct wanted {
    const char *name;
    const struct request *request;
    const struct loaded *answer;
    const struct member *member;
    const char *opened; /* path as opened; NULL: the loader itself, no search */
};

/*
 * The lifted list: every needed string whose request searched or opened a path, in request order,
 * with the loader's own soname at the place where it was first asked (docs/planner.md, lifting).
 * Scope own: only what the program asks itself.
 */
size_t wanted_list(const struct subject *subject, enum scope scope, struct wanted **ret_wanted);

/* May this name be answered by a farm, or must it be found where it was? NULL: may. */
const char *keep_out_of_farm(const struct subject *subject, const struct wanted *wanted);

/*
 * Directories outside the store that the walk for a name passes before its hit, in order.
 */
size_t passed_outside_store(const struct subject *subject, const struct wanted *wanted,
                            const char ***ret_directory);

/*
 * The directories outside the store that every one of these names passes first; they must stay in
 * front of a farm. Returns NULL, or a sentence when the names do not all pass the same: then no
 * place in one run path is right for all of them.
 */
const char *front_directories(const struct subject *subject, const struct wanted *wanted, size_t n,
                              const char ***ret_front, size_t *ret_n_front);

/* The program's run path as built (RUNPATH, else RPATH); "" when there is none. */
const char *old_run_path(const struct subject *subject);
