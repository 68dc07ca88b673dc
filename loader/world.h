/*
 * The world: every file a loader could meet, as the kernel would show it.
 *
 *	struct world *w = world_live("/", getuid(), getgid());
 *	struct place at = world_walk(w, NULL, "/lib/libc.so.6");
 *	if (at.error == 0) ... at.node ...
 *	world_close(w);
 *
 * A world is a tree of nodes that fills itself when it is looked at: from the live file system
 * (world_live.c), from the index (world_index.c), from a recorded case (tests/), or from another
 * world with edits laid over it (world_overlay.c). Only the one function world_walk() knows how a
 * kernel follows a path: links, "..", ENOTDIR, ELOOP, ENAMETOOLONG, search permission. So all
 * worlds agree on it, and a probe costs one hash lookup once its directory has been walked.
 *
 * Nodes, names and objects live as long as the world (an overlay's as long as both). A world and
 * everything taken from it belongs to one thread. Answers are remembered: a world is a snapshot,
 * made for one look at a file system that stays still.
 */
#pragma once

#include "base/arena.h"
#include "base/intern.h"
#include "scanner/object.h"

#include <limits.h>

enum node_kind { NODE_DIR, NODE_FILE, NODE_LINK, NODE_OTHER };

/* A set of names that may claim to have others too: one bit for each possible rest of a hash. */
struct name_filter {
    uint64_t bits[8];
};

static inline void filter_add(struct name_filter *filter, uint32_t hash)
{
    filter->bits[hash >> 29] |= (uint64_t)1 << (hash >> 23 & 63);
}

static inline bool filter_has(const struct name_filter *filter, uint32_t hash)
{
    return filter->bits[hash >> 29] >> (hash >> 23 & 63) & 1;
}

struct node {
    enum node_kind kind;
    struct node *parent; /* NULL: the root */
    const struct name *name;
    uint64_t dev, ino; /* identity: two hard links have the same */
    uint32_t mode, uid, gid;
    uint64_t size;
    const char *target; /* NODE_LINK: its text */
    const char *bytes;  /* laid over, `size` of them; NULL: the world below has them, or nobody */

    /* Filled by world_object(). */
    bool object_known;
    int object_error; /* errno of reading it, 0: read */
    const struct object *object;

    /*
     * NODE_DIR: NULL, or a filter of the names in it, kept by the source: what is not in it (see
     * filter_has()) is not in the directory.
     */
    const struct name_filter *names;

    uint64_t source; /* the world's own mark, e.g. a row of the index */
    uint32_t number; /* from 1, dense and in order of first looks: arrays can be indexed by it */
    bool laid_over;  /* made by an overlay: worlds below know nothing of it */
};

/* Where a path leads. */
struct place {
    int error;         /* 0, or the errno a system call on this path would end with */
    bool assumed;      /* the error is an assumption: this world does not cover that path */
    struct node *node; /* never a link; NULL when there is an error */
};

struct world;

/* Where a world's nodes come from. All functions may be called again for the same thing. */
struct world_ops {
    /*
     * The entry `name` of directory `dir`. Fills kind, identity, owner, mode, size, target and
     * source of ret_node (which is otherwise set up) and returns 0; or returns -errno: -ENOENT
     * when there is none, -ENODATA when this world does not cover the place (assumed absent).
     */
    int (*child)(struct world *world, const struct node *dir, const struct name *name,
                 struct node *ret_node);
    /* The facts of a regular file; *ret_object NULL: it is not ELF. -errno: cannot be opened. */
    int (*object)(struct world *world, const struct node *file, const struct object **ret_object);
    /* The first `max` bytes of a regular file and a zero, into `arena`. -errno on failure. */
    int (*bytes)(struct world *world, const struct node *file, size_t max, struct arena *arena,
                 char **ret_bytes, size_t *ret_len);
    /* Call `each` for every entry name of a directory. -errno on failure. */
    int (*list)(struct world *world, struct node *dir, void (*each)(void *data, const char *name),
                void *data);
    void (*close)(struct world *world); /* free `data`; may be NULL */
    /*
     * Of an overlay, or NULL: it is about to be asked for an entry that it knows nothing of. True:
     * now it knows; false: the world below is asked.
     */
    bool (*learn)(struct world *world, struct node *dir, const struct name *name);
};

