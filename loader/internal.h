/*
 * The insides of the loader model, grouped by the file that defines them. Nobody outside loader/
 * includes this.
 *
 *	slots.c    things by name
 *	memo.c     what does not change between runs: directories, images, expansions
 *	judge.c    is this file one for this loader?
 *	run.c      the state of one run
 *	record.c   what a run tells of itself: calls, requests, how it ends
 *	search.c   where is a name? path lists, the walk, the cache
 *	ldcache.c  the cache file
 *	note.c     the resolution note
 *	resolver.c an audit module that reads notes
 *	glibc*.c   one start under glibc: audit modules, preloads, needed names, dlopens
 *	musl.c     one start under musl
 *	dlopens.c  what is dlopened after it
 *	explicit.c ld.so [options] PROGRAM
 */
#pragma once

#include "loader/loader.h"
#include "loader/slots.h"
#include "loader/token.h"
#include "resolver/decide.h"

/* ---- memo.c */

/* One directory string of the loader's process-wide table (docs/loader.md, 6). */
struct dir {
    const struct name *path; /* ends in '/', or is "" */
    uint32_t id;             /* dense, for per-run state */
    bool relative;
    struct place *at; /* where path + cap leads, one a cap; walked on first use */
    uint8_t *walked;  /* one a cap: `at` is known */
    uint64_t listed;  /* the path list it was last put into: each holds it once */
};

struct dirlist {
    struct dir **dir;
    size_t n;
    bool exists; /* there is such a path at all (an empty string is none) */
    bool token;  /* a known token stood in it: the program's origin was asked for */
};

/* What the loader makes of an opened file. */
enum judgement { JUDGED_GOOD, JUDGED_MISS, JUDGED_FATAL };

/* A file as opened by one path: everything derived from the two, remembered. */
struct image {
    const struct name *path; /* as opened */
    struct node *node;
    const struct object *object; /* NULL: not ELF */
    enum judgement judgement;
    const char *why;           /* of a miss or a fatal one */
    const char *unusable;      /* good header, but cannot be mapped as a library: why (fatal) */
    const struct name *soname; /* NULL: none */
    const struct name **need;  /* expanded, one a object->need; NULL: cannot be expanded */
    const char *origin;
    struct dirlist rpath, runpath;
    bool paths_known; /* rpath and runpath are filled */
};

/* What opening a name in an existing directory gives: an image, or an errno. */
struct probe {
    uint64_t key; /* of (directory, cap, name) */
    struct image *image;
    int error;
    bool assumed;
};

/* Everything that depends on one loader file: its profile and what was derived under it. */
struct setup {
    struct setup *next;
    /* The variant; mask NULL: not given. */
    const struct name *interp, *tunables, *prepend, *mask;
    bool tunables_known; /* they say nothing else about the CPU */
    struct cpu cpu;      /* without what the tunables hide */
    struct node *node;   /* the loader file; NULL: see problem */
    const char *problem;
    bool outside; /* the problem is an assumption: the world does not cover the loader's path */
    struct profile profile;
    /* Pointers, by the id of the path's name; directories also as path lists spell them. */
    struct slots dir_by_name, image_by_name;
    uint32_t n_dirs;
    size_t *cap_len;      /* of profile.caps */
    struct probe *probes; /* open addressing, key 0: free */
    uint32_t probe_mask, n_probes;
    struct dirlist system;
};

struct loader {
    struct world *world;
    const struct cpu *cpu;
    const char *cwd;
    struct node *cwd_node; /* NULL: the directory is not there */
    bool secure;
    struct arena *arena;
    struct setup *setups;
    const struct name *empty; /* "" */
    struct run *run;          /* per-run state, reused */
    uint64_t n_lists;         /* path lists made so far */
};

/* What decides a setup. Strings are "" when not given. */
struct variant {
    const char *interp;         /* as the program names it, or as it was invoked */
    const char *tunables;       /* GLIBC_TUNABLES */
    const char *prepend, *mask; /* --glibc-hwcaps-prepend; --glibc-hwcaps-mask, NULL: not given */
};

/* Never NULL; `problem` tells a useless one. */
struct setup *setup_get(struct loader *loader, const struct variant *variant);

