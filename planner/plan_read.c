/*
 * Reading plans. Each function reads one kind of JSON object with json_unpack_ex(JSON_STRICT): a
 * key too many or too few is an error that names the place.
 */
#include "base/str.h"
#include "planner/plan_json.h"

#include <errno.h>
#include <string.h>

struct reader {
    struct arena *arena;
    const char *where; /* the file */
    struct err *err;
};

static int refuse(const struct reader *r, const char *place, const char *what)
{
    return err_set(r->err, EINVAL, "'%s': %s: %s", r->where, place, what);
}

static int unpack(const struct reader *r, json_t *json, const char *place, const char *format, ...)
{
    json_error_t bad;
    va_list ap;
    int failed;

    va_start(ap, format);
    failed = json_vunpack_ex(json, &bad, JSON_STRICT, format, ap);
    va_end(ap);
    return failed ? refuse(r, place, bad.text) : 0;
}

static const char *text(const struct reader *r, const char *escaped)
{
    return escaped ? str_unescape(r->arena, escaped) : NULL;
}

/* A string, or null where there is none. */
static int read_nullable(const struct reader *r, json_t *value, const char *place,
                         const char **ret_text)
{
    if (!json_is_string(value) && !json_is_null(value))
        return refuse(r, place, "expected a string or null");
    *ret_text = text(r, json_string_value(value));
    return 0;
}

/* An array of strings. */
static int read_texts(const struct reader *r, json_t *array, const char *place,
                      const char ***ret_text, size_t *ret_n)
{
    const char **list;
    json_t *value;
    size_t i;

    if (!json_is_array(array) || json_array_size(array) > MAX_PLAN_LIST)
        return refuse(r, place, "expected a list of strings, not too long");
    list = arena_calloc(r->arena, json_array_size(array) + 1, sizeof(*list));
    json_array_foreach (array, i, value) {
        if (!json_is_string(value))
            return refuse(r, place, "expected strings only");
        list[i] = text(r, json_string_value(value));
    }
    *ret_text = list;
    *ret_n = i;
    return 0;
}

/* ---- edits */

static bool is_farm_name(const char *name)
{
    return *name && *name != '/' && !strstr(name, "..") && !strstr(name, "//");
}

static int read_links(const struct reader *r, json_t *links, const char *place, struct edit *e)
{
    const char *name, *last = "";
    json_t *value;

    if (!json_is_object(links) || json_object_size(links) > MAX_PLAN_LIST)
        return refuse(r, place, "links: expected an object, not too large");
    e->link = arena_calloc(r->arena, json_object_size(links) + 1, sizeof(*e->link));
    json_object_foreach (links, name, value) {
        struct farm_link *link = &e->link[e->n_links++];

        link->name = text(r, name);
        link->target = text(r, json_string_value(value));
        if (!is_farm_name(link->name) || !link->target || *link->target != '/')
            return refuse(r, place, "links: expected names inside the farm and absolute targets");
        if (strcmp(last, link->name) >= 0)
            return refuse(r, place, "links: expected them sorted by name");
        last = link->name;
    }
    return 0;
}

static int read_renames(const struct reader *r, json_t *renames, const char *place, struct edit *e)
{
    const char *name;
    json_t *value;

    if (!json_is_object(renames) || json_object_size(renames) > MAX_PLAN_LIST)
        return refuse(r, place, "renames: expected an object, not too large");
    e->renames = arena_calloc(r->arena, json_object_size(renames) + 1, sizeof(*e->renames));
    json_object_foreach (renames, name, value) {
        if (!json_is_string(value))
            return refuse(r, place, "renames: expected strings");
        e->renames[e->n_renames++] =
            (struct rename){text(r, name), text(r, json_string_value(value))};
    }
    return 0;
}

