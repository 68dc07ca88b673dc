/*
 * Reading plans. Each function reads one kind of JSON object with json_unpack_ex(JSON_STRICT): a
 * key too many or too few is an error that names the place.
 */
#include "base/str.h"
#include "planner/plan_read_private.h"

#include <errno.h>
#include <string.h>

int plan_refuse(const struct plan_reader *r, const char *place, const char *what)
{
    return err_set(r->err, EINVAL, "'%s': %s: %s", r->where, place, what);
}

int plan_unpack(const struct plan_reader *r, json_t *json, const char *place, const char *format,
                ...)
{
    json_error_t bad;
    va_list ap;
    int failed;

    va_start(ap, format);
    failed = json_vunpack_ex(json, &bad, JSON_STRICT, format, ap);
    va_end(ap);
    return failed ? plan_refuse(r, place, bad.text) : 0;
}

const char *plan_raw_text(const struct plan_reader *r, const char *escaped)
{
    return escaped ? str_unescape(r->arena, escaped) : NULL;
}

int plan_read_nullable(const struct plan_reader *r, json_t *value, const char *place,
                       const char **ret_text)
{
    if (!json_is_string(value) && !json_is_null(value))
        return plan_refuse(r, place, "expected a string or null");
    *ret_text = plan_raw_text(r, json_string_value(value));
    return 0;
}

int plan_read_texts(const struct plan_reader *r, json_t *array, const char *place,
                    const char ***ret_text, size_t *ret_n)
{
    const char **list;
    json_t *value;
    size_t i;

    if (!json_is_array(array) || json_array_size(array) > MAX_PLAN_LIST)
        return plan_refuse(r, place, "expected a list of strings, not too long");
    list = arena_calloc(r->arena, json_array_size(array) + 1, sizeof(*list));
    json_array_foreach (array, i, value) {
        if (!json_is_string(value))
            return plan_refuse(r, place, "expected strings only");
        list[i] = plan_raw_text(r, json_string_value(value));
    }
    *ret_text = list;
    *ret_n = i;
    return 0;
}

/* ---- options */

static int read_storm(const struct plan_reader *r, json_t *json, const char *place,
                      struct storm *storm)
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
        return plan_refuse(r, place, "expected the totals of a start");
    for (i = 0; i < ARRAY_LEN(rows); i++) {
        value = json_object_get(json, rows[i].key);
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > UINT32_MAX)
            return plan_refuse(r, place, "expected counts");
        *rows[i].value = (uint32_t)json_integer_value(value);
    }
    return 0;
}

static int read_level(const struct plan_reader *r, json_t *json, const char *place,
                      struct plan_level *level)
{
    json_t *before, *after;
    const char *cpu;

    if (plan_unpack(r, json, place, "{s:s, s:o, s:o!}", "cpu", &cpu, "before", &before, "after",
                    &after) < 0)
        return -EINVAL;
    level->cpu = plan_raw_text(r, cpu);
    return read_storm(r, before, place, &level->before) < 0 ||
                   read_storm(r, after, place, &level->after) < 0
               ? -EINVAL
               : 0;
}

static int read_levels(const struct plan_reader *r, json_t *array, const char *place,
                       struct plan_option *o)
{
    json_t *value;
    size_t i;

    if (!json_is_array(array) || json_array_size(array) > MAX_LEVELS)
        return plan_refuse(r, place, "storm: expected a list of CPU levels");
    o->level = arena_calloc(r->arena, MAX_LEVELS, sizeof(*o->level));
    json_array_foreach (array, i, value) {
        if (read_level(r, value, arena_printf(r->arena, "%s.storm[%zu]", place, i),
                       &o->level[o->n_levels++]) < 0)
            return -EINVAL;
    }
    return 0;
}

static int read_evidence(const struct plan_reader *r, json_t *array, const char *place,
                         struct plan_judgement *j)
{
    json_t *value;
    size_t i;

