/*
 * Wrappers: what they put before every run path.
 */
#include "linter/check.h"

/* What its own search would have given: by some asker's run path. */
static const struct node *own_answer(struct check *check, const struct trace *t,
                                     const struct request *r)
{
    const struct lint_object *asker = loaded_object(check, &t->loaded[r->asker]);

    for (size_t i = 0; asker && asker->need && i < asker->object->n_needs; i++)
        if (!strcmp(asker->object->need[i].name, r->name))
            return need_answer(check, asker, i);
    return NULL;
}

static void compare(struct check *check, const char *path, const struct trace *t)
{
    struct str list = {.arena = check->arena};
    size_t n = 0;
    struct finding *f;

    for (size_t i = 0; i < t->n_requests; i++) {
        const struct request *r = &t->request[i];
        const struct node *own;

        if (r->stage != STAGE_LIBRARY_PATH || r->result != RESULT_FOUND || r->asker < 0 ||
            r->answer < 0)
            continue;
        own = own_answer(check, t, r);
        if (own && n++ < 6)
            str_printf(&list, "%s%s", list.len ? ", " : "", shown(check, r->name));
    }
    if (n == 0)
        return;
    f = report_file(check, check->package, path, NULL,
                    "its LD_LIBRARY_PATH answers for %s%s, which run paths find, too", list.text,
                    n > 6 ? arena_printf(check->arena, " and %zu more", n - 6) : "");
    evidence(check, f, "started: %s", t->program);
}

static void one_wrapper(struct check *check, const struct wrapper *w)
{
    const struct start start = {
        .program = w->program, .env = w->env, .n_env = w->n_env, .record = true};
    struct trace trace = {0};
    struct err err;

    if (loader_run(lint_loader(check->lint), &start, check->arena, &trace, &err) == 0)
        compare(check, w->path, &trace);
}

void check_wrapper_shadows_closure(struct check *check)
{
    const struct wrappers *list = lint_wrappers(check->lint);

    for (size_t i = 0; i < list->n; i++)
        if (list->item[i].package == check->package && wrapper_library_path(&list->item[i]))
            one_wrapper(check, &list->item[i]);
}
