/*
 * stormlint pull: index what an evaluation of a Hydra has built, as far as it is in the store.
 */
#include "base/json.h"
#include "base/log.h"
#include "cli/meta.h"
#include "cli/scanning.h"
#include "scanner/closure_file.h"
#include "scanner/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LIST_MAX = 256 * 1024 * 1024 }; /* bytes of a list of store paths */

struct pull_arguments {
    struct options common; /* of these only --db, --json */
    struct scan_options scan;
    const char *hydra, *eval, *output, *meta;
};

static int take_eval(void *into, const char *text, struct arena *arena UNUSED, struct err *err)
{
    struct pull_arguments *a = into;

    if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 15)
        return err_set(err, EINVAL, "'%s' is no number of an evaluation", text);
    a->eval = text;
    return 0;
}

static const struct flag rows[] = {
    {"hydra", "URL", "The Hydra, for instance https://hydra.nixos.org",
     INTO(struct pull_arguments, hydra)},
    {"eval", "N", "The evaluation's number", CALL(take_eval)},
    {"output", "FILE", "Only write the list of its paths, for 'stormlint scan --closure FILE'",
     INTO(struct pull_arguments, output), .letter = 'o'},
    {ROWS(struct pull_arguments, common, db_rows)},
    {ROWS(struct pull_arguments, scan, scanning_rows)},
    {ROWS(struct pull_arguments, meta, meta_rows)},
    {"json", NULL, "Print the summary as JSON", INTO(struct pull_arguments, common.json)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct pull_arguments *a = into;

    if (!a->hydra || !a->eval)
        return err_set(err, EINVAL, "which evaluation? --hydra URL and --eval N are needed");
    return 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .doc = "Index what an evaluation of a Hydra has built, and what that refers to: its list of "
           "store paths (/eval/N/store-paths) is read, and the paths that are in the store are "
           "scanned. What is not there, for instance of other systems, is counted.\v"
           "Exit code: 0; 3, something could not be read; 4, the Hydra or the scan failed.",
};

/* ---- the list */

static void tell_pause(void *data UNUSED, const char *why, unsigned ms)
{
    log_warn("%s; trying again in %u ms", why, ms);
}

static int fetch_list(const struct pull_arguments *a, const char **ret_url, struct str *ret_text,
                      struct err *err)
{
    struct fetcher *fetcher = fetcher_new(&(struct fetch_policy){.pausing = tell_pause});
    size_t len = strlen(a->hydra);
    int r;

    while (len && a->hydra[len - 1] == '/')
        len--;
    *ret_url =
        arena_printf(ret_text->arena, "%.*s/eval/%s/store-paths", (int)len, a->hydra, a->eval);
    r = fetch_text(fetcher, *ret_url, "application/json", LIST_MAX, ret_text, err);
    fetcher_free(fetcher);
    return r;
}

/* Its paths; none: an evaluation that has built nothing yet. */
static int read_list(const struct pull_arguments *a, struct arena *arena,
                     struct closure_file *ret_list, struct err *err)
{
    struct str text = {.arena = arena};
    const char *url;
    int r = fetch_list(a, &url, &text, err);

    if (r < 0)
        return r;
    if (strspn(text.text, "[] \t\r\n") == text.len) {
        *ret_list = (struct closure_file){.format = "paths"};
        return 0;
    }
    r = closure_file_parse(url, text.text, text.len, a->scan.store, arena, ret_list, err);
    if (r == 0 && ret_list->refers)
        return err_set(err, EPROTO, "'%s': no list of store paths", url);
    return r == -EINVAL ? -EPROTO : r;
}

static int write_list(const char *path, const struct closure_file *list, struct err *err)
{
    FILE *to = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");

    if (!to)
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    for (size_t i = 0; i < list->n_paths; i++)
        fprintf(to, "%s\n", list->path[i].path);
    if ((to == stdout ? fflush(to) : ferror(to) | fclose(to)) != 0)
        return err_set(err, EIO, "'%s': cannot be written", path);
    return 0;
}

/* ---- the scan */

static int print(const struct pull_arguments *a, const struct closure_file *list,
                 const struct scan_result *r, struct err *err)
{
    const struct {
        const char *key;
        size_t value;
    } numbers[] = {
        {"listed", list->n_paths}, {"absent", r->absent},       {"packages", r->packages},
        {"scanned", r->scanned},   {"unchanged", r->unchanged}, {"incomplete", r->incomplete},
        {"gone", r->gone}};
    json_auto_t *o = json_object();

    if (!a->common.json) {
        printf("evaluation %s: %zu paths listed, %zu of them are not in the store\n"
               "packages: %zu; scanned %zu, unchanged %zu\n",
               a->eval, list->n_paths, r->absent, r->packages, r->scanned, r->unchanged);
        return 0;
    }
    json_put_text(o, "eval", a->eval);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        json_put_int(o, numbers[i].key, (int64_t)numbers[i].value);
    return json_print(o, stdout, true, err);
}

static int scan(struct pull_arguments *a, const struct closure_file *list, struct arena *arena,
                struct err *err)
{
    CLEANUP(origins_freep) struct origins *origins = NULL;
    CLEANUP(db_closep) struct db *db = NULL;
    CLEANUP(progress_line_end) struct progress_line line = progress_line(stderr);
    struct scan_result result = {0};
    const char **path = arena_calloc(arena, list->n_paths + 1, sizeof(*path));
    int r = meta_read(a->meta, arena, &origins, err);

    if (r == 0)
        r = scanning_open(&a->common, &a->scan, arena, &db, err);
    for (size_t i = 0; i < list->n_paths; i++)
        path[i] = list->path[i].path;
    a->scan.path = path;
    a->scan.n_paths = list->n_paths;
    a->scan.skips_absent = true;
    a->scan.progress = &line.progress;
    if (r == 0 && list->n_paths)
        r = scan_run(db, &a->scan, &result, err);
    progress_line_end(&line);
    if (r == 0)
        r = meta_note(db, a->meta, origins, err);
    if (r == 0)
        r = print(a, list, &result, err);
    if (r == 0 && result.incomplete)
        log_warn("%zu packages could not be read completely; table 'problem' tells why",
                 result.incomplete);
    return r < 0 ? r : result.incomplete ? EXIT_INCOMPLETE : EXIT_FINE;
}

static int pull(void *into, struct arena *arena, struct err *err)
{
    struct pull_arguments *a = into;
    struct closure_file list = {0};
    int r = read_list(a, arena, &list, err);

    if (r == 0)
        r = a->output ? write_list(a->output, &list, err) : scan(a, &list, arena, err);
    return r < 0 ? command_failed(EXIT_FAILED, err) : r;
}

const struct command cmd_pull = {
    .name = "pull",
    .summary = SUMMARY_PULL,
    .flags = &flags,
    WORK(pull, struct pull_arguments, .scan.readers = (unsigned)READERS_UNSAID),
};
