#include "planner/plan.h"
#include "base/str.h"
#include "planner/rules.h"
#include "scanner/store_name.h"

#include <inttypes.h>
#include <string.h>

static const char *const standing_names[] = {
    [STANDING_CHOSEN] = "chosen",         [STANDING_GATED] = "gated",
    [STANDING_NOTHING] = "nothing-to-do", [STANDING_FAILED] = "failed",
    [STANDING_NO_READER] = "no-reader",   [STANDING_LOST] = "lost",
};

bool plan_is_standing(const char *word)
{
    const char *const *name;

    for_each (name, standing_names)
        if (!strcmp(*name, word))
            return true;
    return false;
}

/* ---- the key */

static const char *system_of(const struct object *object)
{
    static const struct {
        uint16_t machine;
        const char *system;
    } rows[] = {
        {EM_X86_64, "x86_64-linux"},   {EM_386, "i686-linux"},
        {EM_AARCH64, "aarch64-linux"}, {EM_ARM, "armv7l-linux"},
        {EM_RISCV, "riscv64-linux"},   {EM_PPC64, "powerpc64le-linux"},
        {EM_S390, "s390x-linux"},      {EM_LOONGARCH, "loongarch64-linux"},
    };
    size_t i;

    for (i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].machine == object->machine)
            return rows[i].system;
    return "unknown";
}

