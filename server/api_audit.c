/*
 * Audits: those of the archive, and "index", the index as it is. What lists of their programs and
 * findings say is the same for both.
 */
#include "server/api.h"
#include "server/archive.h"
#include "server/index_audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which one */

int looked_at_open(struct query *query, const char *id, struct looked_at *ret, struct err *err)
{
    struct archive *archive = service_archive(query->service);
    struct looked_at l = {.archive = archive};
    int r;

    if (!strcmp(id, "index")) {
        if (!query->snapshot)
            return err_set(err, EAGAIN, "there is no index yet");
        r = snapshot_audit(query->snapshot, &l.audit, err);
    } else if (!archive) {
        r = err_set(err, ENOENT, "there is no such audit");
    } else {
        r = archive_take(archive, id, &l.held, err);
        l.audit = r == 0 ? &l.held->audit : NULL;
    }
    if (r == 0)
        *ret = l;
    return r;
}

void looked_at_close(struct looked_at *l)
{
    if (l->held)
        archive_give(l->archive, l->held);
}

/* ---- audits themselves */

static json_t *index_summary(const struct snapshot *snap)
{
    json_t *json = json_object();

    json_put_text(json, "id", "index");
    json_put_text(json, "name", "index");
    json_put_text(json, "source", "index");
    json_put(json, "time", json_time(snap->index_at));
    json_put_text(json, "cpu", snap->cpu);
    json_put_text(json, "version", VERSION);
    json_put_int(json, "model", STORM_MODEL);
    json_put(json, "roots", json_array());
    json_put(json, "incomplete", json_boolean(snap->totals.incomplete || snap->totals.unread));
    json_put_int(json, "packages", (int64_t)snap->n_packages);
    json_put_int(json, "programs", (int64_t)snap->n_programs);
    json_put_int(json, "failed", (int64_t)storm_failed(&snap->sum));
    return json;
}

/* Numbers that need linting, for one that is asked for by itself. */
static void put_findings(json_t *json, const struct audit *audit)
{
    json_put_int(json, "findings", (int64_t)audit->n_findings);
    json_put_int(json, "errors", (int64_t)audit_count(audit, SEVERITY_ERROR));
    json_put_int(json, "warnings", (int64_t)audit_count(audit, SEVERITY_WARNING));
    json_put_int(json, "notes", (int64_t)audit_count(audit, SEVERITY_NOTE));
}

int list_audits(struct query *query, struct reply *reply, struct err *err)
{
    struct archive *archive = service_archive(query->service);
    json_t *items = archive ? archive_list(archive) : json_array();

    (void)err;
    if (query->snapshot && json_array_insert_new(items, 0, index_summary(query->snapshot)) < 0)
        abort();
    reply->json = json_object();
    json_put(reply->json, "items", items);
    return 0;
}

static uint64_t failed_of(const void *data, size_t at)
{
    const struct audit *audit = data;

    return storm_failed(&audit->program[at].storm);
}

int get_audit(struct query *query, struct reply *reply, struct err *err)
{
    struct archive *archive = service_archive(query->service);
    const char *id = query->segment[0];
    const bool is_index = !strcmp(id, "index");
    struct looked_at audit;
    int r = looked_at_open(query, id, &audit, err);

    if (r < 0)
        return r;
    reply->json = is_index ? index_summary(query->snapshot) : archive_one(archive, id);
    if (is_index)
        put_findings(reply->json, audit.audit);
    if (reply->json)
        json_put(reply->json, "histogram",
                 histogram_json(failed_of, audit.audit, audit.audit->n_programs));
    else
        r = err_set(err, ENOENT, "there is no such audit"); /* removed meanwhile */
    looked_at_close(&audit);
    return r;
}

/* ---- the file */

static long read_file(void *data, char *to, size_t max)
{
    return read((int)(intptr_t)data, to, max);
}

static void close_file(void *data)
{
    (void)close((int)(intptr_t)data);
}

int get_audit_file(struct query *query, struct reply *reply, struct err *err)
{
    struct archive *archive = service_archive(query->service);
    char *path = archive ? archive_file(archive, query->segment[0]) : NULL;
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    free(path);
    if (fd < 0)
        return err_set(err, ENOENT, "there is no such audit");
    reply->type = "application/x-ndjson";
    reply->stream =
        (struct http_stream){.read = read_file, .close = close_file, .data = (void *)(intptr_t)fd};
    return 0;
}

int delete_audit(struct query *query, struct reply *reply, struct err *err)
{
    int r = archive_remove(service_archive(query->service), query->segment[0], err);

    reply->status = 204;
    return r;
}

/* ---- programs of one */

struct programs {
    const struct query *query;
    const struct audit *audit;
    const char *sort, *q, *strategy, *starts;
    struct failed_range failed;
};

static uint64_t failed_after(const struct audit_program *p)
{
    return storm_failed(p->plan ? &p->plan->after : &p->storm);
}

static bool wanted(void *data, size_t at)
{
    const struct programs *l = data;
    const struct audit_program *p = &l->audit->program[at];

    return storm_failed(&p->storm) >= l->failed.min && storm_failed(&p->storm) <= l->failed.max &&
           (!l->q || strcasestr(p->path ? p->path : p->key, l->q)) &&
           (!l->starts || audit_starts(p) == !strcmp(l->starts, "true")) &&
           (!l->strategy || (p->plan && str_same(p->plan->strategy, l->strategy)));
}

static struct page_key key(void *data, size_t at)
{
    const struct programs *l = data;
    const struct audit_program *p = &l->audit->program[at];