/* Where path + caps[cap] leads (a directory or not). */
struct place dir_at(struct loader *loader, struct setup *setup, struct dir *dir, size_t cap);

/*
 * Split and expand a path string (docs/loader.md, 6); `separators` is ":" or ":;". `owner_is_main`
 * matters in secure mode only.
 */
struct dirlist dirlist_make(struct loader *loader, struct setup *setup, const char *text,
                            const char *separators, const struct tokens *tokens,
                            bool owner_is_main);

/*
 * A text with its tokens expanded, which secure mode may forbid (docs/loader.md, 14). NULL: nothing
 * is left of it.
 */
const char *text_expand(struct loader *loader, struct arena *arena, const char *text,
                        const struct setup *setup, const struct tokens *tokens, bool owner_is_main);

/* The slot of a probe; its key is 0 when it was not made yet. */
struct probe *probe_slot(struct setup *setup, const struct dir *dir, size_t cap,
                         const struct name *name);

/* Remember a probe that has no slot yet; returns it. */
struct probe probe_keep(struct setup *setup, const struct dir *dir, size_t cap,
                        const struct name *name, struct probe probe);

/* The image of `node` opened as `path`. */
struct image *image_get(struct loader *loader, struct setup *setup, const struct name *path,
                        struct node *node);

/* Fill rpath and runpath, which were not known yet. */
void image_paths(struct loader *loader, struct setup *setup, struct image *image);

/* The directory part of an opened path: what $ORIGIN means for a library. */
const char *origin_of(struct loader *loader, struct arena *arena, const char *path);

/* A path as the process sees it: relative ones start at its working directory. */
struct place loader_walk(struct loader *loader, const char *path);

/* ---- judge.c */

/* The header checks of docs/loader.md, section 9, in their order. */
enum judgement judge_header(const struct profile *profile, uint32_t kernel, const struct node *node,
                            const struct object *object, const char **ret_why);

/* The checks after the inode comparison. NULL: it can be mapped as a library. */
const char *judge_library(const struct object *object);

/* ---- run.c: the state of one run */

struct worklist;

/* One object in memory. */
struct lib {
    struct image *image; /* NULL: the vDSO */
    struct lib *chain;   /* who loaded it, for the RPATH chain; NULL: nobody */
    int index;           /* in trace.loaded; -1: not there (yet) */
    bool is_main, is_self;
    bool is_module;                /* in the namespace of an audit module */
    const struct worklist *listed; /* the work list it was last put into */
    bool opened; /* its own list of dependencies is complete: dlopen asks nothing again */
    const struct name **name; /* every name it is known by */
    size_t n_names;
    const char *musl_path; /* musl: its run path with $ORIGIN replaced; NULL: not asked (yet) */
};

/* The objects of one namespace in list order. */
struct space {
    struct lib **lib;
    size_t n;
    bool is_base;       /* the program's own: names are found by the fast map */
    bool broken;        /* a filter's move has lost objects: the loader counts more than it finds */
    uint64_t files[16]; /* one bit for each possible hash of an identity: most files are new */
    struct lib **by_file; /* of many: open addressing by identity; NULL: not made (yet) */
    size_t by_file_mask;
};

/* What is known about a directory in this process (docs/loader.md, 8). */
enum dir_state { DIR_UNKNOWN, DIR_EXISTS, DIR_MISSING };

struct known {
    uint32_t stamp;
    struct lib *lib;
};

/* The cache file in this process. */
enum cache_state { CACHE_UNASKED, CACHE_ABSENT, CACHE_MAPPED };

struct ldcache;
struct explicit;

struct run {
    struct loader *loader;
    struct setup *setup;
    struct world *world;
    struct intern *names;
    struct arena *arena;
    struct trace *trace;
    const struct start *start;
    struct storm *storm; /* of the current phase */
    int phase;
    int request; /* index, -1: none */

    uint32_t stamp;     /* of this run: what is older is void */
    struct slots known; /* struct known, by the id of the name */
    uint32_t *dir_stamp;
    uint8_t *dir_state; /* n_caps a directory */
    uint32_t n_dir_slots;
    size_t dir_width; /* n_caps of the setup that dir_state was laid out for */