/* A text of the plan's own. */
static const char *own(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

void plan_init(struct plan *ret_plan, const struct subject *s, struct arena *arena)
{
    struct plan plan = {0};
    struct store_name name;
    json_t *policy = policy_json(s->policy);
    char *text = json_dumps(policy, JSON_COMPACT);

    plan.policy = arena_strdup(arena, text ? text : "{}");
    free(text);
    json_decref(policy);
    plan.key.system = system_of(s->object);
    plan.key.output = "out";
    if (s->package) {
        store_name_parse(arena, str_base(s->package), NULL, &name);
        plan.key.pname = own(arena, name.pname);
        plan.key.version = *name.version ? own(arena, name.version) : NULL;
        plan.key.output = own(arena, name.output);
    } else
        plan.key.pname = own(arena, str_base(s->path));
    plan.cpu = own(arena, s->level[s->policy_level].cpu.name);
    plan.store = s->policy->store;
    plan.n_stores = s->policy->n_stores;
    *ret_plan = plan;
}

/* ---- options */

static void add_levels(const struct decision *d, const struct candidate *o, struct plan_option *out,
                       struct arena *arena)
{
    const struct subject *s = d->subject;
    size_t i;

    if (!o->judged && o->method != METHOD_NONE)
        return;
    out->n_levels = s->n_levels;
    out->level = arena_calloc(arena, s->n_levels, sizeof(*out->level));
    for (i = 0; i < s->n_levels; i++) {
        out->level[i].cpu = own(arena, s->level[i].cpu.name);
        out->level[i].before = s->level[i].trace.storm;
        out->level[i].after = o->judged ? o->verdicts.after[i] : s->level[i].trace.storm;
    }
}

static struct evidence *own_evidence(const struct judgement *j, struct arena *arena)
{
    struct evidence *copy = arena_calloc(arena, j->n_evidence, sizeof(*copy));
    size_t i;

    for (i = 0; i < j->n_evidence; i++)
        copy[i] = (struct evidence){
            .object = own(arena, j->evidence[i].object),
            .soname = own(arena, j->evidence[i].soname),
            .before = own(arena, j->evidence[i].before),
            .after = own(arena, j->evidence[i].after),
            .note = own(arena, j->evidence[i].note),
        };
    return copy;
}

static void add_judgements(const struct candidate *o, struct plan_option *out, struct arena *arena)
{
    size_t i;

    if (o->criterion) { /* the gate's word */
        out->n_judgements = 1;
        out->judgement = arena_calloc(arena, 1, sizeof(*out->judgement));
        *out->judgement = (struct plan_judgement){
            .criterion = o->criterion, .verdict = VERDICT_FAIL, .reason = own(arena, o->reason)};
    }
    if (!o->judged)
        return;
    out->n_judgements = N_CRITERIA;
    out->judgement = arena_calloc(arena, N_CRITERIA, sizeof(*out->judgement));
    for (i = 0; i < N_CRITERIA; i++) {
        const struct judgement *j = &o->verdicts.judgement[i];

        out->judgement[i] = (struct plan_judgement){
            .criterion = j->criterion,
            .verdict = j->verdict,
            .reason = own(arena, j->reason),
            .scenario = j->scenario,
            .evidence = own_evidence(j, arena),
            .n_evidence = j->n_evidence,
            .left_out = (uint32_t)j->n_left_out,
        };
    }
}

/* ---- notes */

static void add_note(struct plan_object *object, struct arena *arena, const char *text)
{
    object->note = arena_grow(arena, object->note, object->n_notes, sizeof(*object->note));
    object->note[object->n_notes++] = text;
}

/* What stays out of the farm, and what that costs. */
static void note_left_out(const struct decision *d, struct plan_object *object, struct arena *arena)
{
    const struct subject *s = d->subject;
    const struct storm *after = &d->option[d->chosen].verdicts.after[s->policy_level];
    const size_t n_caps = s->trace->profile.n_caps;
    const size_t k = n_caps ? n_caps - 1 : 0; /* the last one is the directory itself */
    struct str names = {.arena = arena};
    struct wanted *wanted;
    size_t n = wanted_list(s, d->option[d->chosen].strategy->scope, &wanted), i, n_left = 0;
    const char *why;

    for (i = 0; i < n; i++) {
        why = wanted[i].opened ? keep_out_of_farm(s, &wanted[i]) : NULL;
        if (!why || strchr(wanted[i].name, '/'))
            continue;
        n_left++;
        str_printf(&names, "%s%s: %s", names.len ? "; " : "", str_escape(arena, wanted[i].name),
                   why);
    }
    if (n_left == 0)
        return;
    add_note(object, arena,
             arena_printf(arena,
                          "%zu librar%s out of the farm and keep%s the path as built; the "
                          "directories follow the farm. Of the %" PRIu32 "+%" PRIu32
                          " failed calls that are left, %zu+%zu are the farm's sub-directories "
                          "for CPUs; the rest is for looking into the farm in vain, and for those "
                          "directories and their sub-directories (%s)",
                          n_left, n_left == 1 ? "y stays" : "ies stay", n_left == 1 ? "s" : "",
                          after->failed_opens, after->failed_stats, k, k, names.text));
}

/* What goes into the farm although it could ask for its path. */
static void note_cleared(const struct subject *s, struct plan_object *object, struct arena *arena)
{
    size_t i;

    for (i = 0; i < s->trace->n_loaded; i++)
        if (s->member[i].cleared)
            add_note(object, arena,
                     arena_printf(arena,
                                  "%s imports what tells it its own path, which will be the "
                                  "farm's: %s",
                                  str_escape(arena, str_base(s->member[i].loaded->path)),
                                  s->member[i].cleared));
}

/* Start-up learns less about directories, so that later dlopens may ask more. */
static void note_dlopens(const struct decision *d, struct plan_object *object, struct arena *arena)
{
    const struct verdicts *v = &d->option[d->chosen].verdicts;
    const struct storm *before = &v->declared_before, *after = &v->declared_after;

    if (before->opens == 0)
        return;
    add_note(object, arena,
             arena_printf(arena,
                          "what it and its libraries declare they will dlopen, each once: %" PRIu32
                          "+%" PRIu32 " failed calls as built, %" PRIu32 "+%" PRIu32 " afterwards",
                          before->failed_opens, before->failed_stats, after->failed_opens,
                          after->failed_stats));
}

static void add_notes(const struct decision *d, struct plan_object *object, struct arena *arena)
{
    const struct subject *s = d->subject;
    size_t i;

    for (i = 0; i < s->trace->n_assumptions; i++)
        add_note(object, arena, arena_strdup(arena, s->trace->assumption[i]));
    if (s->wrapper)
        add_note(object, arena,
                 arena_printf(arena,
                              "started by the wrapper '%s': the plan is made without the "
                              "LD_LIBRARY_PATH and LD_PRELOAD it may set, and checked with "
                              "them",
                              str_escape(arena, s->wrapper)));
    if (d->chosen != METHOD_NONE)
        note_dlopens(d, object, arena);
    if (!(METHOD_BIT(d->chosen) & METHODS_FARM))
        return;
    note_left_out(d, object, arena);
    note_cleared(s, object, arena);
    if (!(METHOD_BIT(d->chosen) & METHODS_LIFTED))
        return;
    if (subject_driver_loader(s))
        add_note(object, arena,
                 arena_printf(arena,
                              "it reaches %s: where a host replaces that by LD_LIBRARY_PATH with a "
                              "build that needs other libraries, those are loaded last, not in "
                              "their place",
                              subject_driver_loader(s)));
    add_note(object, arena,
             "lift last: a tool that sets the run path afterwards takes away what the needed "
             "names are found by");
}

/* ---- objects */

static void add_rulings(const struct subject *s, struct plan_object *object, struct arena *arena)
{
    size_t i;

    object->ruling = arena_calloc(arena, s->n_rulings + 1, sizeof(*object->ruling));
    for (i = 0; i < s->n_rulings; i++) {
        const struct danger *rule = s->ruling[i].rule;

        object->ruling[object->n_rulings++] = (struct plan_ruling){
            .rule = rule->id,
            .on = ruling_on_name(s->ruling[i].on),
            .what = hash_free(s->policy, arena, s->ruling[i].what),
            .absolute = danger_verdict_name(rule->absolute),
            .farm = danger_verdict_name(rule->farm),
            .note = danger_verdict_name(rule->note),
            .why = rule->why,
        };
    }
}

static struct plan_expect expect_of(const struct policy *policy, const struct object *object,
                                    const char *interp, struct arena *arena)
{
    const char *run_path = object->runpath ? object->runpath : object->rpath;
    struct plan_expect expect = {
        .needed = arena_calloc(arena, object->n_needs + 1, sizeof(*expect.needed)),
        .run_path = hash_free(policy, arena, run_path),
        .interp = hash_free(policy, arena, interp),
    };

    for (size_t i = 0; i < object->n_needs; i++)
        expect.needed[expect.n_needed++] = hash_free(policy, arena, object->need[i].name);
    return expect;
}

struct plan_expect plan_expect_of(const struct subject *s, struct arena *arena)
{
    return expect_of(s->policy, s->object, s->interp, arena);
}

bool plan_expects(const struct plan *plan, const struct plan_object *of,
                  const struct object *object, struct arena *arena)
{
    const struct policy stores = {.store = plan->store, .n_stores = plan->n_stores};
    const struct plan_expect now = expect_of(&stores, object, object->interp, arena);
    bool same = now.n_needed == of->expect.n_needed &&
                str_same(now.run_path, of->expect.run_path) &&
                str_same(now.interp, of->expect.interp);

    for (size_t i = 0; i < now.n_needed && same; i++)
        same = strcmp(now.needed[i], of->expect.needed[i]) == 0;
    return same;
}

void plan_put(struct plan *plan, size_t n, const struct decision *d, struct arena *arena)
{
    const struct subject *s = d->subject;
    const struct candidate *chosen = &d->option[d->chosen];
    struct plan_object *object;
    size_t i;

    if (n == plan->n_objects)
        plan->object = arena_grow(arena, plan->object, plan->n_objects++, sizeof(*plan->object));
    object = &plan->object[n];
    *object = (struct plan_object){
        .path = own(arena, s->package ? s->path + strlen(s->package) + 1 : s->path),
        .soname = own(arena, s->soname),
        .kind = subject_kind_name(s->kind),
        .strategy = chosen->strategy->name,
        .scope = scope_name(chosen->strategy->scope),
        .rule = d->rule,
        .reason = own(arena, d->reason),
        .edits = edits_copy(&chosen->edits, arena, NULL),
        .program = own(arena, s->path),
        .loader = s->trace->profile.text ? own(arena, s->trace->profile.text) : "no loader",
        .n_libraries = (uint32_t)subject_libraries(s),
    };
    object->expect = plan_expect_of(s, arena);
    add_rulings(s, object, arena);
    object->option = arena_calloc(arena, N_METHODS, sizeof(*object->option));
    for (i = 0; i < N_METHODS; i++) {
        const struct candidate *o = &d->option[i];
        struct plan_option *out = &object->option[object->n_options];

        /* of a file that is no program and was not worth a try there is nothing to tell */
        if (s->kind != SUBJECT_PROGRAM && o->standing == STANDING_NOTHING)
            continue;
        object->n_options++;
        *out = (struct plan_option){
            .strategy = o->strategy->name,
            .scope = scope_name(o->strategy->scope),
            .standing = standing_names[o->standing],
            .rule = o->rule,
            .reason = own(arena, o->reason),
        };
        add_levels(d, o, out, arena);
        add_judgements(o, out, arena);
    }
    add_notes(d, object, arena);
}

const struct plan_option *plan_chosen(const struct plan_object *object)
{
    size_t i;

    for (i = 0; i + 1 < object->n_options; i++)
        if (!strcmp(object->option[i].standing, standing_names[STANDING_CHOSEN]))
            break;
    return &object->option[i];
}

const struct plan_level *plan_level(const struct plan_option *option, const char *cpu)
{
    size_t i;

    for (i = 0; i < option->n_levels; i++)
        if (!strcmp(option->level[i].cpu, cpu))
            return &option->level[i];
    return NULL;
}
