#include "cli/linting.h"

#include "audit/audit.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const struct flag linting_rows[] = {
    {"db", "FILE", "Use this index, also for arguments with a slash", INTO(struct options, db)},
    {"root", "DIR", "Take the tree below DIR for /", INTO(struct options, root)},
    {"cpu", "NAME", "The CPU whose numbers count (default: " CPU_POLICY ")",
     INTO(struct options, cpu)},
    {NULL, "PATH", NULL, LIST(struct options, arg, n_args)},
    {0},
};

int linting_fail_on(void *into, const char *text, struct arena *arena UNUSED, struct err *err)
{
    enum severity *limit = into;

    if (!strcmp(text, "never"))
        *limit = SEVERITY_NEVER;
    else if (!severity_find(text, limit))
        return err_set(err, EINVAL, "--fail-on wants error, warning, note or never, not '%s'",
                       text);
    return 0;
}

enum { DATE_LEN = 10 }; /* 2026-11-30 */

static int open_index(const struct options *options, struct lint_scope *scope, struct linting *l,
                      struct arena *arena, struct err *err)
{
    const char **path = NULL;
    size_t n = 0;
    int r = places_index(&l->places, err);

    if (r < 0)
        return r;
    l->setting = &l->places.index;
    closure_init(&l->closure, l->setting->world);
    for (size_t i = 0; i < options->n_args; i++) {
        struct found found;

        if ((r = places_find(&l->places, options->arg[i], arena, &found, err)) < 0)
            return r;
        for (size_t k = 0; k < found.n; k++) {
            path = arena_grow(arena, path, n, sizeof(*path));
            path[n++] = found.path[k];
        }
    }
    scope->path = path;
    scope->n_paths = n;
    return closure_index(&l->closure, l->places.db, scope, err);
}

static int open_live(const struct options *options, struct lint_scope *scope, struct linting *l,
                     struct err *err)
{
    int r = places_live(&l->places, err);

    if (r < 0)
        return r;
    l->setting = &l->places.live;
    scope->root = options->root ? options->root : "/";
    scope->path = options->arg;
    scope->n_paths = options->n_args;
    closure_init(&l->closure, l->setting->world);
    return closure_live(&l->closure, scope, err);
}

int linting_open(struct options *options, bool whole, struct linting *ret_linting,
                 struct arena *arena, struct err *err)
{
    struct lint_scope scope = {.closure = whole};
    size_t n_live = 0;

    if (!options->cpu)
        options->cpu = CPU_POLICY;
    options_place(options, arena);
    options->cwd = "/"; /* a closure has no working directory: two machines must find the same */
    for (size_t i = 0; i < options->n_args; i++)
        n_live += options_is_live(options, options->arg[i]);
    if (n_live && n_live < options->n_args)
        return err_set(err, EINVAL, "files and names of an index do not go together");
    ret_linting->places = (struct places){.options = options, .everything = true};
    return n_live ? open_live(options, &scope, ret_linting, err)
                  : open_index(options, &scope, ret_linting, arena, err);
}

void linting_release(struct linting *linting)
{
    if (linting->closure.world)
        closure_release(&linting->closure);
    places_release(&linting->places);
}

const char *linting_now(struct arena *arena)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    const time_t now = epoch && *epoch ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);

    return str_time(arena, now);
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
