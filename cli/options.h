/*
 * Options: what the commands that look at programs have in common, and what follows from it.
 *
 *	{ROWS(struct trace_options, common, options_rows)},
 *
 * From them a command makes its setting: the world, the CPU and the loader.
 */
#pragma once

#include "base/progress.h"
#include "cli/command.h"
#include "loader/loader.h"

/* Texts are argv's, or the command's arena's. */
struct options {
    const char *db;   /* --db; NULL: not given */
    const char *root; /* --root; "/" */
    const char *cwd;  /* --cwd; NULL: where we are, or "/" in another root or an index */
    const char *cpu;  /* --cpu; NULL: the host's for live programs, the policy's for an index */
    bool has_uid;
    uint32_t uid; /* --uid */
    bool json;
    const char **env; /* --env, all of them, in order */
    size_t n_env;
    struct dlopen_call *dlopens; /* --dlopen NAME[@OBJECT] */
    size_t n_dlopens;
    bool declared;    /* --dlopen=declared */
    bool explicit;    /* the command says: arg[0] is the loader, the rest its arguments */
    const char **arg; /* what is not an option, `\xNN` read back */
    size_t n_args;
};

/* --db --root --env --cwd --uid --cpu --dlopen --json and the arguments. */
extern const struct flag options_rows[];

/* Of these only --db, where an index is made or kept; only --json. */
extern const struct flag db_rows[], json_rows[];

/* --probe-cost, into a double: microseconds that one failed call costs. */
extern const struct flag probe_cost_rows[];

/* --progress-fd, into a struct progress_lines, whose call-back stays NULL when it is not given. */
extern const struct flag progress_rows[];

/* A flag's `take`: one --dlopen NAME[@OBJECT], or "declared", into a struct options. */
int options_dlopen(void *into, const char *text, struct arena *arena, struct err *err);

/* True when `arg` names a file to be read as it is now: it has a slash, and no --db is given. */
bool options_is_live(const struct options *options, const char *arg);

/*
 * A live argument as an absolute path, for who looks at it from another directory than it was given
 * in: a relative one starts at --cwd, else in another root at its top, else where we are. What is
 * not live stays.
 */
const char *options_placed(const struct options *options, const char *arg, struct arena *arena);

/* The same with all arguments. */
void options_place(struct options *options, struct arena *arena);

/* The index: --db, else $STORMLINT_DB, else the cache directory's. */
const char *options_db(const struct options *options, struct arena *arena);

/* The CPU for live programs and for everything recorded, when --cpu does not say. */
#define CPU_LIVE   "host"
#define CPU_POLICY "x86-64-v3"

/* Where programs are started: what they find, on what they run, and the loader over it. */
struct setting {
    struct world *world;
    struct loader *loader;
    struct cpu cpu;
    const char *cwd;  /* where the loader's processes are */
    const char *home; /* where it was when the setting was made */
    struct arena arena;
};

/* A path of the command line that holds in every working directory: `path`, or one in the arena. */
const char *options_absolute(struct arena *arena, const char *path);

/* Move to another working directory; NULL: back home. Relative ones start at the present one. */
void setting_enter(struct setting *setting, const char *cwd);

/* The file system below --root as it is now. */
MUST_CHECK int setting_live(const struct options *options, struct setting *ret_setting,
                            struct err *err);

/* Over `world` (taken, also on failure), which shows an index. */
MUST_CHECK int setting_index(const struct options *options, struct world *world,
                             struct setting *ret_setting, struct err *err);

/*
 * Of such a setting: forget what it has fetched, once that is much. For a look at all programs,
 * between two of them: it takes no more memory for many than for some. On failure nothing has
 * changed.
 */
MUST_CHECK int setting_trim(struct setting *setting, struct err *err);
void setting_release(struct setting *setting);

/* A start of `program` with the options' environment and dlopens; borrowed from them. */
struct start options_start(const struct options *options, const char *program);
