#include "cli/linting.h"

#include "audit/audit.h"
#include "base/str.h"
#include "loader/world_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OPT_DB = 0x100, OPT_ROOT, OPT_CPU };

static const struct argp_option rows[] = {
    {"db", OPT_DB, "FILE", 0, "Use this index, also for arguments with a slash", 0},
    {"root", OPT_ROOT, "DIR", 0, "Take the tree below DIR for /", 0},
    {"cpu", OPT_CPU, "NAME", 0, "The CPU whose numbers count (default: " CPU_POLICY ")", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case OPT_DB:
        o->db = arg;
        return 0;
    case OPT_ROOT:
        o->root = arg;
        return 0;
    case OPT_CPU:
        o->cpu = arg;
        return 0;
    case ARGP_KEY_ARG:
        o->arg = arena_grow(&o->arena, o->arg, o->n_args, sizeof(*o->arg));
        o->arg[o->n_args++] = str_unescape(&o->arena, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp linting_argp = {.options = rows, .parser = parse};

enum { DATE_LEN = 10 }; /* 2026-11-30 */

/* Names without a slash are programs of the index. */
static int name_paths(struct options *options, struct linting *linting, struct lint_scope *scope,
                      struct err *err)
{
    const char **path = NULL;
    size_t n = 0;

    for (size_t i = 0; i < options->n_args; i++) {
        const char **found = &options->arg[i];
        size_t n_found = 1;
        int r = 0;

        if (!strchr(options->arg[i], '/'))
            r = storm_find(linting->db, linting->setting.world, options->arg[i], &options->arena,
                           &found, &n_found, err);
        if (r == 0 && n_found == 0)
            r = err_set(err, ENOENT, "'%s': no program of that name in the index", options->arg[i]);
        if (r < 0)
            return r;
        for (size_t k = 0; k < n_found; k++) {
            path = arena_grow(&options->arena, path, n, sizeof(*path));
            path[n++] = found[k];
        }
    }
    scope->path = path;
    scope->n_paths = n;
    return 0;
}

static int open_index(struct options *options, struct lint_scope *scope, struct linting *l,
                      struct err *err)
{
    struct world *world;
    int r = db_open(options_db(options), DB_READ, &l->db, err);

    if (r == 0)
        r = world_index(l->db, WORLD_EVERYTHING, &world, err);
    if (r == 0)
        r = setting_index(options, world, &l->setting, err);
    if (r < 0)
        return r;
    closure_init(&l->closure, l->setting.world);
    r = name_paths(options, l, scope, err);
    return r < 0 ? r : closure_index(&l->closure, l->db, scope, err);
}

static int open_live(struct options *options, struct lint_scope *scope, struct linting *l,
                     struct err *err)
{
    int r = setting_live(options, &l->setting, err);

    if (r < 0)
        return r;
    scope->root = options->root ? options->root : "/";
    scope->path = options->arg;
    scope->n_paths = options->n_args;
    closure_init(&l->closure, l->setting.world);
    return closure_live(&l->closure, scope, err);
}

int linting_open(struct options *options, bool whole, struct linting *ret_linting, struct err *err)
{
    struct lint_scope scope = {.closure = whole};
    size_t n_live = 0;

    if (!options->cpu)
        options->cpu = CPU_POLICY;
    options_place(options);
    options->cwd = "/"; /* a closure has no working directory: two machines must find the same */
    for (size_t i = 0; i < options->n_args; i++)
        n_live += options_is_live(options, options->arg[i]);
    if (n_live && n_live < options->n_args)
        return err_set(err, EINVAL, "files and names of an index do not go together");
    return n_live ? open_live(options, &scope, ret_linting, err)
                  : open_index(options, &scope, ret_linting, err);
}

void linting_release(struct linting *linting)
{
    if (linting->closure.world)
        closure_release(&linting->closure);
    setting_release(&linting->setting);
    db_close(linting->db);
    linting->db = NULL;
}

const char *linting_now(struct arena *arena)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    const time_t now = epoch && *epoch ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
    struct tm tm;
    char text[64] = "";

    if (gmtime_r(&now, &tm))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    return arena_strdup(arena, text);
}

int linting_suppress(const char *file, struct findings *findings,
                     struct suppressions *ret_suppressions, struct arena *arena, struct err *err)
{
    struct suppressions suppressions = {0};
    int r = 0;

    if (file || access(SUPPRESSIONS, F_OK) == 0)
        r = suppressions_read(file ? file : SUPPRESSIONS,
                              arena_strndup(arena, linting_now(arena), DATE_LEN), arena,
                              &suppressions, err);
    if (r < 0)
        return r;
    suppressions_apply(&suppressions, findings);
    *ret_suppressions = suppressions;
    return 0;
}

int linting_baseline(const char *file, struct baseline *ret_baseline, struct arena *arena,
                     struct err *err)
{
    struct audit audit;
    int r;

    if (!audit_is_one(file))
        return baseline_read(file, arena, ret_baseline, err);
    r = audit_read(file, arena, &audit, err);
    for (size_t i = 0; r == 0 && i < audit.n_findings; i++)
        baseline_add(ret_baseline, audit.finding[i].rule, audit.finding[i].identity,
                     audit.finding[i].severity, arena);
    return r;
}