static int read_pairs(const struct reader *r, json_t *pairs, const char *place, struct edit *e)
{
    struct str out = {.arena = r->arena};
    const char *name, *list;
    json_t *pair;
    size_t i;

    if (!json_is_array(pairs) || json_array_size(pairs) > MAX_PLAN_LIST)
        return refuse(r, place, "pairs: expected a list, not too long");
    json_array_foreach (pairs, i, pair) {
        if (unpack(r, pair, place, "[s, s!]", &name, &list) < 0)
            return -EINVAL;
        name = text(r, name);
        list = text(r, list);
        str_add_n(&out, name, strlen(name) + 1);
        str_add_n(&out, list, strlen(list) + 1);
    }
    str_add_n(&out, "", 1);
    if (out.len > UINT32_MAX)
        return refuse(r, place, "pairs: too large");
    e->note = (struct note){.bytes = (const unsigned char *)out.text, .size = (uint32_t)out.len};
    return 0;
}

static int read_closure(const struct reader *r, json_t *texts, const char *audit, const char *place,
                        struct edit *e)
{
    struct str out = {.arena = r->arena};
    json_t *value;
    size_t i;

    if (!audit || !json_is_array(texts) || json_array_size(texts) > MAX_PLAN_LIST)
        return refuse(r, place, "closure: expected 'audit' and a list of texts, not too long");
    json_array_foreach (texts, i, value) {
        if (!json_is_string(value))
            return refuse(r, place, "texts: expected strings");
        str_add_n(&out, text(r, json_string_value(value)),
                  strlen(text(r, json_string_value(value))) + 1);
    }
    if (out.len > UINT32_MAX)
        return refuse(r, place, "texts: too large");
    e->audit = text(r, audit);
    e->note = (struct note){.bytes = (const unsigned char *)out.text, .size = (uint32_t)out.len};
    return 0;
}

static int read_edit(const struct reader *r, json_t *json, const char *place, struct edit *ret_edit)
{
    struct edit e = {0};
    const char *name = NULL, *path = NULL, *run_path = NULL, *audit = NULL;
    json_t *links = NULL, *needed = NULL, *renames = NULL, *pairs = NULL, *texts = NULL;
    int kind, failed;

    if (unpack(r, json, place, "{s:s, s:s, s?o, s?o, s?s, s?o, s?o, s?s, s?o!}", "edit", &name,
               "path", &path, "links", &links, "needed", &needed, "run_path", &run_path, "renames",
               &renames, "pairs", &pairs, "audit", &audit, "texts", &texts) < 0)
        return -EINVAL;
    if ((kind = edit_kind_find(name)) < 0)
        return refuse(r, place, "no such kind of edit");
    e.kind = (enum edit_kind)kind;
    e.path = text(r, path);
    if (*e.path != '/')
        return refuse(r, place, "path: expected an absolute one");
    if ((links != NULL) + (needed != NULL) + (run_path != NULL) + (renames != NULL) +
            (pairs != NULL) + (texts != NULL) !=
        1)
        return refuse(r, place, "expected exactly what this kind of edit changes");
    if (e.kind == EDIT_FARM && links)
        failed = read_links(r, links, place, &e);
    else if (e.kind == EDIT_NEEDED && needed)
        failed = read_texts(r, needed, place, &e.needed, &e.n_needed);
    else if (e.kind == EDIT_VERNEED && renames)
        failed = read_renames(r, renames, place, &e);
    else if (e.kind == EDIT_NOTE && pairs)
        failed = read_pairs(r, pairs, place, &e);
    else if (e.kind == EDIT_CLOSURE && texts)
        failed = read_closure(r, texts, audit, place, &e);
    else if (e.kind == EDIT_RUN_PATH && run_path) {
        e.run_path = text(r, run_path);
        failed = 0;
    } else
        failed = refuse(r, place, "the kind of edit and what it changes do not fit");
    *ret_edit = e;
    return failed;
}