    struct space base;
    struct lib *main, *self, *vdso;
    struct dirlist library_path;
    enum cache_state cache;
    struct ldcache *cache_data;
    const char *origin; /* of the program; NULL: not asked, or cannot be told */
    bool origin_asked;
    const char *self_origin; /* the same asked by ld.so, which remembers its own answer */
    bool self_origin_asked;
    struct explicit *explicit; /* NULL: the kernel started the program */
    const char *musl_system;   /* musl: its system path once it was asked for */
    struct resolver *resolver; /* NULL: no module reads notes in this start */
    bool goes_on;              /* it only lists: a missing library may not end it */
    uint32_t n_asked;          /* requests made, kept or not */
    uint64_t effort;           /* bytes of paths, and of what else takes time without a call */
};

/* Count one call. That is all when calls are not kept, which is worth a way of its own. */
static inline void run_count(struct run *run, enum call_kind kind, int error)
{
    struct storm *s = run->storm;
    const uint32_t failed = error != 0;

    if (kind == CALL_OPEN) {
        s->opens++;
        s->failed_opens += failed;
    } else if (kind == CALL_STAT) {
        s->stats++;
        s->failed_stats += failed;
    } else {
        s->others++;
        s->failed_others += failed;
    }
}

/* An environment variable as the loader sees it: of several the last (first = false). */
const char *run_env(const struct run *run, const char *name, bool first);

/* Objects and names. */
struct lib *lib_new(struct run *run, struct space *space, struct image *image, struct lib *chain);
void lib_name(struct run *run, struct space *space, struct lib *lib, const struct name *name);
void lib_list(struct run *run, struct lib *lib, const struct lib *by);
struct lib *lib_known(struct run *run, const struct space *space, const struct name *name);
struct lib *lib_same_file(struct run *run, struct space *space, const struct node *node);
/* Around a change of a space's order: the names of its objects, given up and given anew. */
void space_forget_names(struct run *run, struct space *space);
void space_name(struct run *run, const struct space *space);

/* The program's image: its $ORIGIN is told by glibc_origin(), its header is not judged. */
struct image *main_image(struct loader *loader, const char *program, struct node *node);

/* A directory's first visit in this process: it is counted, and nothing is known of it. */
uint8_t *run_dir_visit(struct run *run, const struct dir *dir);

/* The state bytes of a directory in this process, one a cap. */
static inline uint8_t *run_dir_state(struct run *run, const struct dir *dir)
{
    if (dir->id < run->n_dir_slots && run->dir_stamp[dir->id] == run->stamp)
        return run->dir_state + dir->id * run->dir_width;
    return run_dir_visit(run, dir);
}

/* ---- record.c */

/* Record one call; `path` is only looked at when calls are kept. */
void run_call(struct run *run, struct call call);

/* "a" + "b" + "c", in the run's arena; "" when calls are not kept. */
const char *run_path(struct run *run, const char *a, const char *b, const char *c);

/* A request begins; what run_call() records until run_answer() belongs to it. */
void run_ask(struct run *run, enum request_kind kind, const struct lib *asker, const char *name);
void run_answer(struct run *run, enum request_result result, enum stage stage,
                const struct lib *answer);

/*
 * True, and the start ends here: it did more than any real one does. Few and small files can ask
 * for any number of names in any number of directories. Asked before each name and each directory.
 */
bool run_too_large(struct run *run);

/* How the start ends. The first reason stays. */
void run_exit(struct run *run, enum trace_exit exit, const char *fmt, ...) PRINTF(3, 4);
void run_assume(struct run *run, const char *fmt, ...) PRINTF(2, 3);

/* ---- search.c */

struct found {
    struct image *image; /* NULL: nowhere */
    enum stage stage;
    const char *fatal; /* NULL, or why what was found ends the request */
};

enum search_flags {
    SEARCH_SECURE_PRELOAD = 1 << 0, /* secure mode: only set-uid files, no cache */
    SEARCH_AUDIT = 1 << 1,          /* the program's RUNPATH too (docs/loader.md, 15) */
};

/* What an open() of a place ends with. */
int open_error(const struct run *run, struct place at);

