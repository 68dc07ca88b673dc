#include "base/str.h"
#include "planner/apply_internal.h"

#include <string.h>
#include <unistd.h>

static const char *const names[] = {
    [APPLIED_EDITED] = "edited",
    [APPLIED_DONE] = "done",
    [APPLIED_NOTHING] = "nothing-to-do",
    [APPLIED_SKIPPED] = "skipped",
};

const char *applied_name(enum applied_state state)
{
    return names[state];
}

/* Names that a call which was killed left behind. */
static void sweep(struct apply *apply)
{
    for (size_t i = 0; i < apply->n_targets; i++) {
        const struct target *t = &apply->target[i];
        const char *disk, *temp;

        if (!t->subject)
            continue;
        disk = disk_path(apply, t, t->subject->path);
        temp = arena_printf(apply->arena, "%.*s.%s.stormlint", (int)(str_base(disk) - disk), disk,
                            str_base(disk));
        (void)unlink(temp);
        (void)unlink(arena_printf(apply->arena, "%s-old", temp));
    }
}

static int prepare(struct apply *apply, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < apply->n_targets && r == 0; i++) {
        struct target *t = &apply->target[i];

        if (t->edits.n == 0)
            continue;
        r = copy_prepare(apply, t, err);
        if (r == 0)
            r = prove_copy(t, err);
    }
    return r;
}

static int make_farms(struct apply *apply, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < apply->n_targets && r == 0; i++) {
        const struct target *t = &apply->target[i];

        for (size_t k = 0; k < t->edits.n && r == 0; k++)
            if (t->edits.item[k].kind == EDIT_FARM)
                r = farm_make(apply, t, &t->edits.item[k], err);
    }
    return r;
}

static int exchange_all(struct apply *apply, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < apply->n_targets && r == 0; i++)
        if (apply->target[i].edits.n)
            r = files_exchange(apply, &apply->target[i], err);
    return r;
}

/* Everything once more, as it is now: also what was done by an earlier call. */
static int prove_all(struct apply *apply, struct err *err)
{
    CLEANUP(world_closep) struct world *now = NULL;
    int r = world_live(apply->options->root, apply->world->uid, apply->world->gid, &now, err);

    for (size_t i = 0; i < apply->n_targets && r == 0; i++) {
        struct target *t = &apply->target[i];

        if (t->edits.n == 0)
            continue;
        if (!apply->options->copies)
            r = prove_final(t, now, err);
        t->applied.state = APPLIED_EDITED;
        t->applied.before = t->subject->trace->storm;
        t->applied.after = t->after[t->subject->policy_level];
    }
    return r;
}

static int carry_out(struct apply *apply, struct err *err)
{
    int r = prepare(apply, err);

    if (r == 0)
        r = make_farms(apply, err);
    if (r == 0)
        r = exchange_all(apply, err);
    return r == 0 ? prove_all(apply, err) : r;
}

/* Everything as it was, for an error; that is told, and whether something could not be put back. */
static int put_back(struct apply *apply, int error, struct err *err)
{
    struct err undone;

    if (files_undo(apply, &undone) < 0)
        return err_set(err, -error, "%.600s; and then %.400s",
                       arena_strdup(apply->arena, err->text), undone.text);
    return error;
}

int apply_plans(const struct plan *plan, size_t n_plans, const struct apply_options *options,
                struct arena *arena, struct apply_result *ret_result, struct err *err)
{
    struct apply apply = {.options = options, .arena = arena};
    struct apply_result result = {0};
    int r = world_live(options->root, getuid(), getgid(), &apply.world, err);

    if (r == 0)
        r = files_lock(&apply, err);
    for (size_t i = 0; i < n_plans && r == 0; i++)
        r = resolve_plan(&apply, &plan[i], err);
    if (r == 0) {
        sweep(&apply);
        r = carry_out(&apply, err);
    }
    if (r < 0)
        r = put_back(&apply, r, err);
    else
        files_finish(&apply);
    files_unlock(&apply);
    result.item = arena_calloc(arena, apply.n_targets + 1, sizeof(*result.item));
    for (size_t i = 0; i < apply.n_targets; i++) {
        result.item[result.n++] = apply.target[i].applied;
        if (apply.target[i].subject)
            subject_release(apply.target[i].subject);
    }
    result.n_links = apply.n_links;
    world_close(apply.world);
    if (r == 0)
        *ret_result = result;
    return r;
}
