/* New audits: a file made elsewhere, or an order to make one here. */
#include "server/api.h"
#include "server/archive.h"
#include "server/job.h"
#include "server/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- an order */

static int post_order(struct query *query, struct reply *reply, struct err *err)
{
    struct jobs *jobs = service_jobs(query->service);
    const char *why_not;
    struct snapshot *snap;
    struct order order;
    int64_t id;
    int r = order_read(query->body ? query->body : "", query->n_body, query->arena, &order, err);

    if (r < 0)
        return r;
    snap = service_snapshot(query->service, query->arena, &why_not);
    r = order_place(&order, snap ? snap->store : NULL, snap ? snap->n_stores : 0, err);
    if (r == 0)
        r = jobs_add(jobs, &order, &id, err);
    snapshot_unref(snap);
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