struct world {
    const struct world_ops *ops;
    void *data;          /* of ops */
    struct world *under; /* NULL, or the world this one is laid over */
    struct arena *arena; /* nodes and whatever ops keep */
    struct intern *names;
    struct node *root;
    uint32_t uid, gid; /* who looks: decides EACCES. 0 sees everything */
    bool has_proc;     /* /proc is mounted: /proc/self/exe can be read */
    uint32_t kernel;   /* release as major << 16 | minor << 8 | patch; UINT32_MAX: newer than any
                          file asks for */
    struct children *children;
    uint32_t n_nodes; /* numbered; counted by the lowest of worlds laid over each other */
    uint64_t n_steps; /* names looked up and components followed so far: what looking has cost */
};

/* A new world with an empty root directory, to be filled by `ops`. Takes `data`. */
struct world *world_new(const struct world_ops *ops, void *data, uint32_t uid, uint32_t gid);
void world_close(struct world *world);
void world_closep(struct world **world);

/* Bytes of what it has fetched, but for its tables: those take less. */
size_t world_held(const struct world *world);

/*
 * Follow `path` as the kernel does for open() and stat() (last link followed too). Relative paths
 * start at `from`, or at the root when that is NULL.
 */
struct place world_walk(struct world *world, struct node *from, const char *path);

/*
 * True: `name` is certainly not in the directory, which the world's user may search. False tells
 * nothing.
 */
static inline bool world_rejects(const struct world *world, const struct node *dir,
                                 const struct name *name)
{
    return dir->names && !world->under && world->uid == 0 && !filter_has(dir->names, name->hash) &&
           name->len <= NAME_MAX;
}

/* One entry of a directory, links not followed. NULL: not there. */
struct node *world_child(struct world *world, struct node *dir, const struct name *name);

/* The same, links followed and permission checked: open(2) of `name` in an open directory. */
struct place world_at(struct world *world, struct node *dir, const struct name *name);

/* May the world's user read this node? */
bool world_readable(const struct world *world, const struct node *node);

/*
 * The facts of a file; NULL: not an ELF file, or it cannot be read (node->object_error tells).
 * Bytes are parsed at most once.
 */
const struct object *world_object(struct world *world, struct node *file);

int world_bytes(struct world *world, struct node *file, size_t max, struct arena *arena,
                char **ret_bytes, size_t *ret_len);

/* Call `each` with the names in a directory, "." and ".." not among them. 0 or -errno. */
int world_list(struct world *world, struct node *dir, void (*each)(void *data, const char *name),
               void *data);

/* The same names, copied, as they come. */
MUST_CHECK int world_names(struct world *world, struct node *dir, struct arena *arena,
                           const char ***ret_name, size_t *ret_n);

/* The node's path without links, from the world's root: what realpath() would say. */
char *world_path(struct arena *arena, const struct node *node);

/* ---- world_live.c */

/*
 * The file system below `root` ("/" or a directory that plays its part; links that are absolute
 * stay inside it), read as it is now. `uid` and `gid` decide permissions by mode bits alone.
 */
MUST_CHECK int world_live(const char *root, uint32_t uid, uint32_t gid, struct world **ret_world,
                          struct err *err);

/* ---- world_overlay.c */

/*
 * Edits laid over another world, which stays as it is and must outlive the overlay. Parents of
 * what is added are made as needed; paths may go through links of the world below.
 */
struct world *world_overlay(struct world *under);

/*
 * An overlay that is filled as it is looked at: before anybody sees an entry of one of the
 * directories `store` (paths without links), `lay` is called with its path, once, and may lay edits
 * over what is there. So one over a large store costs as much as what is looked at. The list and
 * `data` are borrowed.
 */
struct overlay_source {
    const char *const *store;
    size_t n_stores;
    void (*lay)(void *data, struct world *overlay, const char *path);
    void *data;
};

struct world *world_overlay_from(struct world *under, const struct overlay_source *source);

MUST_CHECK int overlay_link(struct world *overlay, const char *path, const char *target,
                            struct err *err);
MUST_CHECK int overlay_file(struct world *overlay, const char *path, const struct object *object,
                            struct err *err);

/* ... a file that is no object, with these bytes, which are borrowed. */
MUST_CHECK int overlay_bytes(struct world *overlay, const char *path, const char *bytes,
                             size_t size, struct err *err);

/* Give the file that `path` leads to other facts, as a rename over it would: a new identity. */
MUST_CHECK int overlay_object(struct world *overlay, const char *path, const struct object *object,
                              struct err *err);
