/* Readers of the index that forget, and starts over their worlds. */
#include "planner/plugins.h"
#include "planner/simulate.h"
#include "planner/whole_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * So many packages are seen before a world forgets. What all of them need is read again then, which
 * costs less than a hundredth of planning them.
 */
enum { PACKAGES_SEEN = 1000 };

/* ---- readers */

struct whole_reader *whole_reader_open(const char *db)
{
    struct whole_reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        abort();
    if (db_open(db, DB_READ, &reader->db, &reader->err) == 0)
        (void)!world_index(reader->db, WORLD_EVERYTHING, &reader->world, &reader->err);
    return reader;
}

void whole_reader_close(struct whole_reader *reader)
{
    if (!reader)
        return;
    world_close(reader->world);
    db_close(reader->db);
    free(reader);
}

void whole_reader_closep(struct whole_reader **reader)
{
    whole_reader_close(*reader);
}

int whole_reader_next(struct whole_reader *reader, size_t n, struct err *err)
{
    int r;

    if (!reader->world)
        return err_set(err, EIO, "%s", reader->err.text);
    if (reader->n_seen && reader->n_seen + n > PACKAGES_SEEN) {
        if ((r = world_index_anew(&reader->world, err)) < 0)
            return r;
        reader->n_seen = 0;
    }
    reader->n_seen += n;
    return 0;
}

/* ---- starts */

static int add_reader(struct whole_starts *starts, const char *path, struct err *err)
{
    const struct object *object;
    struct place at;

    if (!starts->facts || starts->policy->reader == READER_NONE)
        return 0;
    at = world_walk(starts->world, NULL, path);
    object = at.error ? NULL : world_object(starts->world, at.node);
    return object ? reader_lay(starts->world, object->interp, starts->policy->reader, starts->facts,
                               err)
                  : 0;
}

struct start whole_start_of(const struct policy *policy, struct world *world, const char *path,
                            struct arena *arena)
{
    struct start start = {.program = path, .declared = true};
    struct dlopen_call *dlopen;

    plugins_find(policy, world, policy_package(policy, arena, path), arena, &dlopen,
                 &start.n_dlopens);
    start.dlopens = dlopen;
    return start;
}

int whole_start(struct whole_starts *starts, const char *cpu, const char *path,
                struct storm *ret_storm, struct storm *ret_dlopen, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const struct start start = whole_start_of(starts->policy, starts->world, path, &scratch);
    struct trace trace;
    int r = 0;

    if (!starts->loader || strcmp(starts->cpu.name, cpu) != 0) {
        whole_starts_release(starts);
        if ((r = cpu_find(cpu, &starts->cpu, err)) < 0)
            return r;
        starts->loader = loader_new(starts->world, &starts->cpu, "/", false);
    }
    if ((r = add_reader(starts, path, err)) < 0 ||
        (r = loader_run(starts->loader, &start, &scratch, &trace, err)) < 0)
        return r;
    *ret_storm = trace.storm;
    *ret_dlopen = trace.dlopen;
    return 0;
}

void whole_starts_release(struct whole_starts *starts)
{
    loader_free(starts->loader);
    starts->loader = NULL;
}

int whole_lay(const struct whole_package *package, struct world *overlay, struct arena *arena,
              struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < package->n_edited && r == 0; i++)
        r = edits_apply(&package->edited[i].edits, overlay, arena, err);
    return r;
}

int whole_start_own(struct whole_package *package, struct world *world, const struct policy *policy,
                    struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(world_closep) struct world *overlay = world_overlay(world);
    CLEANUP(whole_starts_release)
    struct whole_starts starts = {.world = overlay, .policy = policy, .facts = &arena};
    int r = whole_lay(package, overlay, &arena, err);

    for (size_t i = 0; i < package->n_programs && r == 0; i++) {
        struct whole_program *w = &package->program[i];

        r = whole_start(&starts, w->cpu, w->path, &w->own, &w->own_dlopen, err);
    }
    return r;
}
