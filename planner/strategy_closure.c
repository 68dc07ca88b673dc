/*
 * note, scope closure: one note on the program, for all that its start and its plugins ask for, and
 * DT_AUDIT, which names the resolver that reads it. Needed names and libraries stay as they are
 * (docs/closure-note.md).
 */
#include "base/str.h"
#include "planner/closure.h"
#include "planner/strategy.h"

#include <string.h>

static bool is_same(const struct note *a, const struct note *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static int propose(const struct subject *s, enum scope scope UNUSED, struct edits *ret_edits,
                   const char **ret_why_not, struct err *err)
{
    const struct note *old = &s->object->closure;
    struct closure_made made;
    int r;

    if (!s->policy->resolver) {
        *ret_why_not = "the policy names no resolver";
        return 0;
    }
    r = closure_make(s, &made, err);
    if (r < 0)
        return r;
    if (!made.note.bytes)
        *ret_why_not =
            made.n_left_out
                ? arena_printf(s->arena, "a note could answer nothing: %s asks %s, but %s",
                               made.left_out[0].requester, made.left_out[0].name,
                               made.left_out[0].why)
                : "nothing is searched: a note would be empty";
    else if (old->bytes && is_same(old, &made.note) &&
             str_same(s->object->audit, s->policy->resolver))
        *ret_why_not = "it has this very note already";
    else if (old->bytes && !s->policy->renew)
        *ret_why_not = "it has a closure note that says something else: renew it, or start from "
                       "the program as it was built";
    else
        edit_closure(ret_edits, s->arena, s->path, made.note, s->policy->resolver);
    return 0;
}

const struct strategy strategy_note_closure = {
    .name = "note",
    .scope = SCOPE_CLOSURE,
    .summary = "one note on the program for its whole start, read by an audit module",
    .needs = "the resolver, an audit module",
    .propose = propose,
};
