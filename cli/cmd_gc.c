/*
 * stormlint gc: an index without what is no more.
 */
#include "cli/options.h"
#include "scanner/gc.h"

#include <stdio.h>

struct gc_arguments {
    struct options common; /* of these only --db */
    bool dry;
};

static const struct flag rows[] = {
    {"dry-run", NULL, "Only tell how much would be dropped", INTO(struct gc_arguments, dry)},
    {ROWS(struct gc_arguments, common, db_rows)},
    {0},
};

static const struct flags flags = {
    .row = rows,
    .doc = "Drop from an index the packages whose store paths are gone.\v"
           "Audits keep what they have recorded. A store whose directory is not there at all is "
           "left alone. Exit code: 0; 4, nothing was dropped.",
};

static int gc(void *into, struct arena *arena, struct err *err)
{
    CLEANUP(db_closep) struct db *db = NULL;
    const struct gc_arguments *a = into;
    const char *path = options_db(&a->common, arena);
    struct gc_result result;
    int r = db_open(path, DB_READ, &db, err); /* there must be one: it is not made here */

    if (r == 0) {
        db_close(db);
        db = NULL;
        r = db_open(path, DB_WRITE, &db, err);
    }
    if (r == 0)
        r = gc_run(db, a->dry, &result, err);
    if (r < 0)
        return command_failed(EXIT_FAILED, err);
    printf("%zu of %zu packages %s\n", result.dropped, result.packages,
           a->dry ? "would be dropped" : "dropped");
    return EXIT_FINE;
}

const struct command cmd_gc = {
    .name = "gc",
    .summary = "drop from an index what is no more",
    .flags = &flags,
    WORK(gc, struct gc_arguments),
};
