/*
 * stormlint hydra: order an audit from a service; by default, of the build that a Hydra has just
 * finished (its RunCommand plugin).
 */
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "scanner/fetch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Hydra waits for its commands one after the other: whatever happens, we are gone in a second. */
enum { CONNECT_MS = 300, WHOLE_MS = 800, FILE_MAX = 16 * 1024 * 1024, ANSWER_MAX = 65536 };

#define SERVICE "http://127.0.0.1:8417"

struct hydra_arguments {
    const char *service, *token_file;
    const char **word; /* NAME PATH..., or none */
    size_t n_words;
    bool dry;
};

static const struct flag rows[] = {
    {"service", "ADDRESS",
     "http://..., https://... or unix:PATH; else $STORMLINT_SERVICE (default: " SERVICE ")",
     INTO(struct hydra_arguments, service)},
    {"token-file", "FILE",
     "Its first line is the service's token; else $STORMLINT_TOKEN_FILE names it",
     INTO(struct hydra_arguments, token_file)},
    {"dry-run", NULL, "Print what would be ordered", INTO(struct hydra_arguments, dry)},
    {NULL, "NAME PATH...", NULL, LIST(struct hydra_arguments, word, n_words)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct hydra_arguments *a = into;

    return a->n_words != 1 ? 0
                           : err_set(err, EINVAL, "an audit of what? NAME is followed by paths");
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "[NAME PATH...]",
    .doc = "Order an audit from a service (see 'stormlint serve') and do not wait for it. "
           "Without NAME: of the build that the file $HYDRA_JSON tells of, as Hydra's RunCommand "
           "plugin sets it; the audit is named PROJECT:JOBSET:JOB:BUILD.\v"
           "Builds without outputs (failed, cancelled, timed out, ...) are left alone. "
           "It ends within a second. "
           "Exit code: 0, it is ordered, or there is nothing to order; 2, the build cannot be "
           "understood; 4, the service cannot be reached or refuses.",
};

/* ---- what is ordered */

/* A field that is a number or its digits: Hydra writes either. */
static bool number_of(const json_t *object, const char *key, long long *ret_number)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    char *end;

    if (json_is_integer(value)) {
        *ret_number = json_integer_value(value);
        return true;
    }
    if (!text || !*text)
        return false;
    *ret_number = strtoll(text, &end, 10);
    return *end == '\0';
}

/* Succeeded, or failed with output (nix-support/failed): the only ends that leave something. */
static bool has_output(long long status)
{
    return status == 0 || status == 6;
}

static int build_name(const json_t *build, struct arena *arena, const char **ret_name,
                      struct err *err)
{
    const char *part[3];
    static const char *const keys[] = {"project", "jobset", "job"};
    long long id;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        part[i] = json_string_value(json_object_get(build, keys[i]));
        if (!part[i] || !*part[i])
            return err_set(err, EINVAL, "the build has no \"%s\"", keys[i]);
    }
    if (!number_of(build, "build", &id))
        return err_set(err, EINVAL, "the build has no number \"build\"");
    *ret_name = arena_printf(arena, "%s:%s:%s:%lld", part[0], part[1], part[2], id);
    return 0;
}

/* The order for a finished build; `*ret_order` NULL: there is nothing to be ordered. */
static int order_of_build(const json_t *build, struct arena *arena, json_t **ret_order,
                          struct err *err)
{
    const char *event = json_string_value(json_object_get(build, "event")), *name = NULL;
    json_t *paths = json_array(), *output;
    long long status;
    size_t i;
    int r = build_name(build, arena, &name, err);

    if (r == 0 && !number_of(build, "buildStatus", &status))
        r = err_set(err, EINVAL, "the build has no number \"buildStatus\"");
    json_array_foreach (json_object_get(build, "outputs"), i, output) {
        const char *path = json_string_value(json_object_get(output, "path"));

        if (path && *path == '/')
            json_push(paths, json_text(path));
    }
    if (r == 0 && ((event && strcmp(event, "buildFinished") != 0) || !has_output(status) ||
                   json_array_size(paths) == 0)) {
        log_info("%s: nothing to audit (build status %lld, %zu outputs)", str_escape(arena, name),
                 status, json_array_size(paths));
    } else if (r == 0) {
        *ret_order = json_object();
        json_put_text(*ret_order, "name", name);
        json_put(*ret_order, "paths", paths);
        return 0;
    }
    json_decref(paths);
    return r;
}

