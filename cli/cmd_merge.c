/*
 * stormlint merge: one index out of several.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/meta.h"
#include "cli/options.h"
#include "scanner/index.h"
#include "scanner/merge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct merge_arguments {
    struct options common; /* of these only --json and the arguments */
    const char *meta;
    bool replace;
    json_t *clashes; /* for --json */
};

static const struct flag rows[] = {
    {"replace", NULL, "OUT may be there already; it may be one of the inputs",
     INTO(struct merge_arguments, replace)},
    {ROWS(struct merge_arguments, meta, meta_rows)},
    {"json", NULL, "Print the summary as JSON", INTO(struct merge_arguments, common.json)},
    {NULL, "OUT IN...", NULL, LIST(struct merge_arguments, common.arg, common.n_args)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct merge_arguments *a = into;

    if (a->common.n_args < 2)
        return err_set(err, EINVAL, "an index to make and at least one to read are needed");
    return 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "OUT IN...",
    .doc =
        "Make one index OUT out of others: shards of a store, closures, what other machines have "
        "read.\v"
        "Order does not matter, nor what was merged before. A path that two inputs have with "
        "different contents is reported, and taken from one of them. "
        "Exit code: 0; 1, there was such a path; 3, something was not read completely; 4, OUT "
        "was not made.",
};

/* ---- clashes */

static void tell_clash(void *data, const struct merge_clash *c)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct merge_arguments *arguments = data;

    if (arguments->common.json) {
        json_t *o = json_object();

        json_put_text(o, "path", c->path);
        json_put_text(o, "kept", c->kept);
        json_put_text(o, "kept_from", c->kept_from);
        json_put_text(o, "dropped", c->dropped);
        json_put_text(o, "dropped_from", c->dropped_from);
        json_array_append_new(arguments->clashes, o);
        return;
    }
    printf("%s: contents differ: kept %s of '%s', not %s of '%s'\n", str_escape(&a, c->path),
           c->kept ? c->kept : "what is there", str_escape(&a, c->kept_from),
           c->dropped ? c->dropped : "what is there", str_escape(&a, c->dropped_from));
}

/* ---- the summary */

static int print_json(struct merge_arguments *a, const struct merge_result *r,
                      const struct index_totals *t, struct err *err)
{
    json_auto_t *o = json_object();

    json_put_text(o, "db", a->common.arg[0]);
    json_put_int(o, "packages", (int64_t)r->packages);
    json_put_int(o, "named", (int64_t)r->named);
    json_put_int(o, "incomplete", (int64_t)r->incomplete);
    json_put_int(o, "repeated", (int64_t)r->repeated);
    json_put_int(o, "index_files", t->files);
    json_put_int(o, "index_objects", t->objects);
    json_put_int(o, "index_programs", t->programs);
    json_put(o, "clashes", json_incref(a->clashes));
    return json_print(o, stdout, true, err);
}

static void print_text(const struct merge_arguments *a, const struct merge_result *r,
                       const struct index_totals *t)
{
    CLEANUP(arena_release) struct arena arena = {0};

    printf("index '%s': packages %zu, files %lld, ELF objects %lld, programs %lld\n",
           str_escape(&arena, a->common.arg[0]), r->packages, (long long)t->files,
           (long long)t->objects, (long long)t->programs);
    if (r->named)
        printf("only named, by packages that refer to them: %zu; merge the index that has them\n",
               r->named);
    if (r->clashes)
        printf("paths with different contents: %zu\n", r->clashes);
}

/* ---- the work */

/* Fill `path`, which is not there yet. */
static int merge_into(struct merge_arguments *a, const char *path, struct progress *progress,
                      struct merge_result *ret_result, struct index_totals *ret_totals,
                      struct arena *arena, struct err *err)
{
    CLEANUP(origins_freep) struct origins *origins = NULL;
    CLEANUP(db_closep) struct db *db = NULL;
    const struct merge_options options = {.in = a->common.arg + 1,
                                          .n_in = a->common.n_args - 1,
                                          .clash = tell_clash,
                                          .data = a,
                                          .progress = progress};
    int r = meta_read(a->meta, arena, &origins, err);

    if (r == 0)
        r = db_open(path, DB_WRITE, &db, err);
    if (r == 0)
        r = merge_run(db, &options, ret_result, err);
    if (r == 0)
        r = meta_note(db, a->meta, origins, err);
    if (r == 0)
        r = index_totals(db, ret_totals, err);
    /* a file by itself, to be read where nothing can be written beside it */
    return r < 0 ? r : db_exec(db, "PRAGMA journal_mode = DELETE", err);
}

/* Made beside OUT and put there when it is done: who reads OUT sees all of it or nothing. */
static int merge(struct merge_arguments *a, struct arena *arena, struct err *err)
{
    CLEANUP(progress_line_end) struct progress_line line = progress_line(stderr);
    const char *out = a->common.arg[0];
    const char *part = arena_printf(arena, "%s.part-%ld", out, (long)getpid());
    struct merge_result result = {0};
    struct index_totals totals = {0};
    int r;

    if (!a->replace && access(out, F_OK) == 0)
        return err_set(err, EEXIST, "'%s' is there already; give another name, or --replace", out);
    (void)unlink(part);
    r = merge_into(a, part, &line.progress, &result, &totals, arena, err);
    progress_line_end(&line);
    if (r == 0 && rename(part, out) < 0)
        r = err_set(err, errno, "cannot make '%s': %s", out, strerror(errno));
    if (r < 0) {
        static const char *const tails[] = {"", "-wal", "-shm"};

        for (size_t i = 0; i < ARRAY_LEN(tails); i++)
            (void)unlink(arena_printf(arena, "%s%s", part, tails[i]));
        return r;
    }
    if (a->common.json)
        r = print_json(a, &result, &totals, err);
    else
        print_text(a, &result, &totals);
    if (r == 0 && result.incomplete)
        log_warn("%zu packages were not read completely; table 'problem' tells why",
                 result.incomplete);
    return r < 0               ? r
           : result.incomplete ? EXIT_INCOMPLETE
           : result.clashes    ? EXIT_FINDINGS
                               : EXIT_FINE;
}

static int run_merge(void *into, struct arena *arena, struct err *err)
{
    struct merge_arguments *a = into;
    bool usage;
    int r;

    a->clashes = json_array();
    r = merge(a, arena, err);
    json_decref(a->clashes);
    usage = r == -EINVAL || r == -ENOENT || r == -EEXIST || r == -EBUSY;
    return r >= 0 ? r : command_failed(usage ? EXIT_USAGE : EXIT_FAILED, err);
}

const struct command cmd_merge = {
    .name = "merge",
    .summary = "make one index out of several",
    .flags = &flags,
    WORK(run_merge, struct merge_arguments),
};
