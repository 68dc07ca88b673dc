/*
 * stormlint scan: index a store, or the closure of some paths.
 */
#include "base/json.h"
#include "base/str.h"
#include "cli/command.h"
#include "scanner/index.h"
#include "scanner/scan.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct arguments {
    const char *db;
    struct scan_options scan;
    bool json;
};

enum { OPT_DB = 256, OPT_ROOT, OPT_STORE, OPT_JSON, OPT_CLOSURE };

static const struct argp_option options[] = {
    {"db", OPT_DB, "FILE", 0, "index to write (default: $STORMLINT_DB, else ~/.cache/stormlint)",
     0},
    {"root", OPT_ROOT, "DIR", 0, "the tree under DIR plays /", 0},
    {"store", OPT_STORE, "DIR", 0, "directory of packages (default: /nix/store)", 0},
    {"closure", OPT_CLOSURE, "FILE", 0, "scan exactly the paths that FILE lists, one a line", 0},
    {"jobs", 'j', "N", 0, "reading threads (default: the number of processors)", 0},
    {"json", OPT_JSON, NULL, 0, "print the summary as JSON", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* Without a final slash, so that paths can be put behind it; "/" stays. */
static const char *directory_argument(char *text)
{
    size_t len = strlen(text);

    while (len > 1 && text[len - 1] == '/')
        text[--len] = '\0';
    return text;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    char *end;
    long n;

    switch (key) {
    case OPT_DB:
        a->db = arg;
        break;
    case OPT_ROOT:
        a->scan.root = directory_argument(arg);
        break;
    case OPT_STORE:
        a->scan.store = directory_argument(arg);
        if (arg[0] != '/')
            argp_error(state, "--store needs an absolute path, not '%s'", arg);
        break;
    case OPT_CLOSURE:
        a->scan.closure = arg;
        break;
    case 'j':
        n = strtol(arg, &end, 10);
        if (*end || end == arg || n < 0 || n > 64)
            argp_error(state, "'%s' is no number of threads (0 to 64)", arg);
        a->scan.readers = (unsigned)n;
        break;
    case OPT_JSON:
        a->json = true;
        break;
    case ARGP_KEY_ARGS:
        a->scan.path = (const char *const *)state->argv + state->next;
        a->scan.n_paths = (size_t)(state->argc - state->next);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- where the index is */

static const char *default_db(struct arena *arena)
{
    const char *db = getenv("STORMLINT_DB"), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");

    if (db && *db)
        return db;
    if (cache && *cache)
        return arena_printf(arena, "%s/stormlint/index.db", cache);
    return arena_printf(arena, "%s/.cache/stormlint/index.db", home ? home : "");
}

static int make_parents(struct arena *arena, const char *path, struct err *err)
{
    char *copy = arena_strdup(arena, path);

    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
            return err_set(err, errno, "cannot make directory '%s': %s", copy, strerror(errno));
        *slash = '/';
    }
    return 0;
}

/* ---- progress: a line on the terminal, after the first second */

struct progress {
    time_t started, last;
    bool shown;
};

static void show_progress(void *data, size_t done, size_t total)
{
    struct progress *p = data;
    const time_t now = time(NULL);

    if (now - p->started < 1 || now == p->last)
        return;
    p->last = now;
    p->shown = true;
    fprintf(stderr, "\r%zu of %zu packages", done, total);
    (void)fflush(stderr);
}

/* ---- the summary */

static void print_json(const char *db, const struct scan_result *r, const struct index_totals *t)
{
    const struct number {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"packages", (int64_t)r->packages},
        {"scanned", (int64_t)r->scanned},
        {"unchanged", (int64_t)r->unchanged},
        {"incomplete", (int64_t)r->incomplete},
        {"gone", (int64_t)r->gone},
        {"unregistered", (int64_t)r->unregistered},
        {"index_packages", t->packages},
        {"index_files", t->files},
        {"index_objects", t->objects},
        {"index_programs", t->programs},
        {"index_macho", t->macho},
        {"index_malformed", t->malformed},
        {"index_unread", t->unread},
    };
    json_auto_t *o = json_object();
    const struct number *n;
    struct err err;

    json_put_text(o, "db", db);
    json_put_text(o, "references", r->references);
    for_each (n, numbers)
        json_put_int(o, n->key, n->value);
    if (json_print(o, stdout, true, &err) < 0)
        fprintf(stderr, "stormlint: %s\n", err.text);
}

static void print_text(const char *db, const struct scan_result *r, const struct index_totals *t)
{
    CLEANUP(arena_release) struct arena a = {0};

    printf("%zu packages: %zu scanned, %zu unchanged", r->packages, r->scanned, r->unchanged);
    if (r->gone)
        printf(", %zu gone", r->gone);
    if (r->unregistered)
        printf("; %zu not registered, left out", r->unregistered);
    printf("\nindex '%s': %lld packages, %lld files, %lld ELF objects, %lld of them programs\n",
           str_escape(&a, db), (long long)t->packages, (long long)t->files, (long long)t->objects,
           (long long)t->programs);
    if (t->malformed)
        printf("%lld malformed files (table 'problem' tells)\n", (long long)t->malformed);
    if (t->macho)
        printf("%lld Mach-O files: not judged, they name libraries by absolute path\n",
               (long long)t->macho);
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[PATH...]",
        "Index the ELF files of a store. With PATHs: of the packages they are in and of everything "
        "those refer to.",
        NULL,
        NULL,
        NULL};
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(db_closep) struct db *db = NULL;
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct arguments a = {.scan = {.root = "/", .store = "/nix/store"}};
    struct progress progress = {.started = time(NULL)};
    struct scan_result result;
    struct index_totals totals;
    struct err err;
    int r;

    a.scan.readers = cpus > 1 ? (unsigned)cpus : 1;
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (!a.db)
        a.db = default_db(&arena);
    if (isatty(STDERR_FILENO)) {
        a.scan.progress = show_progress;
        a.scan.data = &progress;
    }
    r = make_parents(&arena, a.db, &err);
    if (r == 0)
        r = db_open(a.db, DB_WRITE, &db, &err);
    if (r == 0)
        r = scan_run(db, &a.scan, &result, &err);
    if (r == 0)
        r = index_totals(db, &totals, &err);
    if (progress.shown)
        fputs("\r\033[K", stderr);
    if (r < 0) {
        fprintf(stderr, "stormlint scan: %s\n", str_escape(&arena, err.text));
        return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
    }
    if (a.json)
        print_json(a.db, &result, &totals);
    else
        print_text(a.db, &result, &totals);
    if (result.incomplete)
        fprintf(stderr,
                "stormlint scan: %zu packages could not be read completely; "
                "table 'problem' tells why\n",
                result.incomplete);
    return result.incomplete ? EXIT_INCOMPLETE : EXIT_FINE;
}

const struct command cmd_scan = {"scan", "index the ELF files of a store or a closure", run};
