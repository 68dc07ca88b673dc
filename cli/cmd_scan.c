/*
 * stormlint scan: index a store, or the closure of some paths.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/meta.h"
#include "cli/scanning.h"
#include "scanner/cache_scan.h"
#include "scanner/index.h"
#include "scanner/scan.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    struct options common; /* of these only --db, --json and the arguments */
    struct scan_options scan;
    struct cache_options cache; /* url NULL: a store */
    struct public_key *keys;
    bool has_readers, has_root;
    struct progress_lines lines; /* of --progress-fd */
    const char *meta;
};

enum { SHARDS_MAX = 1000000, CACHE_READERS = 8 };
enum {
    OPT_DB = 256,
    OPT_ROOT,
    OPT_STORE,
    OPT_JSON,
    OPT_CLOSURE,
    OPT_SHARD,
    OPT_PROGRESS,
    OPT_CACHE,
    OPT_KEY,
    OPT_NO_LISTINGS,
    OPT_RANGES,
    OPT_META
};

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
    {"cache", OPT_CACHE, "URL", 0, "Scan a binary cache instead: http, https or file", 0},
    {"public-key", OPT_KEY, "KEY", 0,
     "Of the cache only what KEY (NAME:BASE64) has signed; repeatable", 0},
    {"no-listings", OPT_NO_LISTINGS, NULL, 0,
     "Read every archive of the cache, also where its listing shows no ELF files", 0},
    {"ranges", OPT_RANGES, NULL, 0,
     "Of the cache's unpacked archives read only ELF files; hashes are not checked then", 0},
    {"meta", OPT_META, "FILE", 0, META_HELP, 0},
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
    struct err err;
    char *end;
    long n;

    switch (key) {
    case OPT_DB:
        o->db = arg;
        break;
    case OPT_ROOT:
        a->scan.root = arg;
        a->has_root = true;
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
        a->scan.readers = scanning_readers(arg, state);
        a->has_readers = true;
        break;
    case OPT_CACHE:
        a->cache.url = arg;
        break;
    case OPT_KEY:
        a->keys = arena_grow(&o->arena, a->keys, a->cache.n_keys, sizeof(*a->keys));
        if (public_key_read(arg, &o->arena, &a->keys[a->cache.n_keys++], &err) < 0)
            argp_error(state, "%s", err.text);
        break;
    case OPT_NO_LISTINGS:
        a->cache.no_listings = true;
        break;
    case OPT_RANGES:
        a->cache.ranges = true;
        break;
    case ARGP_KEY_END:
        if (!a->cache.url && (a->keys || a->cache.no_listings || a->cache.ranges))
            argp_error(state, "--public-key, --no-listings and --ranges are about a --cache");
        if (a->cache.url && a->has_root)
            argp_error(state, "a --cache has no --root");
        break;
    case OPT_META:
        a->meta = arg;
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

/* ---- the summary */

static int print_json(const struct arguments *a, const char *db, const struct cache_scan_result *c,
                      const struct scan_result *r, const struct index_totals *t, struct err *err)
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
    if (a->cache.url) {
        json_put_int(o, "cache_listed", (int64_t)c->listed);
        json_put_int(o, "cache_ranged", (int64_t)c->ranged);
        json_put_int(o, "cache_bytes", (int64_t)c->bytes);
    }
    return json_print(o, stdout, true, err);
}

static void print_text(const struct arguments *arguments, const char *db,
                       const struct cache_scan_result *c, const struct scan_result *r,
                       const struct index_totals *t)
{
    CLEANUP(arena_release) struct arena a = {0};

    printf("packages: %zu; scanned %zu, unchanged %zu", r->packages, r->scanned, r->unchanged);
    if (r->gone)
        printf(", gone %zu", r->gone);
    if (r->unregistered)
        printf("; not registered, left out: %zu", r->unregistered);
    if (r->elsewhere)
        printf("; of other shards: %zu", r->elsewhere);
    if (arguments->cache.url && r->scanned)
        printf("; read %.1f MiB, listings were enough of %zu", (double)c->bytes / (1 << 20),
               c->listed);
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

/* Without paths links lead to, caches only know their store's. */
static int scan_cache(struct arguments *a, struct db *db, struct cache_scan_result *ret_result,
                      struct err *err)
{
    a->cache.store = a->scan.store;
    a->cache.key = a->keys;
    if (!a->has_readers)
        a->scan.readers = CACHE_READERS;
    return cache_scan(db, &a->scan, &a->cache, ret_result, err);
}

static int scan(struct arguments *a, struct progress_line *line, struct err *err)
{
    CLEANUP(origins_freep) struct origins *origins = NULL;
    CLEANUP(db_closep) struct db *db = NULL;
    const char *path = options_db(&a->common);
    struct cache_scan_result cached = {0};
    struct scan_result result = {0};
    struct index_totals totals;
    int r = meta_read(a->meta, &a->common.arena, &origins, err);

    if (r == 0)
        r = scanning_open(&a->common, &a->scan, &db, err);
    if (r == 0)
        r = a->cache.url ? scan_cache(a, db, &cached, err) : scan_run(db, &a->scan, &result, err);
    if (r == 0 && a->cache.url)
        result = cached.scan;
    progress_line_end(line);
    if (r == 0)
        r = meta_note(db, a->meta, origins, err);
    if (r == 0)
        r = index_totals(db, &totals, err);
    if (r == 0 && a->common.json)
        r = print_json(a, path, &cached, &result, &totals, err);
    else if (r == 0)
        print_text(a, path, &cached, &result, &totals);
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
