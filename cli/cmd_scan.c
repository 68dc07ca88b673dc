/*
 * stormlint scan: index a store, or the closure of some paths.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/options.h"
#include "scanner/index.h"
#include "scanner/scan.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct arguments {
    struct options common; /* of these only --db, --json and the arguments */
    struct scan_options scan;
    struct progress_lines lines; /* of --progress-fd */
};

enum { SHARDS_MAX = 1000000 };
enum { OPT_DB = 256, OPT_ROOT, OPT_STORE, OPT_JSON, OPT_CLOSURE, OPT_SHARD, OPT_PROGRESS };

static const struct argp_option rows[] = {
    {"db", OPT_DB, "FILE", 0, "The index; else $STORMLINT_DB, else the cache directory's", 0},
    {"root", OPT_ROOT, "DIR", 0, "The tree under DIR plays /", 0},
    {"store", OPT_STORE, "DIR", 0, "The directory of packages (default: /nix/store)", 0},
    {"closure", OPT_CLOSURE, "FILE", 0,
     "Scan exactly the closure that FILE tells ('-': standard input): paths, nix path-info --json, "
     "registrations, references graphs, .attrs.json, Spack's index.json",
     0},
    {"shard", OPT_SHARD, "I/N", 0, "Scan only part I of N; 'stormlint merge' joins them", 0},
    {"jobs", 'j', "N", 0, "Threads that read; default: as many as processors", 0},
    {"json", OPT_JSON, NULL, 0, "Print the summary as JSON", 0},
    {"progress-fd", OPT_PROGRESS, "N", 0,
     "Tell progress on file descriptor N, a JSON object a line", 0},
    {0},
};

/* "I/N", both at least 1, I at most N. */
static bool parse_shard(struct scan_options *scan, const char *text)
{
    char *end;
    const unsigned long shard = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    unsigned long shards;

    if (!shard || *end != '/' || !isdigit((unsigned char)end[1]))
        return false;
    shards = strtoul(end + 1, &end, 10);
    if (*end || shards < shard || shards > SHARDS_MAX)
        return false;
    scan->shard = (unsigned)shard;
    scan->shards = (unsigned)shards;
    return true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    struct options *o = &a->common;
    char *end;
    long n;

    switch (key) {
    case OPT_DB:
        o->db = arg;
        break;
    case OPT_ROOT:
        a->scan.root = arg;
        break;
    case OPT_STORE:
        a->scan.store = arg;
        break;
    case OPT_CLOSURE:
        a->scan.closure = arg;
        break;
    case OPT_SHARD:
        if (!parse_shard(&a->scan, arg))
            argp_error(state, "'%s' is no shard (I/N: 1/4 is the first of four)", arg);
        break;
    case 'j':
        n = strtol(arg, &end, 10);
        if (*end || end == arg || n < 0 || n > 64)
            argp_error(state, "'%s' is no number of threads (0 to 64)", arg);
        a->scan.readers = (unsigned)n;
        break;
    case OPT_JSON:
        o->json = true;
        break;
    case OPT_PROGRESS:
        n = strtol(arg, &end, 10);
        if (*end || end == arg || n < 0 || n > 1023)
            argp_error(state, "'%s' is no file descriptor", arg);
        a->lines = progress_lines((int)n);
        a->scan.progress = &a->lines.progress;
        break;
    case ARGP_KEY_ARG:
        o->arg = arena_grow(&o->arena, o->arg, o->n_args, sizeof(*o->arg));
        o->arg[o->n_args++] = str_unescape(&o->arena, arg);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- where the index is */

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

/* ---- the summary */

static int print_json(const char *db, const struct scan_result *r, const struct index_totals *t,
                      struct err *err)
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
        {"elsewhere", (int64_t)r->elsewhere},
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

    json_put_text(o, "db", db);
    json_put_text(o, "references", r->references);
    for_each (n, numbers)
        json_put_int(o, n->key, n->value);
    return json_print(o, stdout, true, err);
}

static void print_text(const char *db, const struct scan_result *r, const struct index_totals *t)
{
    CLEANUP(arena_release) struct arena a = {0};

    printf("packages: %zu; scanned %zu, unchanged %zu", r->packages, r->scanned, r->unchanged);
    if (r->gone)
        printf(", gone %zu", r->gone);
    if (r->unregistered)
        printf("; not registered, left out: %zu", r->unregistered);
    if (r->elsewhere)
        printf("; of other shards: %zu", r->elsewhere);
    printf("\nindex '%s': packages %lld, files %lld, ELF objects %lld, programs %lld\n",
           str_escape(&a, db), (long long)t->packages, (long long)t->files, (long long)t->objects,
           (long long)t->programs);
    if (t->malformed)
        printf("malformed files: %lld; table 'problem' tells why\n", (long long)t->malformed);
    if (t->macho)
        printf("Mach-O files: %lld; not judged, they name libraries by absolute path\n",
               (long long)t->macho);
}

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .args_doc = "[PATH...]",
    .doc = "Index the ELF files of a store: what they need, where they look for it, and the "
           "directories they look into.\v"
           "With PATHs: only the packages they are in or lead to, and everything those refer to. "
           "What is known already is not read again. "
           "Exit code: 0; 3, something could not be read; 4, the scan failed.",
};

