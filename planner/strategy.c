#include "planner/strategy.h"
#include "base/str.h"
#include "planner/rules.h"

#include <string.h>

static const struct strategy *const strategies[N_METHODS] = {
    [METHOD_NONE] = &strategy_none,
    [METHOD_FARM_OWN] = &strategy_farm_own,
    [METHOD_FARM_LIFTED] = &strategy_farm_lifted,
    [METHOD_ABSOLUTE_OWN] = &strategy_absolute_own,
    [METHOD_ABSOLUTE_LIFTED] = &strategy_absolute_lifted,
    [METHOD_NOTE_OWN] = &strategy_note_own,
    [METHOD_NOTE_CLOSURE] = &strategy_note_closure,
};

const struct strategy *strategy_of(enum method method)
{
    return strategies[method];
}

enum method method_find(const char *strategy, const char *scope)
{
    int i = 0;

    while (i < N_METHODS && (strcmp(strategies[i]->name, strategy) != 0 ||
                             (scope && strcmp(scope_name(strategies[i]->scope), scope) != 0)))
        i++;
    return (enum method)i;
}

int strategy_propose(const struct strategy *strategy, const struct subject *subject,
                     struct edits *ret_edits, const char **ret_why_not, struct err *err)
{
    *ret_edits = (struct edits){0};
    *ret_why_not = NULL;
    return strategy->propose(subject, strategy->scope, ret_edits, ret_why_not, err);
}

const char *scope_name(enum scope scope)
{
    static const char *const names[] = {
        [SCOPE_OWN] = "own", [SCOPE_LIFTED] = "lifted", [SCOPE_CLOSURE] = "closure"};

    return names[scope];
}

const char *old_run_path(const struct subject *s)
{
    if (s->object->runpath)
        return s->object->runpath;
    return s->object->rpath ? s->object->rpath : "";
}

static bool is_listed(const struct wanted *wanted, size_t n, const char *name)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (!strcmp(wanted[i].name, name))
            return true;
    return false;
}

size_t wanted_list(const struct subject *s, enum scope scope, struct wanted **ret_wanted)
{
    const struct trace *trace = s->trace;
    struct wanted *wanted = arena_calloc(s->arena, trace->n_requests + 1, sizeof(*wanted));
    size_t i, n = 0;

    for (i = 0; i < trace->n_requests; i++) {
        const struct request *q = &trace->request[i];
        bool loader = is_loader_name(trace, q->name);

        if (q->kind != REQUEST_NEEDED || q->phase != 0 || q->answer < 0)
            continue;
        if (scope == SCOPE_OWN ? q->asker != 0 : !request_searched(q) && !loader)
            continue;
        if (is_listed(wanted, n, q->name))
            continue;
        wanted[n++] = (struct wanted){
            .name = q->name,
            .request = q,
            .answer = &trace->loaded[q->answer],
            .member = &s->member[q->answer],
            .opened = loader ? NULL : request_opened(trace, q),
        };
    }
    *ret_wanted = wanted;
    return n;
}

const char *keep_out_of_farm(const struct subject *s, const struct wanted *w)
{
    const struct danger *rule;

    if (!w->opened)
        return "it is the loader itself";
    if (strchr(w->name, '/'))
        return "it is asked by path";
    if (w->request->stage == STAGE_LIBRARY_PATH)
        return "it comes from LD_LIBRARY_PATH";
    if (!subject_in_store(s, w->opened))
        return "it lies outside the store";
    rule = ruling_bare(s, w->name, METHOD_FARM_OWN);
    return rule ? rule->why : w->member->keep;
}

/* ---- what a walk passes before its hit */

struct directories {
    const char **item;
    size_t n;
};

static void add_once(struct arena *arena, struct directories *list, const char *directory)
{
    size_t i;

    for (i = 0; i < list->n; i++)
        if (!strcmp(list->item[i], directory))
            return;
    list->item = arena_grow(arena, list->item, list->n, sizeof(*list->item));
    list->item[list->n++] = directory;
}

/* A component of an object's run path, its origin put in, without final slashes. */
static const char *component(struct arena *arena, const struct loaded *asker, const char *text)
{
    static const char *const tokens[] = {"${ORIGIN}", "$ORIGIN"};
    const char *const *token;
    const char *at;
    size_t len;

    for_each (token, tokens)
        if ((at = strstr(text, *token))) {
            text = arena_printf(arena, "%.*s%.*s%s", (int)(at - text), text,
                                (int)(strlen(asker->path) - strlen(str_base(asker->path)) - 1),
                                asker->path, at + strlen(*token));
            break;
        }
    len = strlen(text);
    while (len > 1 && text[len - 1] == '/')
        len--;
    return arena_strndup(arena, text, len);
}

size_t passed_outside_store(const struct subject *s, const struct wanted *w,
                            const char ***ret_directory)
{
    const struct trace *trace = s->trace;
    const struct request *q = w->request;
    const struct loaded *asker = q->asker >= 0 ? &trace->loaded[q->asker] : NULL;
    const char **passed, *hit, *run_path;
    struct directories found = {0};
    size_t n, i, k;

    *ret_directory = NULL;
    if (!w->opened || !asker || strchr(w->name, '/') || q->stage == STAGE_LIBRARY_PATH)
        return 0;
    /* from the run path, not from the calls: what does not exist yet is passed without a call */
    hit = opened_directory(s->arena, trace, w->opened);
    run_path = asker->object->runpath ? asker->object->runpath : asker->object->rpath;
    n = run_path_split(s->arena, run_path, &passed);
    for (i = 0; i < n; i++) {
        const char *directory = component(s->arena, asker, passed[i]);

        if (!strcmp(hit, directory))
            break;
        if (!subject_in_store(s, directory))
            add_once(s->arena, &found, directory);
    }
    for (k = 0; i == n && k < trace->profile.n_system_dirs; k++) {
        const char *directory = component(s->arena, asker, trace->profile.system_dirs[k]);

        if (!strcmp(hit, directory))
            break;
        if (!subject_in_store(s, directory))
            add_once(s->arena, &found, directory);
    }
    *ret_directory = found.item;
    return found.n;
}

const char *front_directories(const struct subject *s, const struct wanted *wanted, size_t n,
                              const char ***ret_front, size_t *ret_n_front)
{
    size_t i, k, n_passed, n_first = 0;
    const char **passed, **first = NULL;
    const struct wanted *first_name = NULL;

    for (i = 0; i < n; i++) {
        const struct wanted *w = &wanted[i];

        if (!w->opened || strchr(w->name, '/') || w->request->stage == STAGE_LIBRARY_PATH)
            continue;
        n_passed = passed_outside_store(s, w, &passed);
        if (!first_name) {
            first_name = w;
            first = passed;
            n_first = n_passed;
        }
        for (k = 0; k < n_passed && k < n_first && !strcmp(passed[k], first[k]); k++)
            ;
        if (k < n_passed || k < n_first)
            return arena_printf(
                s->arena,
                "'%s', outside the store, is searched for %s before it is found, but not for %s: "
                "no place in one run path is right for both",
                k < n_passed ? passed[k] : first[k], k < n_passed ? w->name : first_name->name,
                k < n_passed ? first_name->name : w->name);
    }
    *ret_front = first;
    *ret_n_front = n_first;
    return NULL;
}
