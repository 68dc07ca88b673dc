#include "cli/index.h"

#include "loader/world_index.h"

#include <errno.h>
#include <string.h>

int indexed_open(struct options *options, struct indexed *ret_indexed, struct err *err)
{
    const enum world_facts facts = options->declared ? WORLD_EVERYTHING : WORLD_STARTS;
    struct indexed indexed = {0};
    struct world *world;
    int r = db_open(options_db(options), DB_READ, &indexed.db, err);

    if (r == 0)
        r = world_index(indexed.db, facts, &world, err);
    if (r == 0)
        r = setting_index(options, world, &ret_indexed->setting, err);
    if (r < 0) {
        db_close(indexed.db);
        return r;
    }
    ret_indexed->db = indexed.db;
    return 0;
}

void indexed_release(struct indexed *indexed)
{
    setting_release(&indexed->setting);
    db_close(indexed->db);
    indexed->db = NULL;
}

int indexed_find(struct indexed *indexed, const char *arg, struct arena *arena,
                 const char ***ret_path, size_t *ret_n, struct err *err)
{
    const char **path;
    size_t n;
    int r;

    if (strchr(arg, '/')) {
        path = arena_alloc(arena, sizeof(*path));
        path[0] = arg;
        n = 1;
    } else {
        r = storm_find(indexed->db, indexed->setting.world, arg, arena, &path, &n, err);
        if (r < 0)
            return r;
    }
    if (n == 0)
        return err_set(err, ENOENT, "'%s': no program of that name in the index", arg);
    *ret_path = path;
    *ret_n = n;
    return 0;
}