static int read_edits(const struct reader *r, json_t *array, const char *place, struct edits *edits)
{
    json_t *value;
    size_t i;

    if (!json_is_array(array) || json_array_size(array) > MAX_PLAN_EDITS)
        return refuse(r, place, "edits: expected a list, not too long");
    edits->item = arena_calloc(r->arena, json_array_size(array) + 1, sizeof(*edits->item));
    json_array_foreach (array, i, value) {
        if (read_edit(r, value, arena_printf(r->arena, "%s.edits[%zu]", place, i),
                      &edits->item[edits->n++]) < 0)
            return -EINVAL;
    }
    return 0;
}

/* ---- options */

static int read_storm(const struct reader *r, json_t *json, const char *place, struct storm *storm)
{
    struct {
        const char *key;
        uint32_t *value;
    } rows[] = {
        {"failed_opens", &storm->failed_opens},
        {"failed_stats", &storm->failed_stats},
        {"failed_others", &storm->failed_others},
        {"opens", &storm->opens},
        {"stats", &storm->stats},
        {"others", &storm->others},
        {"objects", &storm->objects},
        {"directories", &storm->directories},
    };
    json_t *value;
    size_t i;

    if (json_object_size(json) != ARRAY_LEN(rows))
        return refuse(r, place, "expected the totals of a start");
    for (i = 0; i < ARRAY_LEN(rows); i++) {
        value = json_object_get(json, rows[i].key);
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > UINT32_MAX)
            return refuse(r, place, "expected counts");
        *rows[i].value = (uint32_t)json_integer_value(value);
    }
    return 0;
}

static int read_level(const struct reader *r, json_t *json, const char *place,
                      struct plan_level *level)
{
    json_t *before, *after;
    const char *cpu;

    if (unpack(r, json, place, "{s:s, s:o, s:o!}", "cpu", &cpu, "before", &before, "after",
               &after) < 0)
        return -EINVAL;
    level->cpu = text(r, cpu);
    return read_storm(r, before, place, &level->before) < 0 ||
                   read_storm(r, after, place, &level->after) < 0
               ? -EINVAL
               : 0;
}

static int read_levels(const struct reader *r, json_t *array, const char *place,
                       struct plan_option *o)
{
    json_t *value;
    size_t i;

    if (!json_is_array(array) || json_array_size(array) > MAX_LEVELS)
        return refuse(r, place, "storm: expected a list of CPU levels");
    o->level = arena_calloc(r->arena, MAX_LEVELS, sizeof(*o->level));
    json_array_foreach (array, i, value) {
        if (read_level(r, value, arena_printf(r->arena, "%s.storm[%zu]", place, i),
                       &o->level[o->n_levels++]) < 0)
            return -EINVAL;
    }
    return 0;
}

static int read_evidence(const struct reader *r, json_t *array, const char *place,
                         struct plan_judgement *j)
{
    json_t *value;
    size_t i;

    if (!json_is_array(array) || json_array_size(array) > MAX_EVIDENCE)
        return refuse(r, place, "evidence: expected a list, not too long");
    j->evidence = arena_calloc(r->arena, json_array_size(array) + 1, sizeof(*j->evidence));
    json_array_foreach (array, i, value) {
        struct evidence *e = &j->evidence[j->n_evidence++];

        if (unpack(r, value, place, "{s?s, s?s, s?s, s?s, s?s!}", "object", &e->object, "soname",
                   &e->soname, "before", &e->before, "after", &e->after, "note", &e->note) < 0)
            return -EINVAL;
        e->object = text(r, e->object);
        e->soname = text(r, e->soname);
        e->before = text(r, e->before);
        e->after = text(r, e->after);
        e->note = text(r, e->note);
    }
    return 0;
}

static int read_judgement(const struct reader *r, json_t *json, const char *place,
                          struct plan_judgement *j)
{
    const char *criterion, *verdict, *reason;
    json_t *evidence, *scenario;
    int left_out, found;

