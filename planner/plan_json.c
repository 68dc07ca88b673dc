/*
 * Writing plans.
 *
 *	{ "schema", "key": {...}, "policy": {...}, "cpu",
 *	  "objects": [ { "path", "soname", "kind", "strategy", "scope", "rule", "reason",
 *	                 "storm": { "cpu", "before", "after" },
 *	                 "own_package": {...}, "whole_closure": {...},
 *	                 "expect": { "needed", "run_path", "interp" },
 *	                 "edits": [...],			without hashes
 *	                 "options": [ { "strategy", ..., "storm": [...], "criteria": [...] } ],
 *	                 "rules": [ { "rule", "on", "what", "absolute", "farm", "note", "why" } ],
 *	                 "notes": [...],
 *	                 "evidence": { "program", "loader", "libraries", "edits": [...] } } ] }
 */
#include "planner/plan_json.h"
#include "base/str.h"

#include <string.h>

static const char *shown(const struct policy *policy, struct arena *scratch, const char *text)
{
    return policy ? hash_free(policy, scratch, text) : text;
}

/* ---- edits */

static json_t *links_json(const struct edit *e, const struct policy *policy, struct arena *scratch)
{
    json_t *links = json_object();
    size_t i;

    for (i = 0; i < e->n_links; i++)
        json_put_text(links, str_escape(scratch, e->link[i].name),
                      shown(policy, scratch, e->link[i].target));
    return links;
}

static json_t *needed_json(const struct edit *e, const struct policy *policy, struct arena *scratch)
{
    json_t *needed = json_array();
    size_t i;

    for (i = 0; i < e->n_needed; i++)
        json_push(needed, json_text(shown(policy, scratch, e->needed[i])));
    return needed;
}

static json_t *renames_json(const struct edit *e, const struct policy *policy,
                            struct arena *scratch)
{
    json_t *renames = json_object();
    size_t i;

    for (i = 0; i < e->n_renames; i++)
        json_put_text(renames, str_escape(scratch, e->renames[i].from),
                      shown(policy, scratch, e->renames[i].to));
    return renames;
}

/* The note's pairs, each [name, list]: with the closing zero they are the descriptor. */
static json_t *pairs_json(const struct edit *e, const struct policy *policy, struct arena *scratch)
{
    const char *at = (const char *)e->note.bytes, *end = at ? at + e->note.size : NULL;
    json_t *pairs = json_array(), *pair;

    while (at && at < end && *at) {
        pair = json_array();
        json_push(pair, json_text(at));
        at += strlen(at) + 1;
        json_push(pair, json_text(shown(policy, scratch, at)));
        at += strlen(at) + 1;
        json_push(pairs, pair);
    }
    return pairs;
}

/* The strings of a closure note, one after the other (docs/closure-note.md). */
static json_t *texts_json(const struct edit *e, const struct policy *policy, struct arena *scratch)
{
    const char *at = (const char *)e->note.bytes, *end = at ? at + e->note.size : NULL;
    json_t *texts = json_array();

    for (; at && at < end; at += strlen(at) + 1)
        json_push(texts, json_text(shown(policy, scratch, at)));
    return texts;
}

static json_t *edit_json(const struct edit *e, const struct policy *policy, struct arena *scratch)
{
    json_t *out = json_object();

    json_put_text(out, "edit", edit_kind_name(e->kind));
    json_put_text(out, "path", shown(policy, scratch, e->path));
    switch (e->kind) {
    case EDIT_FARM:
        json_put(out, "links", links_json(e, policy, scratch));
        break;
    case EDIT_NEEDED:
        json_put(out, "needed", needed_json(e, policy, scratch));
        break;
    case EDIT_RUN_PATH:
        json_put_text(out, "run_path", shown(policy, scratch, e->run_path));
        break;
    case EDIT_VERNEED:
        json_put(out, "renames", renames_json(e, policy, scratch));
        break;
    case EDIT_NOTE:
        json_put(out, "pairs", pairs_json(e, policy, scratch));
        break;
    case EDIT_CLOSURE:
        json_put_text(out, "audit", shown(policy, scratch, e->audit));
        json_put(out, "texts", texts_json(e, policy, scratch));
        break;
    case N_EDIT_KINDS:
        break;
    }
    return out;
}

json_t *edits_json(const struct edits *edits, const struct policy *policy, struct arena *scratch)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < edits->n; i++)
        json_push(array, edit_json(&edits->item[i], policy, scratch));
    return array;
}

/* ---- options */

static json_t *level_json(const struct plan_level *level)
{
    json_t *out = json_object();

    json_put_text(out, "cpu", level->cpu);
    json_put(out, "before", storm_json(&level->before));
    json_put(out, "after", storm_json(&level->after));
    return out;
}

