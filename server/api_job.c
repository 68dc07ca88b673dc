/* Jobs: how far they are; ending them. */
#include "server/api.h"
#include "server/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_id(const char *text, int64_t *ret_id, struct err *err)
{
    char *end;

    errno = 0;
    *ret_id = strtoll(text, &end, 10);
    return errno || *end || *text < '0' || *text > '9'
               ? err_set(err, ENOENT, "there is no such job")
               : 0;
}

int list_jobs(struct query *query, struct reply *reply, struct err *err)
{
    struct jobs *jobs = service_jobs(query->service);

    (void)err;
    reply->json = json_object();
    json_put(reply->json, "items", jobs ? jobs_all(jobs) : json_array());
    return 0;
}

int get_job(struct query *query, struct reply *reply, struct err *err)
{
    struct jobs *jobs = service_jobs(query->service);
    int64_t id;
    int r = read_id(query->segment[0], &id, err);

    if (r < 0)
        return r;
    reply->json = jobs ? jobs_one(jobs, id) : NULL;
    return reply->json ? 0 : err_set(err, ENOENT, "there is no such job");
}

int cancel_job(struct query *query, struct reply *reply, struct err *err)
{
    struct jobs *jobs = service_jobs(query->service);
    int64_t id;
    int r = read_id(query->segment[0], &id, err);

    if (r == 0)
        r = jobs_cancel(jobs, id, err);
    if (r < 0)
        return r;
    reply->status = 202;
    reply->json = jobs_one(jobs, id);
    return 0;
}
