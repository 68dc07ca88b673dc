#include "planner/follow.h"
#include "loader/follow.h"

#include <errno.h>
#include <string.h>

int program_follow(struct world *world, const struct program *start, struct arena *arena,
                   struct program *ret_program, struct err *err)
{
    const struct hop from = {
        .exec = start->path, .env = start->env, .n_env = start->n_env, .cwd = "/"};
    struct way way;
    const struct hop *last;
    int r;

    /* what leads nowhere is for others to say what is wrong with it */
    if (world_walk(world, NULL, start->path).error) {
        *ret_program = *start;
        return 0;
    }
    if ((r = way_follow(world, &from, arena, &way, err)) < 0)
        return r;
    last = &way.hop[way.n - 1];
    if (strcmp(last->program, last->exec) != 0)
        return err_set(err, ENOTSUP, "'%s' cannot be followed: %s", last->exec,
                       way.stop ? way.stop : "it is a script");
    *ret_program = (struct program){.path = last->exec,
                                    .env = last->env,
                                    .n_env = last->n_env,
                                    .wrapper = way.n > 1 ? start->path : NULL};
    return 0;
}

int subject_follow(struct subject *ret_subject, struct subject_query *query, const char *path,
                   struct arena *arena, struct err *err)
{
    struct program program = {.path = path, .env = query->env, .n_env = query->n_env};
    int r = program_follow(query->world, &program, arena, &program, err);

    if (r < 0)
        return r;
    query->program = program.path;
    query->env = program.env;
    query->n_env = program.n_env;
    query->wrapper = program.wrapper;
    return subject_init(ret_subject, query, arena, err);
}