static int order_of_file(struct arena *arena, json_t **ret_order, struct err *err)
{
    const char *path = getenv("HYDRA_JSON");
    json_auto_t *build = NULL;
    struct err why;
    int r;

    if (!path || !*path)
        return err_set(err, EINVAL,
                       "$HYDRA_JSON is not set: give NAME and PATHs, or let Hydra's RunCommand "
                       "plugin call this");
    r = json_read_file(path, FILE_MAX, &build, err);
    if (r == 0 && order_of_build(build, arena, ret_order, &why) < 0)
        return err_set(err, EINVAL, "'%s': %s", path, why.text);
    return r == -EFBIG || r == -EINVAL || r == 0 ? r : -EINVAL;
}

/* What links lead to, since a service takes paths of its store only. */
static json_t *order_of_arguments(const struct hydra_arguments *a)
{
    json_t *order = json_object(), *paths = json_array();
    char real[PATH_MAX];

    for (size_t i = 1; i < a->n_words; i++)
        json_push(paths, json_text(realpath(a->word[i], real) ? real : a->word[i]));
    json_put_text(order, "name", a->word[0]);
    json_put(order, "paths", paths);
    return order;
}

/* ---- ordering it */

static int read_token(const struct hydra_arguments *a, struct arena *arena, const char **ret_token,
                      struct err *err)
{
    const char *path = a->token_file ? a->token_file : getenv("STORMLINT_TOKEN_FILE");
    char line[1024];
    FILE *file;

    if (!path || !*path)
        return 0;
    file = fopen(path, "re");
    if (!file)
        return err_set(err, EIO, "token file '%s': %s", path, strerror(errno));
    if (!fgets(line, sizeof(line), file))
        line[0] = '\0';
    (void)fclose(file);
    line[strcspn(line, "\r\n")] = '\0';
    if (!*line)
        return err_set(err, EIO, "token file '%s': its first line is empty", path);
    *ret_token = arena_strdup(arena, line);
    return 0;
}

/* This machine's own services are not behind a proxy. */
static bool is_local(const char *service)
{
    static const char *const hosts[] = {"http://127.", "http://localhost", "http://[::1]"};
    const char *const *host;

    for_each (host, hosts)
        if (str_starts(service, *host))
            return true;
    return false;
}

struct answer {
    struct str text;
};

static int keep(void *data, const void *bytes, size_t n, struct err *err UNUSED)
{
    str_add_n(&((struct answer *)data)->text, bytes, n);
    return 0;
}

static int place(const struct hydra_arguments *a, const json_t *order, struct arena *arena,
                 struct err *err)
{
    const char *service = a->service ? a->service : getenv("STORMLINT_SERVICE"), *token = NULL;
    struct fetch_policy policy = {.tries = 1, .connect_ms = CONNECT_MS, .whole_ms = WHOLE_MS};
    struct answer answer = {.text.arena = arena};
    char *body = json_dumps(order, JSON_COMPACT);
    struct fetch fetch = {.sink = keep,
                          .data = &answer,
                          .max_bytes = ANSWER_MAX,
                          .body = body,
                          .type = "application/json"};
    struct fetcher *fetcher;
    struct fetch_answer got;
    int r = read_token(a, arena, &token, err);

    if (!body)
        abort();
    service = service && *service ? service : SERVICE;
    if (str_starts(service, "unix:")) {
        policy.unix_socket = service + strlen("unix:");
        service = "http://localhost";
    }
    policy.bearer = token;
    policy.direct = is_local(service);
    fetch.url = arena_printf(arena, "%s/api/v1/audits", service);
    fetcher = fetcher_new(&policy);
    if (r == 0)
        r = fetch_run(fetcher, &fetch, &got, err);
    fetcher_free(fetcher);
    free(body);
    if (r == -EACCES)
        return err_set(err, EACCES, "%s; is the token the service's (--token-file)?",
                       arena_strdup(arena, err->text));
    if (r == 0)
        log_info("ordered: %s", str_escape(arena, answer.text.text ? answer.text.text : ""));
    return r;
}

static int order(void *into, struct arena *arena, struct err *err)
{
    const struct hydra_arguments *a = into;
    json_auto_t *order = NULL;
    int r = 0;

    if (a->n_words)
        order = order_of_arguments(a);
    else
        r = order_of_file(arena, &order, err);
    if (r < 0)
        return command_failed(EXIT_USAGE, err);
    if (!order)
        return EXIT_FINE;
    r = a->dry ? json_print(order, stdout, true, err) : place(a, order, arena, err);
    return r < 0 ? command_failed(EXIT_FAILED, err) : EXIT_FINE;
}

const struct command cmd_hydra = {
    .name = "hydra",
    .summary = SUMMARY_HYDRA,
    .flags = &flags,
    WORK(order, struct hydra_arguments),
};