    if (!json_is_array(array) || json_array_size(array) > MAX_EVIDENCE)
        return plan_refuse(r, place, "evidence: expected a list, not too long");
    j->evidence = arena_calloc(r->arena, json_array_size(array) + 1, sizeof(*j->evidence));
    json_array_foreach (array, i, value) {
        struct evidence *e = &j->evidence[j->n_evidence++];

        if (plan_unpack(r, value, place, "{s?s, s?s, s?s, s?s, s?s!}", "object", &e->object,
                        "soname", &e->soname, "before", &e->before, "after", &e->after, "note",
                        &e->note) < 0)
            return -EINVAL;
        e->object = plan_raw_text(r, e->object);
        e->soname = plan_raw_text(r, e->soname);
        e->before = plan_raw_text(r, e->before);
        e->after = plan_raw_text(r, e->after);
        e->note = plan_raw_text(r, e->note);
    }
    return 0;
}

static int read_judgement(const struct plan_reader *r, json_t *json, const char *place,
                          struct plan_judgement *j)
{
    const char *criterion, *verdict, *reason;
    json_t *evidence, *scenario;
    int left_out, found;

    if (plan_unpack(r, json, place, "{s:s, s:s, s:s, s:o, s:o, s:i!}", "criterion", &criterion,
                    "verdict", &verdict, "reason", &reason, "scenario", &scenario, "evidence",
                    &evidence, "left_out", &left_out) < 0 ||
        plan_read_nullable(r, scenario, place, &j->scenario) < 0)
        return -EINVAL;
    if ((found = verdict_find(verdict)) < 0 || left_out < 0)
        return plan_refuse(r, place, "no such verdict");
    j->criterion = plan_raw_text(r, criterion);
    j->verdict = (enum verdict)found;
    j->reason = plan_raw_text(r, reason);
    j->left_out = (uint32_t)left_out;
    return read_evidence(r, evidence, place, j);
}

static int read_judgements(const struct plan_reader *r, json_t *array, const char *place,
                           struct plan_option *o)
{
    json_t *value;
    size_t i;

    if (!json_is_array(array) || json_array_size(array) > 64)
        return plan_refuse(r, place, "criteria: expected a list, not too long");
    o->judgement = arena_calloc(r->arena, json_array_size(array) + 1, sizeof(*o->judgement));
    json_array_foreach (array, i, value) {
        if (read_judgement(r, value, arena_printf(r->arena, "%s.criteria[%zu]", place, i),
                           &o->judgement[o->n_judgements++]) < 0)
            return -EINVAL;
    }
    return 0;
}

static int read_option(const struct plan_reader *r, json_t *json, const char *place,
                       struct plan_option *o)
{
    const char *strategy, *scope, *standing, *rule, *reason;
    json_t *storm, *judgements;

    if (plan_unpack(r, json, place, "{s:s, s:s, s:s, s:s, s:s, s:o, s:o!}", "strategy", &strategy,
                    "scope", &scope, "standing", &standing, "rule", &rule, "reason", &reason,
                    "storm", &storm, "criteria", &judgements) < 0)
        return -EINVAL;
    *o = (struct plan_option){.strategy = plan_raw_text(r, strategy),
                              .scope = plan_raw_text(r, scope),
                              .standing = plan_raw_text(r, standing),
                              .rule = plan_raw_text(r, rule),
                              .reason = plan_raw_text(r, reason)};
    if (method_find(o->strategy, o->scope) == N_METHODS)
        return plan_refuse(r, place, "no such strategy and scope");
    if (!plan_is_standing(o->standing))
        return plan_refuse(r, place, "standing: no such word");
    return read_levels(r, storm, place, o) < 0 || read_judgements(r, judgements, place, o) < 0
               ? -EINVAL
               : 0;
}

static int read_options(const struct plan_reader *r, json_t *array, const char *place,
                        struct plan_object *object)
{
    size_t i, n_chosen = 0;
    json_t *value;

    if (!json_is_array(array) || json_array_size(array) == 0 || json_array_size(array) > 64)
        return plan_refuse(r, place, "options: expected a list, not empty, not too long");
    object->option = arena_calloc(r->arena, json_array_size(array), sizeof(*object->option));
    json_array_foreach (array, i, value) {
        struct plan_option *o = &object->option[object->n_options++];

        if (read_option(r, value, arena_printf(r->arena, "%s.options[%zu]", place, i), o) < 0)
            return -EINVAL;
        if (strcmp(o->standing, "chosen") != 0)
            continue;
        n_chosen++;
        if (strcmp(o->strategy, object->strategy) != 0 || strcmp(o->scope, object->scope) != 0)
            return plan_refuse(r, place, "strategy and scope are not those of the chosen option");
    }
    return n_chosen == 1 ? 0 : plan_refuse(r, place, "expected exactly one chosen option");
}

