/*
 * stormlint scan: index a store, or the closure of some paths.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/meta.h"
#include "cli/scanning.h"
#include "scanner/cache_scan.h"
#include "scanner/index.h"
#include "scanner/scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct arguments {
    struct options common; /* of these only --db, --json and the arguments */
    struct scan_options scan;
    struct cache_options cache; /* url NULL: a store */
    struct public_key *keys;
    struct progress_lines lines; /* of --progress-fd */
    const char *meta;
};

enum { SHARDS_MAX = 1000000, CACHE_READERS = 8 };
/* "I/N", both at least 1, I at most N. */
static bool read_shard(struct scan_options *scan, const char *text)
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

static int take_shard(void *into, const char *text, struct arena *arena UNUSED, struct err *err)
{
    struct arguments *a = into;

    return read_shard(&a->scan, text)
               ? 0
               : err_set(err, EINVAL, "'%s' is no shard (I/N: 1/4 is the first of four)", text);
}

static int take_key(void *into, const char *text, struct arena *arena, struct err *err)
{
    struct arguments *a = into;

    a->keys = arena_grow(arena, a->keys, a->cache.n_keys, sizeof(*a->keys));
    return public_key_read(text, arena, &a->keys[a->cache.n_keys++], err);
}

static const struct flag rows[] = {
    {ROWS(struct arguments, common, db_rows)},
    {ROWS(struct arguments, scan, scanning_rows)},
    {"closure", "FILE",
     "Scan exactly the closure that FILE tells ('-': standard input): paths, nix path-info --json, "
     "registrations, references graphs, .attrs.json, Spack's index.json",
     INTO(struct arguments, scan.closure)},
    {"shard", "I/N", "Scan only part I of N; 'stormlint merge' joins them", CALL(take_shard)},
    {"cache", "URL", "Scan a binary cache instead: http, https or file",
     INTO(struct arguments, cache.url)},
    {"public-key", "KEY", "Of the cache only what KEY (NAME:BASE64) has signed; repeatable",
     CALL(take_key)},
    {"no-listings", NULL,
     "Read every archive of the cache, also where its listing shows no ELF files",
     INTO(struct arguments, cache.no_listings)},
    {"ranges", NULL,
     "Of the cache's unpacked archives read only ELF files; hashes are not checked then",
     INTO(struct arguments, cache.ranges)},
    {ROWS(struct arguments, meta, meta_rows)},
    {"json", NULL, "Print the summary as JSON", INTO(struct arguments, common.json)},
    {ROWS(struct arguments, lines, progress_rows)},
    {NULL, "PATH", NULL, LIST(struct arguments, common.arg, common.n_args)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct arguments *a = into;

    if (!a->cache.url && (a->keys || a->cache.no_listings || a->cache.ranges))
        return err_set(err, EINVAL, "--public-key, --no-listings and --ranges are about a --cache");
    if (a->cache.url && a->scan.root)
        return err_set(err, EINVAL, "a --cache has no --root");
    return 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "[PATH...]",
    .doc = "Index the ELF files of a store: what they need, where they look for it, and the "
           "directories they look into.\v"
           "With PATHs: only the packages they are in or lead to, and everything those refer to. "
           "What is known already is not read again. "
           "Exit code: 0; 3, something could not be read; 4, the scan failed.",
};

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

/* Without paths links lead to, caches only know their store's. */
static int scan_cache(struct arguments *a, struct db *db, struct cache_scan_result *ret_result,
                      struct err *err)
{
    a->cache.store = a->scan.store;
    a->cache.key = a->keys;
    return cache_scan(db, &a->scan, &a->cache, ret_result, err);
}

static int scan(struct arguments *a, struct arena *arena, struct err *err)
{
    CLEANUP(origins_freep) struct origins *origins = NULL;
    CLEANUP(db_closep) struct db *db = NULL;
    CLEANUP(progress_line_end) struct progress_line line = progress_line(stderr);
    const char *path = options_db(&a->common, arena);
    struct cache_scan_result cached = {0};
    struct scan_result result = {0};
    struct index_totals totals;
    int r;

    a->scan.path = a->common.arg;
    a->scan.n_paths = a->common.n_args;
    a->scan.progress = a->lines.progress.update ? &a->lines.progress : &line.progress;
    if (a->cache.url && a->scan.readers == (unsigned)READERS_UNSAID)
        a->scan.readers = CACHE_READERS;
    r = meta_read(a->meta, arena, &origins, err);
    if (r == 0)
        r = scanning_open(&a->common, &a->scan, arena, &db, err);
    if (r == 0)
        r = a->cache.url ? scan_cache(a, db, &cached, err) : scan_run(db, &a->scan, &result, err);
    if (r == 0 && a->cache.url)
        result = cached.scan;
    progress_line_end(&line);
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

static int run_scan(void *into, struct arena *arena, struct err *err)
{
    const int r = scan(into, arena, err);
    const bool usage = r == -EINVAL || r == -ENOENT || r == -EEXIST;

    return r >= 0 ? r : command_failed(usage ? EXIT_USAGE : EXIT_FAILED, err);
}

const struct command cmd_scan = {
    .name = "scan",
    .summary = "index the ELF files of a store or a closure",
    .flags = &flags,
    WORK(run_scan, struct arguments, .scan.readers = (unsigned)READERS_UNSAID),
};