/* Find a name without a slash for `asker` (docs/loader.md, 5). */
struct found search_name(struct run *run, struct lib *asker, const struct name *name,
                         unsigned flags);

/* Open one path (docs/loader.md, 5: names with a slash; cache and note entries). */
struct found open_path(struct run *run, const struct name *path, enum stage stage, bool miss_ends);

/* Open the cache (at most once while it is known); with `name`: look it up and open the entry. */
struct found search_cache(struct run *run, const struct lib *asker, const struct name *name);

/* --inhibit-rpath names this object: it has no path lists. */
bool run_inhibited(const struct run *run, const struct lib *lib);

/* ---- ldcache.c */

/* Parse a cache file's bytes; NULL: not valid, the loader does without. Borrows `bytes`. */
struct ldcache *ldcache_parse(struct arena *arena, const struct profile *profile, const char *bytes,
                              size_t len);

/* The value for a name, or NULL (docs/loader.md, 10). */
const char *ldcache_find(const struct ldcache *cache, const struct profile *profile,
                         const char *name);

/* ---- note.c */

/* The path list that the object's resolution note gives for a name; NULL: none, or no note. */
const char *note_find(const struct object *object, const char *name);

/* ---- resolver.c: the audit module that reads notes on stock glibc (docs/closure-note.md) */

/* The module was loaded: what does it do in this start? Sets run->resolver when it answers. */
void resolver_start(struct run *run);

/* An object became part of the process. */
void resolver_saw(struct run *run, const struct image *image);

/* The path it gives for a name that ld.so would search; NULL: none. */
const struct name *resolver_path(struct run *run, const struct lib *lib, const struct name *name);

/* ---- glibc_deps.c: names asked for, and the work list (docs/loader.md, 3, 4, 15) */

/* What became of one request; `lib` is set when it was answered. */
struct answer {
    struct lib *lib;
    bool is_new;
    const char *why; /* NULL, or why what was found cannot be used */
};

struct ask {
    enum request_kind kind;
    struct space *space;
    struct lib *asker;       /* whose paths are searched */
    struct lib *chain;       /* what the new object's loader is */
    const struct lib *shown; /* who is said to have asked; NULL: nobody */
    unsigned flags;          /* enum search_flags */
};

/* Known by name, else searched, else the same file, else a new object. */
struct answer ask_name(struct run *run, const struct ask *ask, const struct name *name);

struct work {
    struct lib *lib;
    bool done;
    struct work *next;
};

struct worklist {
    struct work *head, *tail;
    size_t n_inserted; /* by filters: two that name each other never come to an end */
};

void work_append(struct run *run, struct worklist *list, struct lib *lib);

/* Breadth-first from what is in the list. False: an error ended it. */
bool work_all(struct run *run, struct space *space, struct worklist *list, unsigned flags);

/* ---- dlopens.c: those asked for, then those that loaded objects declare (docs/dlopen.md) */

void run_dlopens(struct run *run);

/* ---- glibc.c, glibc_audit.c */

void glibc_start(struct run *run);
void glibc_audit(struct run *run);

/* The program's $ORIGIN: asked for once, at the first token of any kind. NULL: cannot be told. */
const char *glibc_origin(struct run *run);

/* $ORIGIN in names that ld.so itself asks for, audit modules: where /proc/self/exe leads. */
const char *glibc_self_origin(struct run *run);

/* The loaded object that a dlopen names as its caller; NULL: none. */
struct lib *run_caller(const struct run *run, const char *caller);

/* Objects loaded since space->n was `n` are forgotten, their names too. */
void run_forget(struct run *run, struct space *space, size_t n, size_t n_loaded);

/* ---- musl.c */

void musl_start(struct run *run);
bool musl_dlopen(struct run *run, const char *name); /* true: it succeeds */

/* ---- explicit.c: ld.so [options] PROGRAM */

struct explicit
{
    const char *program;
    const char *library_path, *preload, *audit, *inhibit_rpath; /* NULL: not given */
    const char *prepend, *mask;                                 /* of glibc-hwcaps; NULL */
    bool inhibit_cache, list_only;
};

MUST_CHECK int explicit_parse(const struct start *start, bool musl, struct explicit *ret_explicit,
                              struct err *err);
