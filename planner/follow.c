#include "planner/follow.h"
#include "loader/wrapper.h"

#include <errno.h>
#include <string.h>

enum { MAX_HOPS = 8 }; /* a wrapper of a wrapper of ... */

/* One step. 1: `hop` is a wrapper, ret_wrapper its target; 0: it is the program. */
static int step(struct world *world, const struct program *hop, struct arena *arena,
                struct wrapper *ret_wrapper, struct err *err)
{
    struct place at = world_walk(world, NULL, hop->path);
    const struct object *object;
    char *bytes;
    size_t len;
    int r;

    if (at.error || at.node->kind != NODE_FILE || at.node->size > WRAPPER_MAX)
        return 0;
    object = world_object(world, at.node);
    if (object && !object->interp)
        return 0;
    if (world_bytes(world, at.node, WRAPPER_MAX, arena, &bytes, &len) < 0)
        return 0;
    r = wrapper_read(bytes, len, hop->env, hop->n_env, arena, ret_wrapper, err);
    if (r == 0)
        return 1;
    if (object || r == -ENOEXEC)
        return 0;
    return err_set(err, -r, "'%s' cannot be followed: %s", hop->path,
                   arena_strdup(arena, err->text));
}

int program_follow(struct world *world, const struct program *start, struct arena *arena,
                   struct program *ret_program, struct err *err)
{
    struct program hop = {.path = start->path, .env = start->env, .n_env = start->n_env};
    struct wrapper wrapper;
    unsigned i;
    int r;

    for (i = 0; (r = step(world, &hop, arena, &wrapper, err)) == 1; i++) {
        if (i == MAX_HOPS)
            return err_set(err, ELOOP, "'%s': too many wrappers around each other", start->path);
        if (wrapper.program[0] != '/')
            return err_set(err, ENOTSUP, "'%s' starts a relative path", hop.path);
        hop = (struct program){.path = wrapper.program,
                               .env = wrapper.env,
                               .n_env = wrapper.n_env,
                               .wrapper = start->path};
    }
    if (r == 0)
        *ret_program = hop;
    return r;
}
