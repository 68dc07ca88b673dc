/*
 * A closure: the packages and objects that are linted together, and what is known about them.
 *
 *	closure_init(&closure, world);
 *	closure_index(&closure, db, &scope, &err);	from an index (closure_index.c), or
 *	closure_live(&closure, &scope, &err);		from files as they are (closure_live.c)
 *	...
 *	closure_release(&closure);
 *
 * Packages that are not selected are there too when something selected refers to them, by name
 * alone: references are known, contents are not looked at.
 *
 * Files are looked at in `world`: the given one, which is borrowed, or for an index one of the
 * closure's own, which forgets what it has fetched whenever it is told to. What is known of all
 * objects at once is therefore little: paths, and what was found out. Their nodes and facts are there
 * after closure_look(), until the closure forgets.
 */
#pragma once

#include "base/db.h"
#include "base/progress.h"
#include "loader/world.h"
#include "scanner/origin.h"
#include "scanner/store_name.h"

struct wrapper; /* linter/wrappers.h */

struct lint_package {
    const char *path;                /* "/nix/store/HASH-name" */
    const char *base;                /* what follows the store */
    struct store_name name;          /* base taken apart */
    const char *key;                 /* without hash and version: "ffmpeg.out" */
    const struct origin *origin;     /* its attribute and maintainers; NULL: not known */
    bool selected;                   /* findings about it are wanted */
    bool registered;                 /* the store's database knows its references */
    struct lint_package **reference; /* complete when registered */
    size_t n_references;
    bool asked;                  /* for the linter: the rules about packages were */
    size_t index;                /* in closure.package */
    struct lint_object **object; /* its selected ones, by path */
    size_t n_objects;
};

/* What a needed name leads to. */
struct lint_need {
    struct lint_object *answer; /* when nothing else is in memory yet; NULL: nowhere */
    bool refused;               /* not found, but files were there: for another machine or class */
    bool satisfied;             /* in the start of some program it is answered */
    bool failed;                /* in the start of some program it is not */
    bool by_wrapper;            /* ... answered by the LD_LIBRARY_PATH that a wrapper sets */
};

struct lint_object {
    const char *path;             /* without links, as the world has it */
    const char *below;            /* in its package: "bin/ffmpeg"; else the whole path */
    struct lint_package *package; /* NULL: in no store */
    const char *interp;           /* whom it names as its loader; NULL: nobody */
    bool is_ldso;                 /* it is a loader itself */
    bool outside;                 /* not selected, but a needed name leads to it */

    /* After closure_look(): where it is, and what is in it. */
    struct node *node;           /* NULL: the index is damaged */
    const struct object *object; /* then empty */
    uint32_t seen;               /* private: in which of the closure's worlds */

    /* For the linter: what was found out about it, and what is still to be asked. */
    bool asked_alone, waits_for_user, waits_for_starts;
    /* Of each of its needed names, when it is loaded by itself; see starts.c. NULL: not asked. */
    struct lint_need *need;
    const char *loader; /* under which loader that was; NULL: not asked */
    const char *user;   /* the first program that has it in memory after its start; NULL: none */
    const struct wrapper *wrapper; /* what starts it, or its user; NULL: none known */
};

/* Something that could not be read, or is broken. */
struct lint_problem {
    struct lint_package *package; /* NULL: in no store */
    const char *path;             /* of the file */
    const char *text;
    bool unread; /* else malformed */
};

struct closure {
    struct world *world;
    struct arena arena;
    bool live; /* files can be read; an index has no bytes of scripts */
    const char **store;
    size_t n_stores;
    struct lint_package **package;
    size_t n_packages;
    struct lint_object **object; /* selected ones, by path */
    size_t n_objects;
    struct lint_problem *problem;
    size_t n_problems;

