/*
 * Wrappers: what they put before every run path.
 */
#include "linter/check.h"

#include "loader/wrapper.h"

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

static bool sets_library_path(const struct wrapper *wrapper)
{
    for (size_t i = 0; i < wrapper->n_env; i++)
        if (str_starts(wrapper->env[i], "LD_LIBRARY_PATH="))
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

static void one_wrapper(struct check *check, struct node *node)
{
    struct wrapper wrapper;
    struct trace trace = {0};
    struct err err;
    char *bytes;
    size_t len;

    if (node->kind != NODE_FILE || node->size > WRAPPER_MAX || !(node->mode & 0111) ||
        world_bytes(check->closure->world, node, WRAPPER_MAX, check->arena, &bytes, &len) < 0 ||
        wrapper_read(bytes, len, NULL, 0, check->arena, &wrapper, &err) < 0 ||
        !sets_library_path(&wrapper) || wrapper.program[0] != '/')
        return;
    const struct start start = {
        .program = wrapper.program, .env = wrapper.env, .n_env = wrapper.n_env, .record = true};

    if (loader_run(lint_loader(check->lint), &start, check->arena, &trace, &err) == 0)
        compare(check, world_path(&check->closure->arena, node), &trace);
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
