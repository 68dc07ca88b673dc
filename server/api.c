/* What handlers share. */
#include "server/api.h"

#include <errno.h>
#include <string.h>

int find_program(const struct query *query, const char *id, struct program_row **ret_program,
                 struct err *err)
{
    *ret_program = snapshot_program(query->snapshot, id);
    return *ret_program ? 0
                        : err_set(err, ENOENT, "there is no program '%.300s' in this index", id);
}

int find_package(const struct query *query, const char *id, struct package_row **ret_package,
                 struct err *err)
{
    *ret_package = snapshot_package(query->snapshot, id);
    return *ret_package ? 0
                        : err_set(err, ENOENT, "there is no package '%.300s' in this index", id);
}

int64_t storm_number(const struct storm *s, const char *name)
{
    const struct number {
        const char *name;
        uint64_t value;
    } numbers[] =
        {
            {"failed", storm_failed(s)},
            {"failed_opens", s->failed_opens},
            {"failed_stats", s->failed_stats},
            {"opens", s->opens},
            {"stats", s->stats},
            {"objects", s->objects},
            {"directories", s->directories},
        },
      *number;

    for_each (number, numbers)
        if (!strcmp(name, number->name))
            return (int64_t)number->value;
    return 0;
}

json_t *package_ref_json(const struct package_row *package)
{
    json_t *json;

    if (!package)
        return json_null();
    json = json_object();
    json_put_text(json, "id", package->base);
    json_put_text(json, "path", package->path);
    json_put_text(json, "pname", package->pname);
    json_put_text(json, "version", *package->version ? package->version : NULL);
    json_put_text(json, "output", package->output);
    origin_put(json, package->origin);
    return json;
}

struct failed_range query_failed(const struct query *query)
{
    return (struct failed_range){
        .min = query_number(query, "min_failed"),
        .max = query_text(query, "max_failed") ? query_number(query, "max_failed") : UINT64_MAX};
}
