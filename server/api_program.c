/* Programs: the list of them, and one with its facts. */
#include "server/api.h"

#include <errno.h>
#include <string.h>

const char *program_key(const struct query *query, const struct program_row *program)
{
    const struct snapshot *snap = query->snapshot;
    const struct package_row *p;
    const char *below;

    if (program->package == UINT32_MAX)
        return program->of.program;
    p = &snap->package[program->package];
    below = program->of.program + strlen(p->path);
    return arena_printf(query->arena, "%s.%s:%s", p->pname, p->output, below + (*below == '/'));
}

static json_t *remedy_json(const struct remedy *remedy, const struct program_row *program)
{
    json_t *json, *after;

    if (!remedy->known)
        return json_null();
    json = json_object();
    after = json_object();
    json_put_int(after, "failed_opens", remedy->after_opens);
    json_put_int(after, "failed_stats", remedy->after_stats);
    json_put_text(json, "strategy", remedy->strategy);
    json_put_text(json, "scope", remedy->scope);
    json_put(json, "after", after);
    json_put_int(json, "saving",
                 (int64_t)storm_failed(&program->of.storm) -
                     ((int64_t)remedy->after_opens + remedy->after_stats));
    return json;
}

json_t *program_json(const struct query *query, const struct program_row *program)
{
    const struct snapshot *snap = query->snapshot;
    const struct remedy remedy = snapshot_remedy(query->snapshot, program);
    json_t *json = json_object();

    json_put_text(json, "id", program->id);
    json_put_text(json, "path", program->of.program);
    json_put_text(json, "key", program_key(query, program));
    json_put(
        json, "package",
        package_ref_json(program->package == UINT32_MAX ? NULL : &snap->package[program->package]));
    json_put_text(json, "cpu", snap->cpu);
    json_put_int(json, "failed", (int64_t)storm_failed(&program->of.storm));
    json_put(json, "storm", storm_json(&program->of.storm));
    json_put_text(json, "exit", program->of.exit_text);
    json_put(json, "assumed", json_boolean(program->of.assumed));
    json_put_text(json, "profile_assumed", program->of.profile_assumed);
    json_put(json, "plan", remedy_json(&remedy, program));
    return json;
}

/* ---- the list */

struct programs {
    const struct query *query;
    struct snapshot *snap;
    const char *sort, *q, *package, *strategy, *starts;
    struct failed_range failed;
};

static bool is_of(const struct programs *p, const struct program_row *program)
{
    const struct package_row *package;

    if (program->package == UINT32_MAX)
        return false;
    package = &p->snap->package[program->package];
    return !strcmp(package->base, p->package) || !strcmp(package->pname, p->package) ||
           !strcmp(package->path, p->package);
}

static bool starts(const struct program_row *program)
{
    return program->of.exit == EXIT_OK || program->of.exit == EXIT_NOT_DYNAMIC;
}

static bool wanted(void *data, size_t at)
{
    const struct programs *p = data;
    const struct program_row *program = &p->snap->program[at];

    if (storm_failed(&program->of.storm) < p->failed.min ||
        storm_failed(&program->of.storm) > p->failed.max)
        return false;
    if (p->q && !strcasestr(program->of.program, p->q))
        return false;
    if (p->starts && starts(program) != !strcmp(p->starts, "true"))
        return false;
    if (p->strategy) {
        const struct remedy remedy = snapshot_remedy(p->snap, program);

        if (!str_same(remedy.strategy, p->strategy))
            return false;
    }
    return !p->package || is_of(p, program);
}

static int64_t saving(struct snapshot *snap, const struct program_row *program)
{
    const struct remedy remedy = snapshot_remedy(snap, program);

    return remedy.known ? (int64_t)storm_failed(&program->of.storm) -
                              ((int64_t)remedy.after_opens + remedy.after_stats)
                        : -1;
}

static struct page_key key(void *data, size_t at)
{
    const struct programs *p = data;
    const struct program_row *program = &p->snap->program[at];

    if (!strcmp(p->sort, "path"))
        return (struct page_key){.text = program->of.program};
    if (!strcmp(p->sort, "package"))
        return (struct page_key){
            .text = program->package == UINT32_MAX ? "" : p->snap->package[program->package].pname};
    if (!strcmp(p->sort, "saving"))
        return (struct page_key){.number = saving(p->snap, program)};
    return (struct page_key){.number = storm_number(&program->of.storm, p->sort)};
}

static const char *name(void *data, size_t at)
{
    const struct programs *p = data;

    return p->snap->program[at].of.program;
}

static json_t *item(void *data, size_t at)
{
    const struct programs *p = data;

    return program_json(p->query, &p->snap->program[at]);
}

