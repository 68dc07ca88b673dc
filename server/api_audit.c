/* Audits: the index as it is. New ones are scanned for. */
#include "server/api.h"
#include "server/job.h"

#include <errno.h>
#include <string.h>

enum { NAME_MAX_BYTES = 200 };

static json_t *index_audit(const struct snapshot *snap)
{
    json_t *json = json_object();

    json_put_text(json, "id", "index");
    json_put_text(json, "name", "index");
    json_put_text(json, "source", "index");
    json_put(json, "time", time_json(snap->index_at));
    json_put_text(json, "cpu", snap->cpu);
    json_put_int(json, "packages", (int64_t)snap->n_packages);
    json_put_int(json, "programs", (int64_t)snap->n_programs);
    json_put_int(json, "failed", (int64_t)storm_failed(&snap->sum));
    return json;
}

int list_audits(struct query *query, struct reply *reply, struct err *err)
{
    json_t *items = json_array();

    (void)err;
    json_push(items, index_audit(query->snapshot));
    reply->json = json_object();
    json_put(reply->json, "items", items);
    return 0;
}

/* ---- a new one */

static int read_paths(struct query *query, const json_t *json, struct job_order *order,
                      struct err *err)
{
    const size_t n = json_array_size(json);
    const char **path = arena_calloc(query->arena, n + 1, sizeof(*path));

    if (json && !json_is_array(json))
        return err_set(err, EBADMSG, "'paths' must be a list of paths");
    if (n > JOB_PATHS_MAX)
        return err_set(err, EBADMSG, "'paths' may have %d items", (int)JOB_PATHS_MAX);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(json, i));

        if (!text || *text != '/' || strlen(text) > 4096)
            return err_set(err, EBADMSG, "'paths' must be a list of absolute paths");
        path[order->n_paths++] = str_unescape(query->arena, text);
    }
    order->path = path;
    return 0;
}

/* The store that the first path lies in, as the index knows it; else the first one it has. */
static int choose_store(struct query *query, struct job_order *order, struct err *err)
{
    const char *why_not;
    struct snapshot *snap = service_snapshot(query->service, query->arena, &why_not);
    const struct store_row *store = NULL;

    order->store = "/nix/store";
    order->root = "/";
    for (size_t i = 0; snap && i < snap->n_stores; i++) {
        const size_t len = strlen(snap->store[i].path);

        if (!order->n_paths ||
            (!strncmp(order->path[0], snap->store[i].path, len) && order->path[0][len] == '/')) {
            store = &snap->store[i];
            break;
        }
    }
    if (store) {
        order->store = arena_strdup(query->arena, store->path);
        order->root = arena_strdup(query->arena, store->root);
    }
    snapshot_unref(snap);
    for (size_t i = 0; i < order->n_paths; i++) {
        const size_t len = strlen(order->store);

        if (strncmp(order->path[i], order->store, len) != 0 || order->path[i][len] != '/' ||
            strstr(order->path[i], "/../"))
            return err_set(err, EBADMSG, "every path must lie in the store '%s'", order->store);
    }
    return 0;
}

static int read_order(struct query *query, json_t *json, struct job_order *order, struct err *err)
{
    static const char *const known[] = {"name", "paths"};
    const char *key;
    json_t *value;
    int r;

    json_object_foreach (json, key, value) {
        if (strcmp(key, known[0]) != 0 && strcmp(key, known[1]) != 0)
            return err_set(err, EBADMSG, "there is no field '%.100s'", key);
    }
    order->name = json_string_value(json_object_get(json, "name"));
    if (!order->name || !*order->name || strlen(order->name) > NAME_MAX_BYTES)
        return err_set(err, EBADMSG, "'name' must be a text of 1 to %d bytes", (int)NAME_MAX_BYTES);
    r = read_paths(query, json_object_get(json, "paths"), order, err);
    return r < 0 ? r : choose_store(query, order, err);
}

int post_audit(struct query *query, struct reply *reply, struct err *err)
{
    struct jobs *jobs = service_jobs(query->service);
    struct job_order order = {0};
    json_error_t why;
    json_t *json;
    int64_t id;
    int r;

    if (!str_starts(query->body_type, "application/json"))
        return err_set(err, ENOTSUP, "application/json is wanted");
    json = json_loadb(query->body ? query->body : "", query->n_body, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(json)) {
        json_decref(json);
        return err_set(err, EBADMSG, "the body is no JSON object%s%s", json ? "" : ": ",
                       json ? "" : why.text);
    }
    r = read_order(query, json, &order, err);
    if (r == 0)
        r = jobs_add(jobs, &order, &id, err);
    json_decref(json);
    if (r < 0)
        return r;
    reply->status = 202;
    reply->location = arena_printf(query->arena, "/api/v1/jobs/%lld", (long long)id);
    reply->json = jobs_one(jobs, id);
    return 0;
}
