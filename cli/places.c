#include "cli/places.h"

#include "loader/world_index.h"

#include <errno.h>
#include <string.h>

int places_live(struct places *places, struct err *err)
{
    return places->live.world ? 0 : setting_live(places->options, &places->live, err);
}

int places_index(struct places *places, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct options *o = places->options;
    struct world *world;
    int r;

    if (places->index.world)
        return 0;
    r = places->db ? 0 : db_open(options_db(o, &arena), DB_READ, &places->db, err);
    if (r == 0)
        r = world_index(places->db,
                        places->everything || o->declared ? WORLD_EVERYTHING : WORLD_STARTS, &world,
                        err);
    return r < 0 ? r : setting_index(o, world, &places->index, err);
}

void places_release(struct places *places)
{
    setting_release(&places->live);
    setting_release(&places->index);
    db_close(places->db);
    places->db = NULL;
}

int places_find(struct places *places, const char *arg, struct arena *arena,
                struct found *ret_found, struct err *err)
{
    const bool live = options_is_live(places->options, arg);
    struct found found = {.setting = live ? &places->live : &places->index, .n = 1};
    int r = live ? places_live(places, err) : places_index(places, err);

    if (r == 0 && strchr(arg, '/')) {
        found.path = arena_alloc(arena, sizeof(*found.path));
        found.path[0] = arg;
    } else if (r == 0) {
        r = storm_find(places->db, places->index.world, arg, arena, &found.path, &found.n, err);
        if (r == 0 && found.n == 0)
            r = err_set(err, ENOENT, "'%s': no program of that name in the index", arg);
    }
    if (r == 0)
        *ret_found = found;
    return r;
}

struct subject_query places_query(const struct places *places, const struct setting *setting,
                                  const struct policy *policy)
{
    const struct options *o = places->options;

    return (struct subject_query){.world = setting->world,
                                  .policy = policy,
                                  .cpu = o->cpu,
                                  .cwd = setting->cwd,
                                  .env = o->env,
                                  .n_env = o->n_env};
}