/* The root as an absolute path; so the store, when it is given from where we are. */
static int make_absolute(struct arguments *a, struct err *err)
{
    struct arena *arena = &a->common.arena;
    char real[PATH_MAX], *store;
    size_t len;

    if (!realpath(a->scan.root, real))
        return err_set(err, errno, "root '%s': %s", a->scan.root, strerror(errno));
    a->scan.root = arena_strdup(arena, real);
    if (a->scan.store[0] != '/') {
        if (strcmp(a->scan.root, "/") != 0)
            return err_set(err, EINVAL, "store '%s': in another root it has to be absolute",
                           a->scan.store);
        if (!realpath(a->scan.store, real))
            return err_set(err, errno, "store '%s': %s", a->scan.store, strerror(errno));
        a->scan.store = real;
    }
    store = arena_strdup(arena, a->scan.store);
    for (len = strlen(store); len > 1 && store[len - 1] == '/';)
        store[--len] = '\0';
    a->scan.store = store;
    return 0;
}

static int scan(struct arguments *a, struct progress_line *line, struct err *err)
{
    CLEANUP(db_closep) struct db *db = NULL;
    const char *path = options_db(&a->common);
    struct scan_result result = {0};
    struct index_totals totals;
    int r = make_absolute(a, err);

    if (r == 0)
        r = make_parents(&a->common.arena, path, err);
    if (r == 0)
        r = db_open(path, DB_WRITE, &db, err);
    if (r == 0)
        r = scan_run(db, &a->scan, &result, err);
    if (r == 0)
        r = index_totals(db, &totals, err);
    progress_line_end(line);
    if (r == 0 && a->common.json)
        r = print_json(path, &result, &totals, err);
    else if (r == 0)
        print_text(path, &result, &totals);
    if (r == 0 && result.database.code)
        log_warn("%s; references are told from files instead", result.database.text);
    if (r == 0 && result.incomplete)
        log_warn("%zu packages could not be read completely; table 'problem' tells why",
                 result.incomplete);
    return r < 0 ? r : result.incomplete ? EXIT_INCOMPLETE : EXIT_FINE;
}

static int run(int argc, char **argv)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct progress_line line = progress_line(stderr);
    struct arguments a = {.scan = {.root = "/", .store = "/nix/store", .progress = &line.progress}};
    struct err err = {0};
    int r;

    a.scan.readers = cpus > 1 ? (unsigned)cpus : 1;
    options_parse(&argp, argc, argv, &a);
    a.scan.path = a.common.arg;
    a.scan.n_paths = a.common.n_args;
    r = scan(&a, &line, &err);
    if (r < 0) {
        CLEANUP(arena_release) struct arena scratch = {0};

        log_error("%s", str_escape(&scratch, err.text));
        r = r == -EINVAL || r == -ENOENT || r == -EEXIST ? EXIT_USAGE : EXIT_FAILED;
    }
    options_release(&a.common);
    return r;
}

const struct command cmd_scan = {"scan", "index the ELF files of a store or a closure", run};
