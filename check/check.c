#include "check/check.h"

#include "base/str.h"
#include "resolver/decide.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct checker {
    const struct check_options *options;
    struct arena arena;
    const char *scratch; /* private and empty but for strace's output */
    const char *cwd;
    struct world *world;
    struct loader *loader; /* for starts in `cwd` */
    const char **env;
    size_t n_env;
};

/* One program's check, from what was asked for to what is compared. */
struct job {
    struct checker *checker;
    struct arena *arena;
    struct checked *checked;
    struct way way;
    const struct object *object; /* of the last hop */
};

/* ---- the checker */

static int remove_one(const char *path, const struct stat *st UNUSED, int kind UNUSED,
                      struct FTW *ftw UNUSED)
{
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static bool same_name(const char *a, const char *b)
{
    size_t len = strcspn(a, "=");

    return !strncmp(a, b, len + 1) && a[len] == '=';
}

/* Add NAME=VALUE; a later one replaces an earlier one of the same name. */
static void add_env(struct checker *c, const char *setting)
{
    for (size_t i = 0; i < c->n_env; i++)
        if (same_name(setting, c->env[i])) {
            c->env[i] = setting;
            return;
        }
    c->env = arena_grow(&c->arena, c->env, c->n_env, sizeof(*c->env));
    c->env[c->n_env++] = setting;
}

static int make_scratch(struct checker *c, struct err *err)
{
    const char *base = getenv("TMPDIR") ?: "/tmp";
    char *dir = str_join(&c->arena, base, "stormlint-check.XXXXXX");
    const char *home;

    if (!mkdtemp(dir))
        return err_set(err, errno, "'%s': %s", dir, strerror(errno));
    c->scratch = dir;
    home = str_join(&c->arena, dir, "home");
    if (mkdir(home, 0700) < 0)
        return err_set(err, errno, "'%s': %s", home, strerror(errno));
    c->cwd = c->options->cwd ?: c->options->root ? "/" : home;
    add_env(c, arena_printf(&c->arena, "HOME=%s", c->options->root ? "/" : home));
    return 0;
}

int checker_new(const struct check_options *options, struct checker **ret_checker, struct err *err)
{
    struct checker *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return err_set(err, ENOMEM, "out of memory");
    c->options = options;
    r = make_scratch(c, err);
    if (r == 0)
        r = world_live(options->root ?: "/", geteuid(), getegid(), &c->world, err);
    if (r < 0) {
        checker_free(c);
        return r;
    }
    add_env(c, "PATH=/usr/bin:/bin");
    add_env(c, "LC_ALL=C");
    for (size_t i = 0; i < options->n_env; i++)
        add_env(c, options->env[i]);
    c->loader = loader_new(c->world, options->cpu, c->cwd, false);
    *ret_checker = c;
    return 0;
}

void checker_free(struct checker *checker)
{
    if (!checker)
        return;
    loader_free(checker->loader);
    world_close(checker->world);
    if (checker->scratch)
        remove_tree(checker->scratch);
    arena_release(&checker->arena);
    free(checker);
}

/* ---- the way through wrappers */

static int not_comparable(struct job *job, bool unmeasured, const char *reason)
{
    job->checked->result = CHECK_NOT_COMPARABLE;
    job->checked->unmeasured = unmeasured;
    job->checked->reason = reason;
    return 1;
}

/* Set-id bits and file capabilities change what the loader does, and strace changes them. */
static const char *privileged(const struct checker *c, const struct node *node, const char *path)
{
    if (((node->mode & S_ISUID) && node->uid != c->world->uid) ||
        ((node->mode & S_ISGID) && node->gid != c->world->gid))
        return "set-id: traced programs are started without it";
    if (c->world->uid != 0 && !c->options->root &&
        getxattr(path, "security.capability", NULL, 0) > 0)
        return "file capabilities: traced programs are started without them";
    return NULL;
}

/* The file of one hop. 0: it is a program that can be watched; 1: decided. */
static int look_at_hop(struct job *job, const struct hop *hop)
{
    struct checker *c = job->checker;
    const char *path = str_join(job->arena, hop->cwd, hop->program);
    const struct place place = world_walk(c->world, NULL, path);
    const char *why;

    if (place.error)
        return not_comparable(job, true,
                              arena_printf(job->arena, "'%s': %s", path, strerror(place.error)));
    if (place.node->kind != NODE_FILE)
        return not_comparable(job, false, "not a regular file");
    if ((why = privileged(c, place.node, path)))
        return not_comparable(job, true, why);
    job->object = world_object(c->world, place.node);
    if (!job->object && place.node->object_error && place.node->object_error != ENOEXEC)
        return not_comparable(job, true, strerror(place.node->object_error));
    return job->object ? 0 : not_comparable(job, false, "not an ELF file");
}

/* From the program asked for to the last one. 0: all hops are known; 1: decided already. */
static int follow(struct job *job)
{
    struct checker *c = job->checker;
    const struct hop from = {
        .exec = job->checked->program, .env = c->env, .n_env = c->n_env, .cwd = c->cwd};
    struct err err = {0};

    if (way_follow(c->world, &from, job->arena, &job->way, &err) < 0)
        return not_comparable(job, false, arena_strdup(job->arena, err.text));
    for (size_t i = 0; i < job->way.n; i++)
        if (look_at_hop(job, &job->way.hop[i]) != 0)
            return 1;
    return 0;
}

/* Code of a module runs during start-up. Ours is predicted (docs/closure-note.md); a file that is
 * not there runs nothing. */
static bool is_predictable(const struct checker *c, const char *audit)
{
    const struct object *module;
    struct place place;

    if (!audit)
        return true;
    if (*audit != '/' || strchr(audit, ':'))
        return false;
    place = world_walk(c->world, NULL, audit);
    module =
        place.error || place.node->kind != NODE_FILE ? NULL : world_object(c->world, place.node);
    return place.error || (module && str_same(module->soname, RESOLVER_SONAME));
}

/* Programs that have no loader's part, or one that other code takes a hand in. */
static int comparable(struct job *job)
{
    const struct object *object = job->object;
    const struct hop *last = &job->way.hop[job->way.n - 1];

    if (object->problem && !object->interp)
        return not_comparable(job, false,
                              arena_printf(job->arena, "malformed: %s", object->problem));
    if (!object->interp)
        return not_comparable(job, false,
                              object->type == ET_DYN && !(object->layout & LAYOUT_STATIC_PIE)
                                  ? "a library: no loader runs"
                                  : "static: no loader runs");
    if (world_walk(job->checker->world, NULL, object->interp).error)
        return not_comparable(
            job, false, arena_printf(job->arena, "its loader '%s' is missing", object->interp));
    if (object->depaudit || !is_predictable(job->checker, object->audit))
        return not_comparable(job, false, "it names audit modules, which run during its start-up");
    for (size_t i = 0; i < last->n_env; i++)
        if (str_starts(last->env[i], "LD_AUDIT="))
            return not_comparable(job, false, "LD_AUDIT: audit modules run during start-up");
    return 0;
}

/* ---- predicting and running */

static int predict(struct job *job, const struct hop *hop, struct trace *ret_trace, struct err *err)
{
    struct checker *c = job->checker;
    CLEANUP(loader_freep) struct loader *other = NULL;
    const struct start start = {
        .program = hop->program,
        .env = hop->env,
        .n_env = hop->n_env,
        .record = true,
        .dlopens = c->options->dlopens,
        .n_dlopens = c->options->n_dlopens,
        .declared = c->options->declared,
    };

    if (strcmp(hop->cwd, c->cwd) != 0)
        other = loader_new(c->world, c->options->cpu, hop->cwd, false);
    return loader_run(other ?: c->loader, &start, job->arena, ret_trace, err);
}

static int run(struct job *job, struct run_result *ret_result, struct err *err)
{
    const struct checker *c = job->checker;
    const struct check_options *o = c->options;
    const char **argv = arena_calloc(job->arena, o->n_args + 3, sizeof(*argv));
    const struct run run = {
        .argv = argv,
        .env = c->env,
        .n_env = c->n_env,
        .cwd = c->cwd,
        .root = o->root,
        .scratch = c->scratch,
        .stop_after = o->run_on ? 0 : job->way.n + (o->root != NULL),
        .limit_ms = o->limit_ms,
        .interrupt = o->interrupt,
    };

    argv[0] = job->checked->program;
    if (!o->args)
        argv[1] = "--version";
    for (size_t i = 0; i < o->n_args; i++)
        argv[i + 1] = o->args[i];
    return strace_run(&run, job->arena, ret_result, err);
}

/* ---- judging */

static void differs(struct checked *checked, const char *reason)
{
    checked->result = CHECK_DIFFERS;
    checked->reason = reason;
}

static bool is_foreseen(const struct trace *trace, const char *path)
{
    for (size_t i = 0; i < trace->n_loaded; i++)
        if (trace->loaded[i].phase > 0 && strcmp(trace->loaded[i].path, path) == 0)
            return true;
    return false;
}

/* What was opened after the start, parted by what was predicted. */
static void part_later(struct checked *checked, const struct start_seen *seen, struct arena *arena)
{
    checked->has_later = true;
    checked->foreseen = arena_calloc(arena, seen->n_later + 1, sizeof(*checked->foreseen));
    checked->unforeseen = arena_calloc(arena, seen->n_later + 1, sizeof(*checked->unforeseen));
    for (size_t i = 0; i < seen->n_later; i++)
        if (is_foreseen(&checked->predicted, seen->later[i]))
            checked->foreseen[checked->n_foreseen++] = seen->later[i];
        else
            checked->unforeseen[checked->n_unforeseen++] = seen->later[i];
}

/* Predict and compare hop `i`. 0: go on; 1: decided. */
static int judge_hop(struct job *job, size_t i, const struct start_seen *seen)
{
    struct checked *checked = job->checked;
    const struct hop *hop = &job->way.hop[i];
    bool last = i + 1 == job->way.n;
    struct err err;

    checked->hop = arena_memdup(job->arena, hop, sizeof(*hop));
    checked->measured = *seen;
    if (strcmp(seen->program, hop->exec) != 0) {
        differs(checked, arena_printf(job->arena, "the wrapper ran '%s', not '%s'", seen->program,
                                      hop->exec));
        return 1;
    }
    if (predict(job, hop, &checked->predicted, &err) < 0)
        return not_comparable(job, true, arena_strdup(job->arena, err.text));
    if (checked->predicted.exit == EXIT_NOT_DYNAMIC && !last)
        return 0; /* a static shell */
    if (checked->predicted.exit == EXIT_NO_LOADER || checked->predicted.exit == EXIT_TOO_LARGE)
        return not_comparable(job, false, checked->predicted.exit_text);
    checked->has_trace = true;
    checked->difference = compare(&checked->predicted, seen, job->arena, &checked->note);
    if (checked->difference.found) {
        differs(checked, checked->difference.what);
        return 1;
    }
    if (last && (job->checker->options->n_dlopens || job->checker->options->declared))
        part_later(checked, seen, job->arena);
    return 0;
}

/* A start that never came: the program could not be executed, or the one before did not run it. */
static int judge_absent(struct job *job, size_t i, const struct run_result *result)
{
    const struct process *p = &result->process;

    if (result->timed_out)
        return not_comparable(job, true, "killed by the time limit before the end of start-up");
    if (i == 0 || p->failed_execs)
        return not_comparable(job, i == 0 && p->exec_error == EACCES,
                              arena_printf(job->arena, "'%s' cannot be executed: %s",
                                           job->way.hop[i].exec, strerror(p->exec_error)));
    differs(job->checked,
            arena_printf(job->arena, "the wrapper did not run '%s'%s%s", job->way.hop[i].exec,
                         *result->message ? ": " : "", result->message));
    return 1;
}

static void judge(struct job *job, const struct run_result *result)
{
    const struct process *p = &result->process;
    size_t skip = job->checker->options->root != NULL;

    for (size_t i = 0; i < job->way.n; i++) {
        const struct start_seen *seen;

        if (i + skip >= p->n_starts) {
            judge_absent(job, i, result);
            return;
        }
        seen = &p->start[i + skip];
        if (seen->end == STARTUP_OPEN && result->timed_out) {
            not_comparable(job, true, "killed by the time limit before the end of start-up");
            return;
        }
        if (judge_hop(job, i, seen) != 0)
            return;
    }
    job->checked->result = CHECK_AGREES;
}

/* ---- directories */

struct listing {
    struct checker *checker;
    struct arena *arena;
    const char *dir;
    const char **path;
    size_t n;
};

static void list_one(void *data, const char *name)
{
    struct listing *l = data;
    const char *path = str_join(l->arena, l->dir, name);
    struct place place;

    if (*name == '.')
        return;
    place = world_walk(l->checker->world, NULL, path);
    if (place.node && (place.node->kind != NODE_FILE || !(place.node->mode & 0111)))
        return;
    l->path = arena_grow(l->arena, l->path, l->n, sizeof(*l->path));
    l->path[l->n++] = path;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

const char *checker_scratch(const struct checker *checker)
{
    return checker->scratch;
}

/* Absolute, since programs are started from another working directory. */
static int absolute(const struct checker *c, const char *path, struct arena *arena,
                    const char **ret_path, struct err *err)
{
    char *here;

    *ret_path = path;
    if (*path == '/')
        return 0;
    while (str_starts(path, "./"))
        path += 2;
    here = c->options->root ? strdup("/") : getcwd(NULL, 0);
    if (!here)
        return err_set(err, errno, "the working directory: %s", strerror(errno));
    *ret_path = arena_strdup(arena, str_join(arena, here, path));
    free(here);
    return 0;
}

int checker_expand(struct checker *checker, const char *path, struct arena *arena,
                   const char ***ret_program, size_t *ret_n, bool *ret_is_directory,
                   struct err *err)
{
    struct listing l = {.checker = checker, .arena = arena};
    struct place place;
    int r = absolute(checker, path, arena, &l.dir, err);

    if (r < 0)
        return r;
    place = world_walk(checker->world, NULL, l.dir);
    *ret_is_directory = place.node && place.node->kind == NODE_DIR;
    if (*ret_is_directory) {
        r = world_list(checker->world, place.node, list_one, &l);
        if (r < 0)
            return err_set(err, -r, "'%s': %s", path, strerror(-r));
        if (l.n)
            qsort(l.path, l.n, sizeof(*l.path), by_text);
    } else {
        l.path = arena_grow(arena, NULL, 0, sizeof(*l.path));
        l.path[l.n++] = l.dir;
    }
    *ret_program = l.path;
    *ret_n = l.n;
    return 0;
}

/* ---- one program */

int check_program(struct checker *checker, const char *program, struct arena *arena,
                  struct checked *ret_checked, struct err *err)
{
    struct checked checked = {0};
    struct job job = {.checker = checker, .arena = arena, .checked = &checked};
    struct run_result result;
    int r = absolute(checker, program, arena, &checked.program, err);

    if (r < 0)
        return r;
    if (follow(&job) == 0 && comparable(&job) == 0) {
        r = run(&job, &result, err);
        if (r < 0)
            return r;
        judge(&job, &result);
        if (job.way.stop && !checked.note)
            checked.note = arena_printf(
                arena, "of a script its interpreter's start is compared: %s", job.way.stop);
    }
    checked.n_hops = job.way.n;
    *ret_checked = checked;
    return 0;
}
