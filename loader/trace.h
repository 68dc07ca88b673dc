/*
 * Traces: what a loader did, as data.
 *
 *	request   "asker wants name": a line of somebody's dynamic section, a preload, a dlopen
 *	call      one system call on a path, made for a request
 *	loaded    one object in memory, in load order
 *
 * Calls point to the request they were made for, requests to the objects that asked and answered,
 * so the list of calls, the tree of who pulled in whom and the totals are views of one thing.
 */
#pragma once

#include "base/arena.h"
#include "base/json_write.h"
#include "loader/declared.h"
#include "loader/profile.h"
#include "loader/world.h"

enum call_kind { CALL_OPEN, CALL_STAT, CALL_ACCESS, CALL_READLINK };

/* Which part of the search a call belongs to (docs/loader.md, section 5). */
enum stage {
    STAGE_DIRECT, /* a name with a slash; the program's own readlink */
    STAGE_RPATH,
    STAGE_LIBRARY_PATH,
    STAGE_NOTE,
    STAGE_RUNPATH,
    STAGE_CACHE,
    STAGE_SYSTEM,
    STAGE_PRELOAD, /* the preload file itself */
    STAGE_AUDIT,
};

/* What came of one call. */
enum outcome {
    OUTCOME_HIT,       /* this file was taken */
    OUTCOME_SAME_FILE, /* opened, but it is in memory already (same device and inode) */
    OUTCOME_FAILED,    /* the call failed */
    OUTCOME_REJECTED,  /* opened, not for this loader: the search goes on */
    OUTCOME_FATAL,     /* opened, unusable: the request ends here */
    OUTCOME_INFO,      /* a call whose answer steers, but finds nothing (stat, access, readlink) */
};

struct call {
    enum call_kind kind;
    enum stage stage;
    enum outcome outcome;
    int error;        /* errno, 0: the call succeeded */
    bool is_dir;      /* of a stat that succeeded */
    int phase;        /* 0 start-up, 1.. dlopens */
    int request;      /* index into requests; -1: the loader's own business */
    const char *path; /* as the loader writes it */
    const char *why;  /* NULL, or why the file was rejected or fatal */
};

enum request_kind {
    REQUEST_NEEDED,
    REQUEST_AUXILIARY,
    REQUEST_FILTER,
    REQUEST_PRELOAD,      /* LD_PRELOAD, --preload */
    REQUEST_PRELOAD_FILE, /* /etc/ld.so.preload */
    REQUEST_AUDIT,
    REQUEST_DLOPEN,
    REQUEST_PROGRAM, /* ld.so PROGRAM */
};

enum request_result {
    RESULT_FOUND,   /* a new object */
    RESULT_KNOWN,   /* in memory under this name: no call */
    RESULT_SAME,    /* found, and in memory already by identity */
    RESULT_MISSING, /* nowhere */
    RESULT_BAD,     /* found, and unusable */
    RESULT_SKIPPED, /* not searched: a token that cannot be expanded, secure mode */
};

struct request {
    enum request_kind kind;
    enum request_result result;
    enum stage stage; /* where it was found */
    int phase;
    int asker;        /* index into loaded; -1: the environment or the command line */
    int answer;       /* index into loaded; -1: none */
    const char *name; /* as asked, tokens expanded */
    size_t first_call, n_calls;
};

struct loaded {
    const char *path;   /* as opened; the program: as given */
    const char *soname; /* NULL: none */
    int by;             /* who asked first: index into loaded; -1: nobody (program, preload) */
    int phase;
    bool module;       /* an audit module, or a library of one: not the program's */
    struct node *node; /* NULL: the vDSO */
    const struct object *object;
};

/* A program's totals. `failed_` counts calls that ended with an error. */
struct storm {
    uint32_t opens, failed_opens;
    uint32_t stats, failed_stats;
    uint32_t others, failed_others; /* access, readlink */
    uint32_t objects;               /* loaded, program and loader included */
    uint32_t directories;           /* distinct directory strings visited */
};

/* One dlopen after start-up: calls and requests of phase 1 belong to phase[0], and so on. */
struct phase {
    enum dlopen_source source;
    const char *name;     /* as given to dlopen() */
    int caller;           /* index into loaded; -1: not loaded, so nothing was done */
    const char *priority; /* of a note: "required", ...; else NULL */
    const char *feature;  /* of a note; NULL: not given */
    unsigned alternative, n_alternatives; /* declared ones: which of how many names, from 0 */
    bool succeeds;
    struct storm storm; /* of this phase alone */
};

enum trace_exit {
    EXIT_OK,
    EXIT_MISSING,     /* a library is nowhere: "missing: NAME" */
    EXIT_BAD,         /* a library is unusable: "bad: PATH: WHY" */
    EXIT_ABORT,       /* the loader's own assertion: "abort: WHY" */
    EXIT_TOO_LARGE,   /* given up: no real start does as much: "too large: WHY" */
    EXIT_NOT_DYNAMIC, /* no PT_INTERP: no loader, no calls */
    EXIT_NO_LOADER,   /* PT_INTERP does not exist or cannot be used */
};

struct trace {
    const char *program;
    struct profile profile;
    const struct cpu *cpu;

    struct call *call; /* empty when only totals were asked for */
    size_t n_calls;
    struct request *request;
    size_t n_requests;
    struct loaded *loaded;
    size_t n_loaded;

    struct phase *phase; /* dlopens: kept also when only totals were asked for */
    size_t n_phases;

    const char *resolver; /* what the audit module that reads notes does; NULL: there is none */

    struct storm storm;  /* start-up */
    struct storm dlopen; /* all later phases together */

    enum trace_exit exit;
    const char *exit_text;   /* as printed: "ok", "missing: libx.so.1", ... */
    const char **assumption; /* sentences: what the prediction rests on and could not check */
    size_t n_assumptions;
};

/* Take audit modules out of what was loaded: nobody among the rest asks them or is answered. */
void trace_drop_modules(struct trace *trace, struct arena *arena);

const char *call_kind_name(enum call_kind kind);
const char *stage_name(enum stage stage);

/* "ok", "ok-dir", "ok-notdir", "ENOENT", ...: the result column of traces. */
const char *call_result(const struct call *call);

/* An errno's symbolic name ("ENOENT"), or "errno N". */
const char *errno_name(int error);

/*
 * What `stormlint trace --json` tells of a trace, as members of an object that is begun. There may be
 * thousands of calls: they are written, not built.
 */
void trace_write(struct json_writer *w, const struct trace *trace);
/* New reference. */
json_t *storm_json(const struct storm *storm);
/* The same in a line. */
void storm_json_line(struct json_line *line, const char *key, const struct storm *storm);