    if (unpack(r, json, place, "{s:s, s:s, s:s, s:o, s:o, s:i!}", "criterion", &criterion,
               "verdict", &verdict, "reason", &reason, "scenario", &scenario, "evidence", &evidence,
               "left_out", &left_out) < 0 ||
        read_nullable(r, scenario, place, &j->scenario) < 0)
        return -EINVAL;
    if ((found = verdict_find(verdict)) < 0 || left_out < 0)
        return refuse(r, place, "no such verdict");
    j->criterion = text(r, criterion);
    j->verdict = (enum verdict)found;
    j->reason = text(r, reason);
    j->left_out = (uint32_t)left_out;
    return read_evidence(r, evidence, place, j);
}

static int read_judgements(const struct reader *r, json_t *array, const char *place,
                           struct plan_option *o)
{
    json_t *value;
    size_t i;

    if (!json_is_array(array) || json_array_size(array) > 64)
        return refuse(r, place, "criteria: expected a list, not too long");
    o->judgement = arena_calloc(r->arena, json_array_size(array) + 1, sizeof(*o->judgement));
    json_array_foreach (array, i, value) {
        if (read_judgement(r, value, arena_printf(r->arena, "%s.criteria[%zu]", place, i),
                           &o->judgement[o->n_judgements++]) < 0)
            return -EINVAL;
    }
    return 0;
}

static int read_option(const struct reader *r, json_t *json, const char *place,
                       struct plan_option *o)
{
    const char *strategy, *scope, *standing, *rule, *reason;
    json_t *storm, *judgements;

    if (unpack(r, json, place, "{s:s, s:s, s:s, s:s, s:s, s:o, s:o!}", "strategy", &strategy,
               "scope", &scope, "standing", &standing, "rule", &rule, "reason", &reason, "storm",
               &storm, "criteria", &judgements) < 0)
        return -EINVAL;
    *o = (struct plan_option){.strategy = text(r, strategy),
                              .scope = text(r, scope),
                              .standing = text(r, standing),
                              .rule = text(r, rule),
                              .reason = text(r, reason)};
    if (method_find(o->strategy, o->scope) == N_METHODS)
        return refuse(r, place, "no such strategy and scope");
    if (!plan_is_standing(o->standing))
        return refuse(r, place, "standing: no such word");
    return read_levels(r, storm, place, o) < 0 || read_judgements(r, judgements, place, o) < 0
               ? -EINVAL
               : 0;
}

static int read_options(const struct reader *r, json_t *array, const char *place,
                        struct plan_object *object)
{
    size_t i, n_chosen = 0;
    json_t *value;

    if (!json_is_array(array) || json_array_size(array) == 0 || json_array_size(array) > 64)
        return refuse(r, place, "options: expected a list, not empty, not too long");
    object->option = arena_calloc(r->arena, json_array_size(array), sizeof(*object->option));
    json_array_foreach (array, i, value) {
        struct plan_option *o = &object->option[object->n_options++];

        if (read_option(r, value, arena_printf(r->arena, "%s.options[%zu]", place, i), o) < 0)
            return -EINVAL;
        if (strcmp(o->standing, "chosen") != 0)
            continue;
        n_chosen++;
        if (strcmp(o->strategy, object->strategy) != 0 || strcmp(o->scope, object->scope) != 0)
            return refuse(r, place, "strategy and scope are not those of the chosen option");
    }
    return n_chosen == 1 ? 0 : refuse(r, place, "expected exactly one chosen option");
}

/* ---- objects */

static int read_expect(const struct reader *r, json_t *json, const char *place,
                       struct plan_expect *expect)
{
    json_t *needed, *run_path, *interp;

    if (unpack(r, json, place, "{s:o, s:o, s:o!}", "needed", &needed, "run_path", &run_path,
               "interp", &interp) < 0 ||
        read_nullable(r, run_path, place, &expect->run_path) < 0 ||
        read_nullable(r, interp, place, &expect->interp) < 0)
        return -EINVAL;
    return read_texts(r, needed, place, &expect->needed, &expect->n_needed);
}

