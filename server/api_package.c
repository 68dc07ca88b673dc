/* Packages: the list of them, and one with what it consists of. */
#include "server/api.h"

#include <string.h>

static const char OBJECTS[] =
    "SELECT d.path, o.name, n.text, o.type, o.machine, o.size, o.interp IS NOT NULL, o.problem "
    "FROM object o JOIN directory d ON d.id = o.directory LEFT JOIN name n ON n.id = o.soname "
    "WHERE o.id >= ?1 AND o.id < ?1 + ?2 ORDER BY o.id LIMIT 2001";
static const char PROBLEMS[] = "SELECT path, kind, text FROM problem WHERE package = ? "
                               "ORDER BY path LIMIT 2001";

enum { LIST_MAX = 2000 }; /* of each list of one package; `truncated` says that there is more */

json_t *package_json(const struct package_row *p)
{
    json_t *json = package_ref_json(p);

    json_put_text(json, "state", p->state);
    json_put_int(json, "objects", p->objects);
    json_put_int(json, "files", p->files);
    json_put_int(json, "programs", p->n_programs);
    json_put_int(json, "failed", (int64_t)p->failed);
    json_put(json, "nar_size", p->nar_size < 0 ? json_null() : json_integer(p->nar_size));
    return json;
}

/* ---- the list */

struct packages {
    const struct snapshot *snap;
    const char *sort, *q, *pname;
    bool programs;
};

static bool wanted(void *data, size_t at)
{
    const struct packages *p = data;
    const struct package_row *row = &p->snap->package[at];

    return (!p->q || strcasestr(row->base, p->q)) && (!p->pname || !strcmp(row->pname, p->pname)) &&
           (!p->programs || row->n_programs);
}

static struct page_key key(void *data, size_t at)
{
    const struct packages *p = data;
    const struct package_row *row = &p->snap->package[at];

    if (!strcmp(p->sort, "name"))
        return (struct page_key){.text = row->pname};
    if (!strcmp(p->sort, "objects"))
        return (struct page_key){.number = row->objects};
    if (!strcmp(p->sort, "programs"))
        return (struct page_key){.number = row->n_programs};
    if (!strcmp(p->sort, "nar_size"))
        return (struct page_key){.number = row->nar_size};
    return (struct page_key){.number = (int64_t)row->failed};
}

static const char *name(void *data, size_t at)
{
    const struct packages *p = data;

    return p->snap->package[at].path;
}

static json_t *item(void *data, size_t at)
{
    const struct packages *p = data;

    return package_json(&p->snap->package[at]);
}

static const struct origin *origin(void *data, size_t at)
{
    return ((const struct packages *)data)->snap->package[at].origin;
}

void see_packages(const struct snapshot *snapshot, struct maintainer *maintainer)
{
    for (size_t i = 0; i < snapshot->n_packages; i++)
        maintainer_see(maintainer, snapshot->package[i].origin);
}

static void see(void *data, struct maintainer *maintainer)
{
    see_packages(((const struct packages *)data)->snap, maintainer);
}

int list_packages(struct query *query, struct reply *reply, struct err *err)
{
    const struct page_sort sort = page_sort(query);
    struct packages packages = {
        .snap = query->snapshot,
        .sort = sort.by,
        .q = query_text(query, "q"),
        .pname = query_text(query, "pname"),
        .programs = query_bool(query, "programs"),
    };
    const struct listing listing = {.data = &packages,
                                    .n = query->snapshot->n_packages,
                                    .wanted = wanted,
                                    .key = key,
                                    .name = name,
                                    .item = item,
                                    .origin = origin,
                                    .see = see,
                                    .descending = sort.descending};

    return page_reply(query, &listing, reply, err);
}

/* ---- one */

static json_t *object_json(struct stmt *s, struct arena *arena)
{
    const char *dir = stmt_text(s, 0), *file = stmt_text(s, 1);
    json_t *json = json_object();

    json_put_text(json, "path", str_join(arena, dir ? dir : "", file ? file : ""));
    json_put_text(json, "soname", stmt_text(s, 2));
    json_put_text(json, "type", stmt_int(s, 3) == ET_EXEC ? "executable" : "shared");
    json_put_int(json, "machine", stmt_int(s, 4));
    json_put_int(json, "size", stmt_int(s, 5));
    json_put(json, "program", json_boolean(stmt_int(s, 6)));
    json_put_text(json, "problem", stmt_text(s, 7));
    return json;
}

static json_t *problem_json(struct stmt *s, struct arena *arena)
{
    json_t *json = json_object();

    (void)arena;
    json_put_text(json, "path", stmt_text(s, 0));
    json_put_text(json, "kind", stmt_text(s, 1));
    json_put_text(json, "text", stmt_text(s, 2));
    return json;
}

/* The rows of a statement as `key` of the object; at most LIST_MAX. */
static int put_rows(struct query *query, const char *sql, int64_t first, int64_t second,
                    const char *list, json_t *(*row)(struct stmt *s, struct arena *arena),
                    struct reply *reply, struct err *err)
{
    struct stmt *s = db_prepare(view_db(query->view), sql, err);
    json_t *array = json_array();
    int r = s ? 0 : -err->code;

    json_put(reply->json, list, array);
    if (!s)
        return r;
    stmt_bind_int(s, 1, first);
    if (second >= 0)
        stmt_bind_int(s, 2, second);
    while ((r = stmt_step(s, err)) > 0) {
        if (json_array_size(array) == LIST_MAX) {
            stmt_reset(s);
            json_put(reply->json, "truncated", json_true());
            return 0;
        }
        json_push(array, row(s, query->arena));
    }
    return r;
}

static json_t *programs_json(const struct query *query, const struct package_row *p)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < p->n_programs && i < LIST_MAX; i++)
        json_push(array, program_json(query, &query->snapshot->program[p->program[i]]));
    return array;
}

static void put_beside(const struct query *query, const struct beside *beside,
                       const struct package_row *p, const char *list, struct reply *reply)
{
    const struct snapshot *snap = query->snapshot;
    const uint32_t *first = &beside->first[p - snap->package];
    json_t *array = json_array();

    for (uint32_t i = first[0]; i < first[1] && i - first[0] < LIST_MAX; i++)
        json_push(array, json_text(snap->package[beside->to[i]].base));
    json_put(reply->json, list, array);
    if (first[1] - first[0] > LIST_MAX)
        json_put(reply->json, "truncated", json_true());
}

int get_package(struct query *query, struct reply *reply, struct err *err)
{
    struct package_row *p;
    int r = find_package(query, query->segment[0], &p, err);

    if (r < 0)
        return r;
    reply->json = package_json(p);
    json_put(reply->json, "truncated", json_boolean(p->n_programs > LIST_MAX));
    json_put(reply->json, "program_list", programs_json(query, p));
    r = put_rows(query, OBJECTS, p->first_object, p->objects, "object_list", object_json, reply,
                 err);
    put_beside(query, &query->snapshot->refers_to, p, "references", reply);
    put_beside(query, &query->snapshot->referred_by, p, "dependents", reply);
    if (r == 0)
        r = put_rows(query, PROBLEMS, p->row, -1, "problems", problem_json, reply, err);
    return r;
}
