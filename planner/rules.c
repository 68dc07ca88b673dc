#include "planner/rules.h"
#include "base/str.h"
#include "linter/danger_file.h"
#include "planner/plan_json.h"
#include "scanner/store_name.h"

#include <string.h>

static void add(struct subject *s, const struct danger *rule, enum ruling_on on, const char *what)
{
    size_t i;

    if (s->n_rulings == MAX_PLAN_RULINGS)
        return; /* and a gate is shut: too-large */
    for (i = 0; i < s->n_rulings; i++)
        if (s->ruling[i].rule == rule && s->ruling[i].on == on && !strcmp(s->ruling[i].what, what))
            return;
    s->ruling = arena_grow(s->arena, s->ruling, s->n_rulings, sizeof(*s->ruling));
    s->ruling[s->n_rulings++] = (struct ruling){rule, on, what};
}

static void ask(struct subject *s, enum danger_key key, enum ruling_on on, const char *value)
{
    const struct danger *rule = NULL;

    while (value && (rule = danger_next_in(s->policy->danger, key, value, rule)))
        add(s, rule, on, value);
}

static void ask_names(struct subject *s)
{
    size_t i;

    /* what is known already was asked before, and has been answered for */
    for (i = 0; i < s->trace->n_requests; i++)
        if (s->trace->request[i].kind == REQUEST_NEEDED && s->trace->request[i].phase == 0 &&
            s->trace->request[i].result != RESULT_KNOWN)
            ask(s, DANGER_BY_SONAME, RULING_NAME, str_base(s->trace->request[i].name));
    if (s->trace->profile.soname)
        ask(s, DANGER_BY_SONAME, RULING_NAME, s->trace->profile.soname);
}

/* A library that was found among link-time stubs; the other rules of paths are about the subject.
 */
static void ask_stubs(struct subject *s)
{
    const struct danger *rule;
    size_t i;

    for (i = 1; i < s->trace->n_loaded; i++)
        for (rule = NULL; (rule = danger_next(DANGER_BY_PATH, s->trace->loaded[i].path, rule));)
            if (!strcmp(rule->id, "cuda-stubs"))
                add(s, rule, RULING_OBJECT, s->trace->loaded[i].path);
}

static void ask_package(struct subject *s)
{
    struct store_name name;

    if (!s->package)
        return;
    store_name_parse(s->arena, str_base(s->package), NULL, &name);
    ask(s, DANGER_BY_PNAME, RULING_PACKAGE, name.pname);
}

static void ask_environment(struct subject *s)
{
    size_t i;

    for (i = 0; i < s->n_full_env; i++)
        ask(s, DANGER_BY_ENV, RULING_ENVIRONMENT,
            arena_strndup(s->arena, s->full_env[i], strcspn(s->full_env[i], "=")));
}

static void ask_symbols(struct subject *s)
{
    static const struct {
        unsigned bit;
        const char *symbol;
    } rows[] = {{IMPORT_DLMOPEN, "dlmopen"}, {IMPORT_JNI_ONLOAD, "JNI_OnLoad"}};
    size_t i;

    for (i = 0; i < ARRAY_LEN(rows); i++)
        if (s->object->imports & rows[i].bit)
            ask(s, DANGER_BY_SYMBOL, RULING_OBJECT, rows[i].symbol);
}

void rulings_find(struct subject *s)
{
    const char **component;
    size_t n = run_path_split(s->arena, old_run_path(s), &component), i;

    s->ruling = NULL;
    s->n_rulings = 0;
    ask_names(s);
    ask(s, DANGER_BY_PATH, RULING_OBJECT, s->path);
    ask_stubs(s);
    ask_symbols(s);
    for (i = 0; i < n; i++)
        ask(s, DANGER_BY_RUN_PATH, RULING_RUN_PATH, component[i]);
    ask(s, DANGER_BY_INTERP, RULING_OBJECT, s->object->interp);
    ask_package(s);
    ask_environment(s);
}

enum danger_verdict ruling_verdict(const struct danger *rule, enum method method)
{
    if (METHOD_BIT(method) & METHODS_FARM)
        return rule->farm;
    if (METHOD_BIT(method) & METHODS_ABSOLUTE)
        return rule->absolute;
    return METHOD_BIT(method) & METHODS_NOTE ? rule->note : DANGER_OK;
}

const struct danger *ruling_bare(const struct subject *s, const char *name, enum method method)
{
    size_t i;

    for (i = 0; i < s->n_rulings; i++)
        if (s->ruling[i].on == RULING_NAME && !strcmp(s->ruling[i].what, str_base(name)) &&
            ruling_verdict(s->ruling[i].rule, method) >= DANGER_BARE)
            return s->ruling[i].rule;
    return NULL;
}

const char *ruling_on_name(enum ruling_on on)
{
    static const char *const names[] = {"name", "object", "run-path", "package", "environment"};

    return names[on];
}