    /* private */
    struct intern *bases, *outside_paths; /* ids are indexes of `package`, of `outside` */
    struct lint_object **outside;
    struct world *own;            /* closed with it; NULL: `world` is borrowed */
    uint32_t generation;          /* of worlds: from 1 */
    bool finished;                /* all objects are known, by path */
    struct lint_object **by_node; /* by the nodes' numbers, of this generation */
    size_t size_by_node;
    /* private: what the package asked about last reaches */
    const struct lint_package *reached_from;
    bool reached_known; /* completely */
    size_t n_reached;
    uint32_t *reached, reaching; /* by package: the number of the question that reached it */
    struct lint_package **todo;
};

/* What is to be linted. */
struct lint_scope {
    const char *root;        /* where the store's database is looked for; live only */
    const char *const *path; /* files, packages, directories; none: all of an index */
    size_t n_paths;
    bool closure;                    /* and everything that their packages refer to */
    const struct progress *progress; /* whom to ask whether to go on, of an index; may be NULL */
};

void closure_init(struct closure *ret_closure, struct world *world);
void closure_release(struct closure *closure);

/* Fill it. -ENOENT: a path is not there; -ENODATA: references are asked for and not known. */
MUST_CHECK int closure_index(struct closure *closure, struct db *db, const struct lint_scope *scope,
                             struct err *err);
MUST_CHECK int closure_live(struct closure *closure, const struct lint_scope *scope,
                            struct err *err);

/* The package a path lies in, as written (links are not followed). NULL: in none that is known. */
struct lint_package *closure_package_of(const struct closure *closure, const char *path);

/* ... a node's file. */
struct lint_package *closure_package_at(struct closure *closure, const struct node *node);

/* Does the path (as written) lie in a store at all? */
bool closure_in_store(const struct closure *closure, const char *path);

/* The object of a node, looked at; NULL: none that is selected. */
struct lint_object *closure_object_of(struct closure *closure, const struct node *node);

/* ... of any: one that is not selected is kept, too. */
struct lint_object *closure_any_object(struct closure *closure, const struct node *node);

/* The object's key, without hash: "ffmpeg.out:bin/ffmpeg". In `arena`, or the object's own path. */
const char *closure_key(const struct lint_object *object, struct arena *arena);

/* Make node and facts known. */
void closure_look(struct closure *closure, struct lint_object *object);

/*
 * Forget what was fetched for looks, when that is much with `more` bytes that others have made of
 * it: is it time to, and do so. Nodes, facts and their texts are gone then. Files that are read as
 * they are now (closure_live()) are never forgotten. On failure nothing has changed.
 */
bool closure_holds_much(const struct closure *closure, size_t more);
MUST_CHECK int closure_forget(struct closure *closure, struct err *err);

/* Does `from` refer to `to`, directly or not? True when it is not known. */
bool closure_reaches(struct closure *closure, struct lint_package *from,
                     const struct lint_package *to);
bool closure_refers(const struct lint_package *from, const struct lint_package *to);

/* For people: every "/nix/store/HASH-name-1/lib/x" in the text as "name-1/lib/x". Not escaped. */
const char *closure_shown(const struct closure *closure, struct arena *arena, const char *text);

/* ---- for the files that fill it */

void closure_add_store(struct closure *closure, const char *path);
/* Find or add the package `base` of a store. */
struct lint_package *closure_add_package(struct closure *closure, const char *store,
                                         const char *base);
void closure_add_reference(struct closure *closure, struct lint_package *from,
                           struct lint_package *to);
/* Add a file when it is an object; what cannot be read or is malformed becomes a problem. */
void closure_add_file(struct closure *closure, struct node *node);
/* Add an object that is known to be one; the path is kept. */
struct lint_object *closure_add_object(struct closure *closure, const char *path,
                                       struct lint_package *package);
void closure_add_problem(struct closure *closure, const struct lint_problem *problem);
/* Select packages by the scope's paths and references; the paths must be in packages. */
void closure_spread(struct closure *closure);
/* Sort, and give keys. To be called last. */
void closure_finish(struct closure *closure);
