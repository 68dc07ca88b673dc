/* Plans: of one program with everything that lost, of a package, of all packages. */
#include "server/api.h"

#include "planner/compare.h"
#include "planner/package.h"
#include "planner/plan_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int get_program_plan(struct query *query, struct reply *reply, struct err *err)
{
    const struct subject_query asked = {
        .world = view_world(query->view), .policy = &query->snapshot->policy, .cwd = "/"};
    struct program_row *row;
    struct program program = {0};
    struct plan plan;
    int r = find_program(query, query->segment[0], &row, err);

    if (r < 0)
        return r;
    program.path = row->of.program;
    r = package_plan(&asked, &program, 1, query->arena, &plan, err);
    if (r == 0)
        reply->json = plan_json(&plan, query->arena);
    return r;
}

int get_program_comparison(struct query *query, struct reply *reply, struct err *err)
{
    struct subject_query asked = {
        .world = view_world(query->view), .policy = &query->snapshot->policy, .cwd = "/"};
    struct comparison comparison;
    struct program_row *row;
    struct subject subject;
    int r = find_program(query, query->segment[0], &row, err);

    if (r < 0)
        return r;
    asked.program = row->of.program;
    if ((r = subject_init(&subject, &asked, query->arena, err)) < 0)
        return r;
    r = compare_methods(&subject, NULL, true, &comparison, err);
    if (r == 0)
        reply->json = compare_json(&comparison, row->of.program);
    subject_release(&subject);
    return r;
}

/* A plan that is made already. 1: here it is; 0: it is not. */
static int known_plan(struct query *query, const struct package_row *package, struct reply *reply,
                      struct err *err)
{
    const char *why_not;
    char *text = snapshot_plan_text(query->snapshot, package, &reply->n_text, &why_not);

    if (text) {
        reply->type = "application/json";
        reply->text = text;
        return 1;
    }
    return package->n_programs ? 0 : err_set(err, ENOENT, "there is no program in this package");
}

int get_package_plan(struct query *query, struct reply *reply, struct err *err)
{
    const struct subject_query asked = {
        .world = view_world(query->view), .policy = &query->snapshot->policy, .cwd = "/"};
    struct package_row *package;
    struct program *program;
    struct plan plan;
    size_t n;
    int r = find_package(query, query->segment[0], &package, err);

    if (r < 0 || (r = known_plan(query, package, reply, err)) != 0)
        return r < 0 ? r : 0;
    n = snapshot_programs_of(query->snapshot, package, query->arena, &program);
    r = package_plan(&asked, program, n, query->arena, &plan, err);
    if (r == 0)
        reply->json = plan_json(&plan, query->arena);
    return r;
}

/* ---- all of them: a line each, made while it is sent */

struct lines {
    struct snapshot *snap;
    size_t at, count; /* next package; plans so far */
    bool array;       /* one JSON array instead of lines */
    bool begun, ended;
    char *text; /* what is being sent: malloc()ed */
    size_t len, sent;
};

static bool fetch(struct lines *l)
{
    const char *why_not;
    char *plan;
    size_t len;

    for (; l->at < l->snap->n_packages; l->at++) {
        plan = snapshot_plan_text(l->snap, &l->snap->package[l->at], &len, &why_not);
        if (!plan)
            continue;
        l->text = malloc(len + 2);
        if (!l->text)
            abort();
        l->len = 0;
        if (l->array)
            l->text[l->len++] = l->count ? ',' : '[';
        memcpy(l->text + l->len, plan, len);
        l->len += len;
        if (!l->array)
            l->text[l->len++] = '\n';
        free(plan);
        l->count++;
        l->at++;
        return true;
    }
    return false;
}

/* What stands behind the last plan: the count, so that an answer that was cut off is seen. */
static bool finish(struct lines *l)
{
    int n;

    if (l->ended)
        return false;
    l->ended = true;
    n = l->array ? asprintf(&l->text, "%s]\n", l->count ? "" : "[")
                 : asprintf(&l->text, "{\"_end\":true,\"count\":%zu}\n", l->count);
    if (n < 0)
        abort();
    l->len = (size_t)n;
    return true;
}

static long read_lines(void *data, char *to, size_t max)
{
    struct lines *l = data;
    size_t n;

    if (l->sent == l->len) {
        free(l->text);
        l->text = NULL;
        l->sent = l->len = 0;
        if (!fetch(l) && !finish(l))
            return 0;
    }
    n = l->len - l->sent < max ? l->len - l->sent : max;
    memcpy(to, l->text + l->sent, n);
    l->sent += n;
    return (long)n;
}

static void close_lines(void *data)
{
    struct lines *l = data;

    snapshot_unref(l->snap);
    free(l->text);
    free(l);
}

int list_plans(struct query *query, struct reply *reply, struct err *err)
{
    const char *format = query_text(query, "format");
    size_t planned, to_plan;
    unsigned revision;
    struct lines *l;

    snapshot_progress(query->snapshot, &planned, &to_plan, &revision);
    if (planned < to_plan)
        return err_set(err, EAGAIN, "%zu of %zu packages are planned", planned, to_plan);
    l = calloc(1, sizeof(*l));
    if (!l)
        abort();
    l->snap = snapshot_ref(query->snapshot);
    l->array = !strcmp(format, "json");
    reply->type = l->array ? "application/json" : "application/x-ndjson";
    reply->stream = (struct http_stream){.read = read_lines, .close = close_lines, .data = l};
    return 0;
}