static const struct origin *origin(void *data, size_t at)
{
    const struct programs *p = data;
    const struct program_row *program = &p->snap->program[at];

    return program->package == UINT32_MAX ? NULL : p->snap->package[program->package].origin;
}

static void see(void *data, struct maintainer *maintainer)
{
    see_packages(((const struct programs *)data)->snap, maintainer);
}

/* The usual list: all programs, the worst first, is how a snapshot has them. */
static bool is_as_it_stands(const struct programs *p, const struct page_sort *sort)
{
    return sort->descending && !strcmp(sort->by, "failed") && !p->q && !p->package &&
           !p->strategy && !p->starts && p->failed.min == 0 && p->failed.max == UINT64_MAX;
}

int list_programs(struct query *query, struct reply *reply, struct err *err)
{
    const struct page_sort sort = page_sort(query);
    struct programs programs = {
        .query = query,
        .snap = query->snapshot,
        .sort = sort.by,
        .q = query_text(query, "q"),
        .package = query_text(query, "package"),
        .strategy = query_text(query, "strategy"),
        .starts = query_text(query, "starts"),
        .failed = query_failed(query),
    };
    const struct listing listing = {.data = &programs,
                                    .n = query->snapshot->n_programs,
                                    .wanted = wanted,
                                    .key = key,
                                    .name = name,
                                    .item = item,
                                    .origin = origin,
                                    .see = see,
                                    .descending = sort.descending,
                                    .in_order = is_as_it_stands(&programs, &sort)};

    return page_reply(query, &listing, reply, err);
}

/* ---- one */

static json_t *needs_json(const struct object *object)
{
    static const char *const kinds[] = {
        [NEED_NEEDED] = "needed", [NEED_AUXILIARY] = "auxiliary", [NEED_FILTER] = "filter"};
    json_t *array = json_array();

    for (size_t i = 0; i < object->n_needs; i++) {
        json_t *one = json_object();

        json_put_text(one, "kind", kinds[object->need[i].kind]);
        json_put_text(one, "name", object->need[i].name);
        json_push(array, one);
    }
    return array;
}

static json_t *object_json(const struct object *object)
{
    json_t *json = json_object();

    json_put_int(json, "class", object->class == ELFCLASS32 ? 32 : 64);
    json_put_int(json, "machine", object->machine);
    json_put_int(json, "size", (int64_t)object->size);
    json_put_text(json, "interp", object->interp);
    json_put_text(json, "soname", object->soname);
    json_put_text(json, "rpath", object->rpath);
    json_put_text(json, "runpath", object->runpath);
    json_put(json, "needs", needs_json(object));
    json_put_text(json, "problem", object->problem);
    return json;
}

static const char *const levels[] = {"x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

/* The same start on every CPU level: computed when it is first asked for, then the snapshot's. */
static int levels_of(struct query *query, struct program_row *program, const struct storm **ret,
                     struct err *err)
{
    const struct storm *known = __atomic_load_n(&program->levels, __ATOMIC_ACQUIRE);
    struct storm storm[ARRAY_LEN(levels)];

    for (size_t i = 0; !known && i < ARRAY_LEN(levels); i++) {
        CLEANUP(arena_release) struct arena scratch = {0};
        struct trace trace = {0};
        struct loader *loader;
        int r = view_loader(query->view, levels[i], &loader, err);

        if (r == 0)
            r = loader_run(loader, &(struct start){.program = program->of.program}, &scratch,
                           &trace, err);
        if (r < 0)
            return r;
        storm[i] = trace.storm;
    }
    *ret = known ? known : snapshot_set_levels(query->snapshot, program, storm, ARRAY_LEN(levels));
    return 0;
}

static int levels_json(struct query *query, struct program_row *program, json_t *array,
                       struct err *err)
{
    const struct storm *storm;
    const int r = levels_of(query, program, &storm, err);

    for (size_t i = 0; r == 0 && i < ARRAY_LEN(levels); i++) {
        json_t *one = json_object();

        json_put_text(one, "cpu", levels[i]);
        json_put(one, "storm", storm_json(&storm[i]));
        json_push(array, one);
    }
    return r;
}

int get_program(struct query *query, struct reply *reply, struct err *err)
{
    struct world *world = view_world(query->view);
    struct program_row *program;
    const struct object *object;
    json_t *on_levels;
    struct place at;
    int r = find_program(query, query->segment[0], &program, err);

    if (r < 0)
        return r;
    at = world_walk(world, NULL, program->of.program);
    object = at.error ? NULL : world_object(world, at.node);
    if (!object)
        return err_set(err, EIO, "the index lacks '%s'", program->of.program);
    reply->json = program_json(query, program);
    json_put(reply->json, "object", object_json(object));
    on_levels = json_array();
    json_put(reply->json, "levels", on_levels);
    return object->machine == EM_X86_64 ? levels_json(query, program, on_levels, err) : 0;
}