/* What is told twice must be told alike: the edits without hashes, the totals of the choice. */
static int check_twins(const struct reader *r, const struct plan *plan, const char *place,
                       const struct plan_object *o, json_t *edits, json_t *storm)
{
    const struct policy policy = {.store = plan->store, .n_stores = plan->n_stores};
    const struct plan_level *level = plan_level(plan_chosen(o), plan->cpu);
    json_t *mine = edits_json(&o->edits, &policy, r->arena);
    bool same = json_equal(mine, edits);
    struct plan_level told = {0};

    json_decref(mine);
    if (!same)
        return refuse(r, place, "edits and evidence.edits do not tell the same");
    if (json_is_null(storm))
        return level ? refuse(r, place, "storm is missing") : 0;
    if (read_level(r, storm, place, &told) < 0)
        return -EINVAL;
    if (!level || strcmp(told.cpu, level->cpu) != 0 ||
        memcmp(&told.before, &level->before, sizeof(told.before)) != 0 ||
        memcmp(&told.after, &level->after, sizeof(told.after)) != 0)
        return refuse(r, place, "storm is not that of the chosen option");
    return 0;
}

/* Totals that may be missing. */
static int read_planned(const struct reader *r, json_t *json, const char *place,
                        const struct storm **ret_storm)
{
    struct storm *storm;

    if (!json || json_is_null(json))
        return 0;
    storm = arena_calloc(r->arena, 1, sizeof(*storm));
    *ret_storm = storm;
    return read_storm(r, json, place, storm);
}

static int read_rulings(const struct reader *r, json_t *array, const char *place,
                        struct plan_object *o)
{
    json_t *value;
    size_t i;

    if (!array)
        return 0; /* plans of before */
    if (!json_is_array(array) || json_array_size(array) > MAX_PLAN_RULINGS)
        return refuse(r, place, "rules: expected a list, not too long");
    o->ruling = arena_calloc(r->arena, json_array_size(array) + 1, sizeof(*o->ruling));
    json_array_foreach (array, i, value) {
        struct plan_ruling *g = &o->ruling[o->n_rulings++];

        if (unpack(r, value, place, "{s:s, s:s, s:s, s:s, s:s, s:s, s:s!}", "rule", &g->rule, "on",
                   &g->on, "what", &g->what, "absolute", &g->absolute, "farm", &g->farm, "note",
                   &g->note, "why", &g->why) < 0)
            return -EINVAL;
        *g = (struct plan_ruling){text(r, g->rule),     text(r, g->on),   text(r, g->what),
                                  text(r, g->absolute), text(r, g->farm), text(r, g->note),
                                  text(r, g->why)};
    }
    return 0;
}

