/*
 * What an earlier call has done: a program that was edited as planned, and starts as promised.
 */
#include "base/str.h"
#include "planner/apply_internal.h"
#include "planner/plan_json.h"
#include "planner/promise.h"

#include <errno.h>
#include <string.h>

/* Has this edit been made? Paths are compared without hashes. */
static bool edit_is_done(const struct target *t, const struct edit *e, struct arena *arena)
{
    const struct policy *policy = t->policy;
    const struct plan_expect now = plan_expect_of(t->subject, arena);

    if (e->kind == EDIT_RUN_PATH)
        return str_same(hash_free(policy, arena, e->run_path), now.run_path);
    if (e->kind != EDIT_NEEDED)
        return e->kind == EDIT_FARM || e->kind == EDIT_VERNEED;
    if (e->n_needed != now.n_needed)
        return false;
    for (size_t i = 0; i < e->n_needed; i++)
        if (strcmp(hash_free(policy, arena, e->needed[i]), now.needed[i]) != 0)
            return false;
    return true;
}

bool edits_agree(const struct edits *a, const struct edits *b, const struct policy *policy,
                 struct arena *arena)
{
    json_t *x = edits_json(a, policy, arena), *y = edits_json(b, policy, arena);
    const bool same = json_equal(x, y);

    json_decref(x);
    json_decref(y);
    return same;
}

/* Notes leave needed list and run path as they were: are they there, and do they say the same? */
static bool notes_are_done(const struct target *t, struct arena *arena)
{
    const struct edits *edits = &t->object->edits;
    const struct object *now = t->subject->object;
    struct edits found = {.n = edits->n};

    found.item = arena_memdup(arena, edits->item, edits->n * sizeof(*edits->item));
    for (size_t i = 0; i < found.n; i++) {
        struct edit *e = &found.item[i];

        if (e->kind == EDIT_NOTE) {
            e->note = now->resolution;
        } else if (e->kind == EDIT_CLOSURE) {
            e->note = now->closure;
            e->audit = now->audit ? now->audit : "";
        } else {
            return false;
        }
        if (e->note.size == 0)
            return false;
    }
    return found.n > 0 && edits_agree(&found, edits, t->policy, arena);
}

bool edits_are_done(const struct target *t, struct arena *arena)
{
    const struct edits *edits = &t->object->edits;

    if (!edits_find(edits, EDIT_NEEDED, NULL) && !edits_find(edits, EDIT_RUN_PATH, NULL))
        return notes_are_done(t, arena);
    for (size_t i = 0; i < edits->n; i++)
        if (!edit_is_done(t, &edits->item[i], arena))
            return false;
    return true;
}

const struct storm *promised(const struct target *t, struct arena *arena)
{
    const struct plan_option *chosen = plan_chosen(t->object);
    struct storm *after = arena_calloc(arena, MAX_LEVELS, sizeof(*after));

    for (size_t i = 0; i < t->subject->n_levels; i++) {
        const struct plan_level *level = plan_level(chosen, t->subject->level[i].cpu.name);

        if (!level)
            return NULL;
        after[i] = level->after;
    }
    return after;
}

int check_done(struct target *t, struct arena *arena, struct err *err)
{
    const struct subject *s = t->subject;
    const struct plan_level *level =
        plan_level(plan_chosen(t->object), s->level[s->policy_level].cpu.name);
    const struct storm *after = promised(t, arena);

    for (size_t i = 0; i < s->n_levels; i++) {
        const struct trace *trace = &s->level[i].trace;

        if (trace->exit != EXIT_OK)
            return err_set(err, EIO, "'%s' was edited before, and does not start: %s", s->path,
                           trace->exit_text);
        if (edits_find(&t->object->edits, EDIT_NOTE, NULL) && !trace->profile.reader)
            continue; /* planned for a loader that reads notes */
        if (!after || !promise_kept(trace, &after[i]))
            return err_set(err, EIO,
                           "'%s' was edited before, and does not start as planned: %u failed opens "
                           "and %u failed stats on %s",
                           s->path, trace->storm.failed_opens, trace->storm.failed_stats,
                           s->level[i].cpu.name);
    }
    t->applied.state = APPLIED_DONE;
    t->applied.before = level ? level->before : s->trace->storm;
    t->applied.after = s->trace->storm;
    return 0;
}
