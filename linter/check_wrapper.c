/*
 * Wrappers: what they put before every run path.
 */
#include "linter/check.h"

#include "loader/follow.h"

#include <stdlib.h>

struct wrappers {
    struct check *check;
    struct node *dir;
    const char **name;
    size_t n;
};

static void keep(void *data, const char *name)
{
    struct wrappers *w = data;

    w->name = arena_grow(w->check->arena, w->name, w->n, sizeof(*w->name));
    w->name[w->n++] = arena_strdup(w->check->arena, name);
}

static bool sets_library_path(const struct hop *hop)
{
    for (size_t i = 0; i < hop->n_env; i++)
        if (str_starts(hop->env[i], "LD_LIBRARY_PATH=") && hop->env[i][16])
            return true;
    return false;
}

/* What its own search would have given: by some asker's run path. */
static const struct node *own_answer(struct check *check, const struct trace *t,
                                     const struct request *r)
{
    const struct lint_object *asker = loaded_object(check, &t->loaded[r->asker]);

    for (size_t i = 0; asker && asker->need && i < asker->object->n_needs; i++)
        if (!strcmp(asker->object->need[i].name, r->name))
            return asker->need[i].answer;
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

static void one_wrapper(struct check *check, const struct node *node)
{
    const char *path = world_path(&check->closure->arena, node);
    const struct hop from = {.exec = path, .cwd = lint_cwd(check->lint)};
    struct trace trace = {0};
    struct start start = {.record = true};
    const struct hop *last;
    struct way way;
    struct err err;

    if (node->kind != NODE_FILE || !(node->mode & 0111) ||
        way_follow(check->closure->world, &from, check->arena, &way, &err) < 0)
        return;
    last = &way.hop[way.n - 1];
    if (way.n == 1 || !sets_library_path(last) || last->program[0] != '/')
        return;
    start.program = last->program;
    start.env = last->env;
    start.n_env = last->n_env;
    if (loader_run(lint_loader(check->lint), &start, check->arena, &trace, &err) == 0)
        compare(check, path, &trace);
}

void check_wrapper_shadows_closure(struct check *check)
{
    static const char *const dirs[] = {"bin", "sbin", "libexec"};
    struct world *world = check->closure->world;
    const char *const *dir;

    for_each (dir, dirs) {
        const struct place at =
            world_walk(world, NULL, str_join(check->arena, check->package->path, *dir));
        struct wrappers w = {.check = check, .dir = at.node};

        if (at.error || at.node->kind != NODE_DIR ||
            node_package(check, at.node) != check->package ||
            world_list(world, at.node, keep, &w) < 0)
            continue;
        for (size_t i = 0; i < w.n; i++) {
            struct node *node = world_child(world, at.node, intern(world->names, w.name[i]));

            if (node)
                one_wrapper(check, node);
        }
    }
}
