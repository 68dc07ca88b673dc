/* New audits: a file made elsewhere, or an order to make one here. */
#include "server/api.h"
#include "server/archive.h"
#include "server/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 200 };

/* ---- an order */

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

static bool is_in(const char *path, const char *store)
{
    const size_t len = strlen(store);

    return !strncmp(path, store, len) && path[len] == '/' && path[len + 1] &&
           !strstr(path, "/../") && !str_ends(path, "/..");
}

/* The store that the first path lies in, as the index knows it; else the first one it has. */
static int choose_store(struct query *query, struct job_order *order, struct err *err)
{
    const char *why_not;
    struct snapshot *snap = service_snapshot(query->service, query->arena, &why_not);

    order->store = "/nix/store";
    order->root = "/";
    for (size_t i = 0; snap && i < snap->n_stores; i++) {
        if (order->n_paths && !is_in(order->path[0], snap->store[i].path))
            continue;
        order->store = arena_strdup(query->arena, snap->store[i].path);
        order->root = arena_strdup(query->arena, snap->store[i].root);
        break;
    }
    snapshot_unref(snap);
    for (size_t i = 0; i < order->n_paths; i++)
        if (!is_in(order->path[i], order->store))
            return err_set(err, EBADMSG, "every path must lie in the store '%s'", order->store);
    return 0;
}

static int read_order(struct query *query, json_t *json, struct job_order *order, struct err *err)
{
    const char *key;
    json_t *value;
    int r;

    json_object_foreach (json, key, value) {
        if (strcmp(key, "name") != 0 && strcmp(key, "paths") != 0)
            return err_set(err, EBADMSG, "there is no field '%.100s'", key);
    }
    order->name = json_string_value(json_object_get(json, "name"));
    if (!order->name || !*order->name || *order->name == '-' ||
        strlen(order->name) > NAME_MAX_BYTES)
        return err_set(err, EBADMSG,
                       "'name' must be a text of 1 to %d bytes, without a minus in "
                       "front",
                       (int)NAME_MAX_BYTES);
    r = read_paths(query, json_object_get(json, "paths"), order, err);
    return r < 0 ? r : choose_store(query, order, err);
}

static int post_order(struct query *query, struct reply *reply, struct err *err)
{
    struct jobs *jobs = service_jobs(query->service);
    struct job_order order = {0};
    json_error_t why;
    json_t *json =
        json_loadb(query->body ? query->body : "", query->n_body, JSON_REJECT_DUPLICATES, &why);
    int64_t id;
    int r;

    if (!json)
        return err_set(err, EBADMSG, "the body is no JSON object: %s", why.text);
    r = json_is_object(json) ? read_order(query, json, &order, err)
                             : err_set(err, EBADMSG, "the body is no JSON object");
    if (r == 0)
        r = jobs_add(jobs, &order, &id, err);
    json_decref(json);
    if (r < 0)
        return r;
    reply->status = 202;
    reply->location = arena_printf(query->arena, "/api/v1/jobs/%" PRId64, id);
    reply->json = jobs_one(jobs, id);
    return 0;
}

/* ---- a file */

static int write_draft(struct query *query, const char *path, struct err *err)
{
    FILE *to = fopen(path, "wxe");
    int r = 0;

    if (!to)
        return err_set(err, errno, "the audit cannot be kept: %s", strerror(errno));
    if (fwrite(query->body ? query->body : "", 1, query->n_body, to) != query->n_body ||
        fflush(to) != 0 || fsync(fileno(to)) < 0)
        r = err_set(err, errno, "the audit cannot be kept: %s", strerror(errno));
    if (fclose(to) != 0 && r == 0)
        r = err_set(err, errno, "the audit cannot be kept: %s", strerror(errno));
    if (r < 0)
        (void)unlink(path);
    return r;
}

static int post_file(struct query *query, struct reply *reply, struct err *err)
{
    static unsigned drafts; /* atomic: each one has a name of its own */
    struct archive *archive = service_archive(query->service);
    char name[40], id[20], *path;
    bool is_new;
    int r;

    (void)snprintf(name, sizeof(name), "%d-%u", (int)getpid(),
                   __atomic_add_fetch(&drafts, 1, __ATOMIC_RELAXED));
    path = archive_draft(archive, name);
    r = write_draft(query, path, err);
    if (r == 0)
        r = archive_add(archive, path, id, &is_new, err);
    free(path);
    if (r < 0)
        return r;
    reply->status = is_new ? 201 : 200;
    reply->location = arena_printf(query->arena, "/api/v1/audits/%s", id);
    reply->json = archive_one(archive, id);
    return 0;
}

int post_audit(struct query *query, struct reply *reply, struct err *err)
{
    if (str_starts(query->body_type, "application/json"))
        return post_order(query, reply, err);
    if (str_starts(query->body_type, "application/x-ndjson"))
        return post_file(query, reply, err);
    return err_set(err, ENOTSUP,
                   "application/json (an order) or application/x-ndjson (an audit "
                   "file) is wanted");
}