/* ---- objects */

static int read_expect(const struct plan_reader *r, json_t *json, const char *place,
                       struct plan_expect *expect)
{
    json_t *needed, *run_path, *interp;

    if (plan_unpack(r, json, place, "{s:o, s:o, s:o!}", "needed", &needed, "run_path", &run_path,
                    "interp", &interp) < 0 ||
        plan_read_nullable(r, run_path, place, &expect->run_path) < 0 ||
        plan_read_nullable(r, interp, place, &expect->interp) < 0)
        return -EINVAL;
    return plan_read_texts(r, needed, place, &expect->needed, &expect->n_needed);
}

/* What is told twice must be told alike: the edits without hashes, the totals of the choice. */
static int check_twins(const struct plan_reader *r, const struct plan *plan, const char *place,
                       const struct plan_object *o, json_t *edits, json_t *storm)
{
    const struct policy policy = {.store = plan->store, .n_stores = plan->n_stores};
    const struct plan_level *level = plan_level(plan_chosen(o), plan->cpu);
    json_t *mine = edits_json(&o->edits, &policy, r->arena);
    bool same = json_equal(mine, edits);
    struct plan_level told = {0};

    json_decref(mine);
    if (!same)
        return plan_refuse(r, place, "edits and evidence.edits do not tell the same");
    if (json_is_null(storm))
        return level ? plan_refuse(r, place, "storm is missing") : 0;
    if (read_level(r, storm, place, &told) < 0)
        return -EINVAL;
    if (!level || strcmp(told.cpu, level->cpu) != 0 ||
        memcmp(&told.before, &level->before, sizeof(told.before)) != 0 ||
        memcmp(&told.after, &level->after, sizeof(told.after)) != 0)
        return plan_refuse(r, place, "storm is not that of the chosen option");
    return 0;
}

/* Totals that may be missing. */
static int read_planned(const struct plan_reader *r, json_t *json, const char *place,
                        const struct storm **ret_storm)
{
    struct storm *storm;

    if (!json || json_is_null(json))
        return 0;
    storm = arena_calloc(r->arena, 1, sizeof(*storm));
    *ret_storm = storm;
    return read_storm(r, json, place, storm);
}

static int read_rulings(const struct plan_reader *r, json_t *array, const char *place,
                        struct plan_object *o)
{
    json_t *value;
    size_t i;

    if (!array)
        return 0; /* plans of before */
    if (!json_is_array(array) || json_array_size(array) > MAX_PLAN_RULINGS)
        return plan_refuse(r, place, "rules: expected a list, not too long");
    o->ruling = arena_calloc(r->arena, json_array_size(array) + 1, sizeof(*o->ruling));
    json_array_foreach (array, i, value) {
        struct plan_ruling *g = &o->ruling[o->n_rulings++];

        if (plan_unpack(r, value, place, "{s:s, s:s, s:s, s:s, s:s, s:s, s:s!}", "rule", &g->rule,
                        "on", &g->on, "what", &g->what, "absolute", &g->absolute, "farm", &g->farm,
                        "note", &g->note, "why", &g->why) < 0)
            return -EINVAL;
        *g = (struct plan_ruling){plan_raw_text(r, g->rule), plan_raw_text(r, g->on),
                                  plan_raw_text(r, g->what), plan_raw_text(r, g->absolute),
                                  plan_raw_text(r, g->farm), plan_raw_text(r, g->note),
                                  plan_raw_text(r, g->why)};
    }
    return 0;
}