static json_t *evidence_json(const struct evidence *e)
{
    const struct {
        const char *key, *value;
    } rows[] = {{"object", e->object},
                {"soname", e->soname},
                {"before", e->before},
                {"after", e->after},
                {"note", e->note}};
    json_t *out = json_object();
    size_t i;

    for (i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].value)
            json_put_text(out, rows[i].key, rows[i].value);
    return out;
}

static json_t *judgement_json(const struct plan_judgement *j)
{
    json_t *out = json_object(), *evidence = json_array();
    size_t i;

    json_put_text(out, "criterion", j->criterion);
    json_put_text(out, "verdict", verdict_name(j->verdict));
    json_put_text(out, "reason", j->reason);
    json_put_text(out, "scenario", j->scenario);
    for (i = 0; i < j->n_evidence; i++)
        json_push(evidence, evidence_json(&j->evidence[i]));
    json_put(out, "evidence", evidence);
    json_put_int(out, "left_out", j->left_out);
    return out;
}

static json_t *option_json(const struct plan_option *o)
{
    json_t *out = json_object(), *storm = json_array(), *judgements = json_array();
    size_t i;

    json_put_text(out, "strategy", o->strategy);
    json_put_text(out, "scope", o->scope);
    json_put_text(out, "standing", o->standing);
    json_put_text(out, "rule", o->rule);
    json_put_text(out, "reason", o->reason);
    for (i = 0; i < o->n_levels; i++)
        json_push(storm, level_json(&o->level[i]));
    json_put(out, "storm", storm);
    for (i = 0; i < o->n_judgements; i++)
        json_push(judgements, judgement_json(&o->judgement[i]));
    json_put(out, "criteria", judgements);
    return out;
}

/* ---- objects */

static json_t *expect_json(const struct plan_expect *expect)
{
    json_t *out = json_object();

    json_put(out, "needed", json_texts(expect->needed, expect->n_needed));
    json_put_text(out, "run_path", expect->run_path);
    json_put_text(out, "interp", expect->interp);
    return out;
}

static json_t *rulings_json(const struct plan_object *o)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < o->n_rulings; i++) {
        const struct plan_ruling *ruling = &o->ruling[i];
        json_t *row = json_object();

        json_put_text(row, "rule", ruling->rule);
        json_put_text(row, "on", ruling->on);
        json_put_text(row, "what", ruling->what);
        json_put_text(row, "absolute", ruling->absolute);
        json_put_text(row, "farm", ruling->farm);
        json_put_text(row, "note", ruling->note);
        json_put_text(row, "why", ruling->why);
        json_push(array, row);
    }
    return array;
}

static json_t *object_json(const struct plan *plan, const struct plan_object *o,
                           struct arena *scratch)
{
    const struct policy policy = {.store = plan->store, .n_stores = plan->n_stores};
    const struct plan_level *level = plan_level(plan_chosen(o), plan->cpu);
    json_t *out = json_object(), *options = json_array(), *evidence = json_object();
    size_t i;

    json_put_text(out, "path", o->path);
    json_put_text(out, "soname", o->soname);
    json_put_text(out, "kind", o->kind);
    json_put_text(out, "strategy", o->strategy);
    json_put_text(out, "scope", o->scope);
    json_put_text(out, "rule", o->rule);
    json_put_text(out, "reason", o->reason);
    json_put(out, "storm", level ? level_json(level) : json_null());
    json_put(out, "own_package", o->own_package ? storm_json(o->own_package) : json_null());
    json_put(out, "whole_closure", o->whole_closure ? storm_json(o->whole_closure) : json_null());
    json_put(out, "expect", expect_json(&o->expect));
    json_put(out, "edits", edits_json(&o->edits, &policy, scratch));
    for (i = 0; i < o->n_options; i++)
        json_push(options, option_json(&o->option[i]));
    json_put(out, "options", options);
    json_put(out, "rules", rulings_json(o));
    json_put(out, "notes", json_texts(o->note, o->n_notes));
    json_put_text(evidence, "program", o->program);
    json_put_text(evidence, "loader", o->loader);
    json_put_int(evidence, "libraries", o->n_libraries);
    json_put(evidence, "edits", edits_json(&o->edits, NULL, scratch));
    json_put(out, "evidence", evidence);
    return out;
}

json_t *plan_json(const struct plan *plan, struct arena *scratch)
{
    json_t *out = json_object(), *key = json_object(), *objects = json_array();
    size_t i;

    json_put_text(out, "schema", PLAN_SCHEMA);
    json_put_text(key, "system", plan->key.system);
    json_put_text(key, "pname", plan->key.pname);
    json_put_text(key, "version", plan->key.version);
    json_put_text(key, "output", plan->key.output);
    json_put(out, "key", key);
    json_put(out, "policy", json_loads(plan->policy, JSON_REJECT_DUPLICATES, NULL));
    json_put_text(out, "cpu", plan->cpu);
    for (i = 0; i < plan->n_objects; i++)
        json_push(objects, object_json(plan, &plan->object[i], scratch));
    json_put(out, "objects", objects);
    return out;
}