static int read_object(const struct reader *r, const struct plan *plan, json_t *json,
                       const char *place, struct plan_object *o)
{
    const char *path, *strategy, *scope, *rule, *reason, *program, *loader;
    json_t *soname, *storm, *expect, *edits, *options, *notes, *evidence, *concrete, *rules = NULL;
    json_t *own = NULL, *whole = NULL;
    const char *kind = "program"; /* plans of before knew nothing else */
    int libraries;

    if (unpack(r, json, place,
               "{s:s, s:o, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s?o, s?s, s?o, s?o!}",
               "path", &path, "soname", &soname, "strategy", &strategy, "scope", &scope, "rule",
               &rule, "reason", &reason, "storm", &storm, "expect", &expect, "edits", &edits,
               "options", &options, "notes", &notes, "evidence", &evidence, "rules", &rules, "kind",
               &kind, "own_package", &own, "whole_closure", &whole) < 0 ||
        unpack(r, evidence, place, "{s:s, s:s, s:i, s:o!}", "program", &program, "loader", &loader,
               "libraries", &libraries, "edits", &concrete) < 0)
        return -EINVAL;
    if (subject_kind_find(kind) < 0)
        return refuse(r, place, "kind: expected program, root or library");
    if (libraries < 0)
        return refuse(r, place, "evidence.libraries: expected a count");
    *o = (struct plan_object){.path = text(r, path),
                              .kind = text(r, kind),
                              .strategy = text(r, strategy),
                              .scope = text(r, scope),
                              .rule = text(r, rule),
                              .reason = text(r, reason),
                              .program = text(r, program),
                              .loader = text(r, loader),
                              .n_libraries = (uint32_t)libraries};
    return read_nullable(r, soname, place, &o->soname) < 0 ||
                   read_expect(r, expect, place, &o->expect) < 0 ||
                   read_edits(r, concrete, place, &o->edits) < 0 ||
                   read_options(r, options, place, o) < 0 || read_rulings(r, rules, place, o) < 0 ||
                   read_planned(r, own, place, &o->own_package) < 0 ||
                   read_planned(r, whole, place, &o->whole_closure) < 0 ||
                   read_texts(r, notes, place, &o->note, &o->n_notes) < 0 ||
                   check_twins(r, plan, place, o, edits, storm) < 0
               ? -EINVAL
               : 0;
}

static int read_stores(const struct reader *r, json_t *policy, struct plan *plan)
{
    json_t *stores = json_object_get(policy, "stores");
    char *dump;

    if (!json_is_object(policy) || !stores)
        return refuse(r, "policy", "expected an object with stores");
    dump = json_dumps(policy, JSON_COMPACT);
    plan->policy = arena_strdup(r->arena, dump ? dump : "{}");
    free(dump);
    return read_texts(r, stores, "policy.stores", &plan->store, &plan->n_stores);
}

int plan_parse(json_t *json, const char *where, struct arena *arena, struct plan *ret_plan,
               struct err *err)
{
    const struct reader r = {.arena = arena, .where = where, .err = err};
    const char *schema, *system, *pname, *output, *cpu;
    json_t *key, *version, *policy, *objects, *value;
    struct plan plan = {0};
    size_t i;

    if (unpack(&r, json, "the plan", "{s:s, s:o, s:o, s:s, s:o!}", "schema", &schema, "key", &key,
               "policy", &policy, "cpu", &cpu, "objects", &objects) < 0)
        return -EINVAL;
    if (strcmp(schema, PLAN_SCHEMA) != 0)
        return refuse(&r, "schema", "this is no " PLAN_SCHEMA);
    if (unpack(&r, key, "key", "{s:s, s:s, s:o, s:s!}", "system", &system, "pname", &pname,
               "version", &version, "output", &output) < 0 ||
        read_nullable(&r, version, "key.version", &plan.key.version) < 0 ||
        read_stores(&r, policy, &plan) < 0)
        return -EINVAL;
    plan.key.system = text(&r, system);
    plan.key.pname = text(&r, pname);
    plan.key.output = text(&r, output);
    plan.cpu = text(&r, cpu);
    if (!json_is_array(objects) || json_array_size(objects) > MAX_PLAN_OBJECTS)
        return refuse(&r, "objects", "expected a list, not too long");
    plan.object = arena_calloc(arena, json_array_size(objects) + 1, sizeof(*plan.object));
    json_array_foreach (objects, i, value) {
        if (read_object(&r, &plan, value, arena_printf(arena, "objects[%zu]", i),
                        &plan.object[plan.n_objects++]) < 0)
            return -EINVAL;
    }
    *ret_plan = plan;
    return 0;
}

int plan_read(const char *path, struct arena *arena, struct plan *ret_plan, struct err *err)
{
    json_t *json;
    int r = json_read_file(path, MAX_PLAN_BYTES, &json, err);

    if (r < 0)
        return r;
    r = plan_parse(json, path, arena, ret_plan, err);
    json_decref(json);
    return r;
}
