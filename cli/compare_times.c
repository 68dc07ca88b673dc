#include "cli/compare_times.h"

#include <errno.h>

enum { MAX_TIMES_BYTES = 16 * 1024 * 1024 };

static void add_time(struct check_times *times, struct arena *arena, const json_t *timed)
{
    const char *program = json_string_value(json_object_get(timed, "program"));
    const json_t *wall = json_object_get(timed, "wall_us");

    if (!program || !json_is_number(wall))
        return;
    times->program = arena_grow(arena, times->program, times->n, sizeof(*times->program));
    times->wall_us = arena_grow(arena, times->wall_us, times->n, sizeof(*times->wall_us));
    times->program[times->n] = arena_strdup(arena, program);
    times->wall_us[times->n++] = json_number_value(wall);
}

int check_times_read(const char *path, struct arena *arena, struct check_times *ret,
                     struct err *err)
{
    struct check_times times = {0};
    json_t *root, *program, *time;
    size_t i;
    int r = json_read_file(path, MAX_TIMES_BYTES, &root, err);

    if (r < 0)
        return r;
    json_array_foreach (json_object_get(root, "programs"), i, program) {
        time = json_object_get(program, "time");
        add_time(&times, arena, json_object_get(time, "edited"));
        add_time(&times, arena, json_object_get(time, "unedited"));
        if (!times.runs)
            times.runs = (unsigned)json_integer_value(json_object_get(time, "runs"));
    }
    json_decref(root);
    if (times.n == 0)
        return err_set(err, EINVAL,
                       "'%s': no times in it; 'stormlint check --time N --json' writes them", path);
    *ret = times;
    return 0;
}

double check_times_of(const struct check_times *times, struct world *world, const char *path)
{
    const struct place at = world_walk(world, NULL, path);
    size_t i;

    for (i = 0; i < times->n && !at.error; i++) {
        const struct place is = world_walk(world, NULL, times->program[i]);

        if (!is.error && is.node->dev == at.node->dev && is.node->ino == at.node->ino)
            return times->wall_us[i];
    }
    return -1;
}