    if (!strcmp(l->sort, "path") || !strcmp(l->sort, "package"))
        return (struct page_key){.text = p->key};
    if (!strcmp(l->sort, "saving"))
        return (struct page_key){.number =
                                     (int64_t)storm_failed(&p->storm) - (int64_t)failed_after(p)};
    return (struct page_key){.number = storm_number(&p->storm, l->sort)};
}

/* Several builds of one program have the same key, and a file from elsewhere may say all twice. */
static const char *name(void *data, size_t at)
{
    const struct programs *l = data;
    const struct audit_program *p = &l->audit->program[at];

    return arena_printf(l->query->arena, "%s %s %zu", p->key, p->path ? p->path : "", at);
}

static json_t *lost_json(const struct audit_plan *plan)
{
    json_t *list = json_array();

    for (size_t i = 0; i < plan->n_lost; i++) {
        const struct audit_lost *l = &plan->lost[i];
        json_t *one = json_object();

        json_put_text(one, "strategy", l->strategy);
        json_put_text(one, "scope", l->scope);
        json_put_text(one, "standing", l->standing);
        json_put_text(one, "rule", l->rule);
        json_put_text(one, "reason", l->reason);
        json_push(list, one);
    }
    return list;
}

static json_t *plan_json(const struct audit_program *p)
{
    json_t *json;

    if (!p->plan)
        return json_null();
    json = json_object();
    json_put_text(json, "strategy", p->plan->strategy);
    json_put_text(json, "scope", p->plan->scope);
    json_put_text(json, "rule", p->plan->rule);
    json_put_text(json, "reason", p->plan->reason);
    json_put(json, "after", storm_json(&p->plan->after));
    json_put_int(json, "saving", (int64_t)storm_failed(&p->storm) - (int64_t)failed_after(p));
    json_put(json, "lost", lost_json(p->plan));
    return json;
}

static json_t *audit_program_json(const struct audit_program *p)
{
    json_t *json = json_object();

    json_put_text(json, "key", p->key);
    json_put_text(json, "version", p->version && *p->version ? p->version : NULL);
    json_put_text(json, "path", p->path);
    json_put_text(json, "loader", p->loader);
    json_put_text(json, "exit", p->exit);
    json_put_int(json, "failed", (int64_t)storm_failed(&p->storm));
    json_put(json, "storm", storm_json(&p->storm));
    json_put(json, "plan", plan_json(p));
    origin_put(json, p->origin);
    return json;
}

static json_t *item(void *data, size_t at)
{
    const struct programs *l = data;

    return audit_program_json(&l->audit->program[at]);
}

static const struct origin *origin(void *data, size_t at)
{
    return ((const struct programs *)data)->audit->program[at].origin;
}

void see_audit(const struct audit *audit, struct maintainer *maintainer)
{
    for (size_t i = 0; i < audit->n_packages; i++)
        maintainer_see(maintainer, audit->package[i].origin);
}

static void see(void *data, struct maintainer *maintainer)
{
    see_audit(((const struct programs *)data)->audit, maintainer);
}

int list_audit_programs(struct query *query, struct reply *reply, struct err *err)
{
    const struct page_sort sort = page_sort(query);
    struct programs programs = {
        .query = query,
        .sort = sort.by,
        .q = query_text(query, "q"),
        .strategy = query_text(query, "strategy"),
        .starts = query_text(query, "starts"),
        .failed = query_failed(query),
    };
    struct listing listing = {.data = &programs,
                              .wanted = wanted,
                              .key = key,
                              .name = name,
                              .item = item,
                              .origin = origin,
                              .see = see,
                              .descending = sort.descending};
    struct looked_at audit;
    int r = looked_at_open(query, query->segment[0], &audit, err);

    if (r < 0)
        return r;
    programs.audit = audit.audit;
    listing.n = audit.audit->n_programs;
    r = page_reply(query, &listing, reply, err);
    looked_at_close(&audit);
    return r;
}

/* ---- history: one key through all audits, the newest first */

static json_t *point_json(const json_t *summary, const struct audit *audit, const char *wanted_key)
{
    const size_t len = strlen(wanted_key);
    const struct audit_program *worst = NULL;
    int64_t n = 0;
    json_t *json;

    for (size_t i = 0; i < audit->n_programs; i++) {
        const struct audit_program *p = &audit->program[i];

        if (strncmp(p->key, wanted_key, len) != 0 || (p->key[len] && p->key[len] != ':'))
            continue;
        n++;
        if (!worst || storm_failed(&p->storm) > storm_failed(&worst->storm))
            worst = p;
    }
    if (!worst)
        return NULL;
    json = json_object();
    json_put(json, "audit", json_incref(json_object_get(summary, "id")));
    json_put(json, "name", json_incref(json_object_get(summary, "name")));
    json_put(json, "time", json_incref(json_object_get(summary, "time")));
    json_put_int(json, "programs", n);
    json_put(json, "worst", audit_program_json(worst));
    return json;
}

int list_history(struct query *query, struct reply *reply, struct err *err)
{
    enum { HISTORY_MAX = 50 };
    struct archive *archive = service_archive(query->service);
    json_t *list = archive ? archive_list(archive) : json_array(), *items = json_array(), *summary;
    const char *wanted_key = query_text(query, "key");
    size_t i;

    (void)err;
    json_array_foreach (list, i, summary) {
        struct held *held;
        struct err ignored; /* removed meanwhile */
        json_t *point;

        if (json_array_size(items) == HISTORY_MAX)
            break;
        if (archive_take(archive, json_string_value(json_object_get(summary, "id")), &held,
                         &ignored) < 0)
            continue;
        point = point_json(summary, &held->audit, wanted_key);
        if (point)
            json_push(items, point);
        archive_give(archive, held);
    }
    json_decref(list);
    reply->json = json_object();
    json_put(reply->json, "items", items);
    return 0;
}
