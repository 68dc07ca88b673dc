/* Directories by the probes that go there in vain, of one program or of all. */
#include "server/api.h"
#include "server/directory.h"

#include <string.h>

struct list {
    const struct directories *directories;
    const char *sort;
    const char *package; /* NULL: all */
};

static bool wanted(void *data, size_t at)
{
    const struct list *l = data;
    const struct directory_row *row = &l->directories->row[at];

    return !l->package || (row->package && (!strcmp(row->package->base, l->package) ||
                                            !strcmp(row->package->pname, l->package)));
}

static struct page_key key(void *data, size_t at)
{
    const struct list *l = data;
    const struct directory_row *row = &l->directories->row[at];

    if (!strcmp(l->sort, "path"))
        return (struct page_key){.text = row->path};
    if (!strcmp(l->sort, "programs"))
        return (struct page_key){.number = row->programs};
    return (struct page_key){.number = (int64_t)(row->failed_opens + row->failed_stats)};
}

static const char *name(void *data, size_t at)
{
    const struct list *l = data;

    return l->directories->row[at].path;
}

static json_t *item(void *data, size_t at)
{
    const struct list *l = data;
    const struct directory_row *row = &l->directories->row[at];
    json_t *json = json_object();

    json_put_text(json, "path", row->path);
    json_put(json, "package", package_ref_json(row->package));
    json_put_int(json, "failed", (int64_t)(row->failed_opens + row->failed_stats));
    json_put_int(json, "failed_opens", (int64_t)row->failed_opens);
    json_put_int(json, "failed_stats", (int64_t)row->failed_stats);
    json_put_int(json, "hwcaps", (int64_t)row->hwcaps);
    json_put_int(json, "hits", (int64_t)row->hits);
    json_put_int(json, "programs", row->programs);
    return json;
}

int list_directories(struct query *query, struct reply *reply, struct err *err)
{
    const struct page_sort sort = page_sort(query);
    const char *id = query_text(query, "program");
    struct list list = {.sort = sort.by, .package = query_text(query, "package")};
    struct listing listing = {.data = &list,
                              .wanted = wanted,
                              .key = key,
                              .name = name,
                              .item = item,
                              .descending = sort.descending};
    struct directories *own = NULL;
    struct program_row *program;
    int r;

    if (!id) {
        r = directories_all(query->snapshot, query->view, &list.directories, err);
    } else {
        r = find_program(query, id, &program, err);
        if (r == 0)
            r = directories_of(query->snapshot, query->view, program, &own, err);
        list.directories = own;
    }
    if (r < 0)
        return r;
    listing.n = list.directories->n;
    r = page_reply(query, &listing, reply, err);
    directories_free(own);
    return r;
}

/* ---- whose starts look in vain into the directories of one package */

struct searchers {
    const struct query *query;
    uint64_t *failed; /* by program */
};

static bool searches(void *data, size_t at)
{
    const struct searchers *l = data;

    return l->failed[at] > 0;
}

static struct page_key searcher_key(void *data, size_t at)
{
    const struct searchers *l = data;

    return (struct page_key){.number = (int64_t)l->failed[at]};
}

static const char *searcher_name(void *data, size_t at)
{
    const struct searchers *l = data;

    return l->query->snapshot->program[at].of.program;
}

static json_t *searcher_item(void *data, size_t at)
{
    const struct searchers *l = data;
    const struct snapshot *snap = l->query->snapshot;
    const struct program_row *program = &snap->program[at];
    json_t *json = json_object();

    json_put_text(json, "id", program->id);
    json_put_text(json, "path", program->of.program);
    json_put_text(json, "key", program_key(l->query, program));
    json_put(
        json, "package",
        package_ref_json(program->package == UINT32_MAX ? NULL : &snap->package[program->package]));
    json_put_int(json, "failed", (int64_t)l->failed[at]);
    return json;
}

int list_searchers(struct query *query, struct reply *reply, struct err *err)
{
    const size_t n = query->snapshot->n_programs;
    struct searchers list = {.query = query,
                             .failed = arena_calloc(query->arena, n + 1, sizeof(uint64_t))};
    const struct listing listing = {.data = &list,
                                    .n = n,
                                    .wanted = searches,
                                    .key = searcher_key,
                                    .name = searcher_name,
                                    .item = searcher_item,
                                    .descending = true};
    const struct directories *all;
    struct package_row *package;
    int r = find_package(query, query->segment[0], &package, err);

    if (r == 0)
        r = directories_all(query->snapshot, query->view, &all, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < all->n; i++) {
        if (all->row[i].package != package)
            continue;
        for (const struct visit *v = all->row[i].visit; v; v = v->next)
            list.failed[v->program] += v->failed;
    }
    return page_reply(query, &listing, reply, err);
}
