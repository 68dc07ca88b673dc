/*
 * stormlint gc: an index without what is no more.
 */
#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/options.h"
#include "scanner/gc.h"

#include <stdio.h>

struct gc_arguments {
    struct options common; /* of these only --db */
    bool dry;
};

enum { OPT_DB = 0x200, OPT_DRY };

static const struct argp_option rows[] = {
    {"db", OPT_DB, "FILE", 0, "The index; else $STORMLINT_DB, else the cache directory's", 0},
    {"dry-run", OPT_DRY, NULL, 0, "Only tell how much would be dropped", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct gc_arguments *a = state->input;

    switch (key) {
    case OPT_DB:
        a->common.db = arg;
        return 0;
    case OPT_DRY:
        a->dry = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .doc = "Drop from an index the packages whose store paths are gone.\v"
           "Audits keep what they have recorded. A store whose directory is not there at all is "
           "left alone. Exit code: 0; 4, nothing was dropped.",
};

static int collect(struct gc_arguments *a, struct err *err)
{
    CLEANUP(db_closep) struct db *db = NULL;
    const char *path = options_db(&a->common);
    struct gc_result result;
    int r = db_open(path, DB_READ, &db, err); /* there must be one: it is not made here */

    if (r == 0) {
        db_close(db);
        db = NULL;
        r = db_open(path, DB_WRITE, &db, err);
    }
    if (r == 0)
        r = gc_run(db, a->dry, &result, err);
    if (r == 0)
        printf("%zu of %zu packages %s\n", result.dropped, result.packages,
               a->dry ? "would be dropped" : "dropped");
    return r;
}

static int run(int argc, char **argv)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct gc_arguments a = {0};
    struct err err = {0};
    int r;

    options_parse(&argp, argc, argv, &a);
    r = collect(&a, &err);
    if (r < 0)
        log_error("%s", str_escape(&arena, err.text));
    options_release(&a.common);
    return r < 0 ? EXIT_FAILED : EXIT_FINE;
}

const struct command cmd_gc = {
    .name = "gc",
    .summary = "drop from an index what is no more",
    .run = run,
};
