/*
 * stormlint pull: index what an evaluation of a Hydra has built, as far as it is in the store.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/meta.h"
#include "cli/scanning.h"
#include "scanner/closure_file.h"
#include "scanner/fetch.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 256 * 1024 * 1024 }; /* bytes of a list of store paths */

struct pull_arguments {
    struct options common; /* of these only --db, --json */
    struct scan_options scan;
    const char *hydra, *eval, *output, *meta;
};

enum { OPT_HYDRA = 0x200, OPT_EVAL, OPT_DB, OPT_ROOT, OPT_STORE, OPT_META, OPT_JSON };

static const struct argp_option rows[] = {
    {"hydra", OPT_HYDRA, "URL", 0, "The Hydra, for instance https://hydra.nixos.org", 0},
    {"eval", OPT_EVAL, "N", 0, "The evaluation's number", 0},
    {"output", 'o', "FILE", 0,
     "Only write the list of its paths, for 'stormlint scan --closure FILE'", 0},
    {"db", OPT_DB, "FILE", 0, "The index; else $STORMLINT_DB, else the cache directory's", 0},
    {"root", OPT_ROOT, "DIR", 0, "The tree under DIR plays /", 0},
    {"store", OPT_STORE, "DIR", 0, "The directory of packages (default: /nix/store)", 0},
    {"meta", OPT_META, "FILE", 0, META_HELP, 0},
    {"jobs", 'j', "N", 0, "Threads that read; default: as many as processors", 0},
    {"json", OPT_JSON, NULL, 0, "Print the summary as JSON", 0},
    {0},
};

static bool is_number(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!isdigit((unsigned char)*c))
            return false;
    return *text && strlen(text) < 16;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct pull_arguments *a = state->input;

    switch (key) {
    case OPT_HYDRA:
        a->hydra = arg;
        break;
    case OPT_EVAL:
        if (!is_number(arg))
            argp_error(state, "'%s' is no number of an evaluation", arg);
        a->eval = arg;
        break;
    case 'o':
        a->output = arg;
        break;
    case OPT_DB:
        a->common.db = arg;
        break;
    case OPT_ROOT:
        a->scan.root = arg;
        break;
    case OPT_STORE:
        a->scan.store = arg;
        break;
    case OPT_META:
        a->meta = arg;
        break;
    case 'j':
        a->scan.readers = scanning_readers(arg, state);
        break;
    case OPT_JSON:
        a->common.json = true;
        break;
    case ARGP_KEY_END:
        if (!a->hydra || !a->eval)
            argp_error(state, "which evaluation? --hydra URL and --eval N are needed");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {
    .options = rows,
    .parser = parse,
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

static int fetch_list(const struct pull_arguments *a, struct arena *arena, char **ret_text,
                      size_t *ret_len, const char **ret_url, struct err *err)
{
    struct fetcher *fetcher = fetcher_new(&(struct fetch_policy){.pausing = tell_pause});
    size_t len = strlen(a->hydra);
    int r;

    while (len && a->hydra[len - 1] == '/')
        len--;
    *ret_url = arena_printf(arena, "%.*s/eval/%s/store-paths", (int)len, a->hydra, a->eval);
    r = fetch_text_as(fetcher, *ret_url, "application/json", LIST_MAX, arena, ret_text, ret_len,
                      err);
    fetcher_free(fetcher);
    return r;
}

/* Its paths; none: an evaluation that has built nothing yet. */
static int read_list(const struct pull_arguments *a, struct arena *arena,
                     struct closure_file *ret_list, struct err *err)
{
    char *text = NULL;
    const char *url = "";
    size_t len = 0;
    int r = fetch_list(a, arena, &text, &len, &url, err);

    if (r < 0)
        return r;
    if (strspn(text, "[] \t\r\n") == len) {
        *ret_list = (struct closure_file){.format = "paths"};
        return 0;
    }
    r = closure_file_parse(url, text, len, a->scan.store, arena, ret_list, err);
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

static int scan(struct pull_arguments *a, const struct closure_file *list, struct err *err)
{
    CLEANUP(origins_freep) struct origins *origins = NULL;
    CLEANUP(db_closep) struct db *db = NULL;
    struct scan_result result = {0};
    const char **path = arena_calloc(&a->common.arena, list->n_paths + 1, sizeof(*path));
    int r = meta_read(a->meta, &a->common.arena, &origins, err);

    if (r == 0)
        r = scanning_open(&a->common, &a->scan, &db, err);
    for (size_t i = 0; i < list->n_paths; i++)
        path[i] = list->path[i].path;
    a->scan.path = path;
    a->scan.n_paths = list->n_paths;
    a->scan.skips_absent = true;
    if (r == 0 && list->n_paths)
        r = scan_run(db, &a->scan, &result, err);
    if (r == 0)
        r = meta_note(db, a->meta, origins, err);
    if (r == 0)
        r = print(a, list, &result, err);
    if (r == 0 && result.incomplete)
        log_warn("%zu packages could not be read completely; table 'problem' tells why",
                 result.incomplete);
    return r < 0 ? r : result.incomplete ? EXIT_INCOMPLETE : EXIT_FINE;
}

static int run(int argc, char **argv)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct progress_line line = progress_line(stderr);
    struct pull_arguments a = {
        .scan = {.root = "/", .store = "/nix/store", .progress = &line.progress}};
    struct closure_file list = {0};
    struct err err = {0};
    int r;

    a.scan.readers = cpus > 1 ? (unsigned)cpus : 1;
    options_parse(&argp, argc, argv, &a);
    r = read_list(&a, &a.common.arena, &list, &err);
    if (r == 0)
        r = a.output ? write_list(a.output, &list, &err) : scan(&a, &list, &err);
    progress_line_end(&line);
    if (r < 0) {
        CLEANUP(arena_release) struct arena scratch = {0};

        log_error("%s", str_escape(&scratch, err.text));
        r = EXIT_FAILED;
    }
    options_release(&a.common);
    return r;
}

const struct command cmd_pull = {
    .name = "pull",
    .summary = SUMMARY_PULL,
    .run = run,
};
