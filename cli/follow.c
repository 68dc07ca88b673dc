#include "cli/follow.h"

#include <string.h>

static bool is_given(const struct options *options, const char *variable)
{
    for (size_t i = 0; i < options->n_env; i++)
        if (strcmp(options->env[i], variable) == 0)
            return true;
    return false;
}

int follow(const struct options *options, struct setting *setting, const char *program,
           struct arena *arena, struct followed *ret_followed, struct err *err)
{
    struct followed f = {.start = options_start(options, program)};
    const struct hop *last;
    int r;

    setting_enter(setting, NULL);
    if (options->explicit) { /* a loader is what it is */
        f.way = (struct way){.hop = {{.exec = program, .program = program}}, .n = 1};
        *ret_followed = f;
        return 0;
    }
    r = way_follow(
        setting->world,
        &(struct hop){
            .exec = program, .env = f.start.env, .n_env = f.start.n_env, .cwd = setting->cwd},
        arena, &f.way, err);
    if (r < 0)
        return r;
    last = &f.way.hop[f.way.n - 1];
    f.start.program = last->program;
    f.start.env = last->env;
    f.start.n_env = last->n_env;
    f.set = arena_calloc(arena, last->n_env + 1, sizeof(*f.set));
    for (size_t i = 0; i < last->n_env; i++)
        if (!is_given(options, last->env[i]))
            f.set[f.n_set++] = last->env[i];
    setting_enter(setting, last->cwd);
    *ret_followed = f;
    return 0;
}