static int read_object(const struct plan_reader *r, const struct plan *plan, json_t *json,
                       const char *place, struct plan_object *o)
{
    const char *path, *strategy, *scope, *rule, *reason, *program, *loader;
    json_t *soname, *storm, *expect, *edits, *options, *notes, *evidence, *concrete, *rules = NULL;
    json_t *own = NULL, *whole = NULL;
    const char *kind = "program"; /* plans of before knew nothing else */
    int libraries;

    if (plan_unpack(
            r, json, place,
            "{s:s, s:o, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s?o, s?s, s?o, s?o!}",
            "path", &path, "soname", &soname, "strategy", &strategy, "scope", &scope, "rule", &rule,
            "reason", &reason, "storm", &storm, "expect", &expect, "edits", &edits, "options",
            &options, "notes", &notes, "evidence", &evidence, "rules", &rules, "kind", &kind,
            "own_package", &own, "whole_closure", &whole) < 0 ||
        plan_unpack(r, evidence, place, "{s:s, s:s, s:i, s:o!}", "program", &program, "loader",
                    &loader, "libraries", &libraries, "edits", &concrete) < 0)
        return -EINVAL;
    if (subject_kind_find(kind) < 0)
        return plan_refuse(r, place, "kind: expected program, root or library");
    if (libraries < 0)
        return plan_refuse(r, place, "evidence.libraries: expected a count");
    *o = (struct plan_object){.path = plan_raw_text(r, path),
                              .kind = plan_raw_text(r, kind),
                              .strategy = plan_raw_text(r, strategy),
                              .scope = plan_raw_text(r, scope),
                              .rule = plan_raw_text(r, rule),
                              .reason = plan_raw_text(r, reason),
                              .program = plan_raw_text(r, program),
                              .loader = plan_raw_text(r, loader),
                              .n_libraries = (uint32_t)libraries};
    return plan_read_nullable(r, soname, place, &o->soname) < 0 ||
                   read_expect(r, expect, place, &o->expect) < 0 ||
                   plan_read_edits(r, concrete, place, &o->edits) < 0 ||
                   read_options(r, options, place, o) < 0 || read_rulings(r, rules, place, o) < 0 ||
                   read_planned(r, own, place, &o->own_package) < 0 ||
                   read_planned(r, whole, place, &o->whole_closure) < 0 ||
                   plan_read_texts(r, notes, place, &o->note, &o->n_notes) < 0 ||
                   check_twins(r, plan, place, o, edits, storm) < 0
               ? -EINVAL
               : 0;
}

static int read_stores(const struct plan_reader *r, json_t *policy, struct plan *plan)
{
    json_t *stores = json_object_get(policy, "stores");
    char *dump;

    if (!json_is_object(policy) || !stores)
        return plan_refuse(r, "policy", "expected an object with stores");
    dump = json_dumps(policy, JSON_COMPACT);
    plan->policy = arena_strdup(r->arena, dump ? dump : "{}");
    free(dump);
    return plan_read_texts(r, stores, "policy.stores", &plan->store, &plan->n_stores);
}

int plan_parse(json_t *json, const char *where, struct arena *arena, struct plan *ret_plan,
               struct err *err)
{
    const struct plan_reader r = {.arena = arena, .where = where, .err = err};
    const char *schema, *system, *pname, *output, *cpu;
    json_t *key, *version, *policy, *objects, *value;
    struct plan plan = {0};
    size_t i;

    if (plan_unpack(&r, json, "the plan", "{s:s, s:o, s:o, s:s, s:o!}", "schema", &schema, "key",
                    &key, "policy", &policy, "cpu", &cpu, "objects", &objects) < 0)
        return -EINVAL;
    if (strcmp(schema, PLAN_SCHEMA) != 0)
        return plan_refuse(&r, "schema", "this is no " PLAN_SCHEMA);
    if (plan_unpack(&r, key, "key", "{s:s, s:s, s:o, s:s!}", "system", &system, "pname", &pname,
                    "version", &version, "output", &output) < 0 ||
        plan_read_nullable(&r, version, "key.version", &plan.key.version) < 0 ||
        read_stores(&r, policy, &plan) < 0)
        return -EINVAL;
    plan.key.system = plan_raw_text(&r, system);
    plan.key.pname = plan_raw_text(&r, pname);
    plan.key.output = plan_raw_text(&r, output);
    plan.cpu = plan_raw_text(&r, cpu);
    if (!json_is_array(objects) || json_array_size(objects) > MAX_PLAN_OBJECTS)
        return plan_refuse(&r, "objects", "expected a list, not too long");
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
    int r = json_read_file(path, SIZE_MAX, &json, err);

    if (r < 0)
        return r;
    r = plan_parse(json, path, arena, ret_plan, err);
    json_decref(json);
    return r;
}
