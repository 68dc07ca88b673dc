#include "cli/follow.h"

#include "base/str.h"
#include "loader/wrapper.h"

#include <errno.h>
#include <string.h>

enum { CHAIN_MAX = 16 };

/* The wrapper behind a path. -ENOEXEC: none there, whatever else there is. */
static int wrapper_at(const struct setting *setting, const struct start *start, struct arena *arena,
                      struct wrapper *ret_wrapper, struct err *err)
{
    const char *path = str_join(arena, setting->cwd, start->program);
    const struct place at = world_walk(setting->world, NULL, path);
    char *bytes;
    size_t len;

    if (at.error || at.node->kind != NODE_FILE || at.node->size > WRAPPER_MAX ||
        world_bytes(setting->world, at.node, WRAPPER_MAX, arena, &bytes, &len) < 0)
        return -ENOEXEC;
    return wrapper_read(bytes, len, start->env, start->n_env, arena, ret_wrapper, err);
}

int follow(const struct options *options, struct setting *setting, const char *program,
           struct arena *arena, struct followed *ret_followed, struct err *err)
{
    struct followed f = {.start = options_start(options, program)};

    setting_enter(setting, NULL);
    while (!options->explicit) { /* a loader is what it is */
        struct wrapper wrapper;
        struct err why = {0};
        const int r = wrapper_at(setting, &f.start, arena, &wrapper, &why);

        if (r == -ENOEXEC)
            break;
        if (r < 0)
            return err_set(err, -r, "'%s': %s", f.start.program, why.text);
        if (f.n_wrappers == CHAIN_MAX)
            return err_set(err, ELOOP, "'%s': more than %d wrappers, one inside another", program,
                           CHAIN_MAX);
        f.wrapper = arena_grow(arena, f.wrapper, f.n_wrappers, sizeof(*f.wrapper));
        f.wrapper[f.n_wrappers++] = (struct wrapped){f.start.program, wrapper.interpreter};
        f.start.program = wrapper.program;
        f.start.env = wrapper.env;
        f.start.n_env = wrapper.n_env;
        if (wrapper.cwd)
            setting_enter(setting, wrapper.cwd);
    }
    *ret_followed = f;
    return 0;
}
