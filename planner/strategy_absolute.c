/*
 * absolute: needed names become the paths they were opened by.
 *
 *	own      what the program itself needs
 *	lifted   the whole start-up closure, in load order
 *
 * The path is the string the loader composed, not the file's path without links: it becomes the
 * library's name in memory, its $ORIGIN and dladdr()'s answer. The loader keeps its bare name,
 * which is known before anything is searched. File names among the wanted versions go with it.
 */
#include "planner/strategy.h"

#include <string.h>

static void add_rename(struct arena *arena, struct rename **rename, size_t *n, const char *from,
                       const char *to)
{
    *rename = arena_grow(arena, *rename, *n, sizeof(**rename));
    (*rename)[(*n)++] = (struct rename){from, to};
}

/* Only names that the program's own versions mention need to be renamed. */
static bool is_mentioned(const struct object *object, const char *file)
{
    size_t i;

    for (i = 0; i < object->n_verneed; i++)
        if (object->verneed[i].file && !strcmp(object->verneed[i].file, file))
            return true;
    return false;
}

static int propose(const struct subject *s, enum scope scope, struct edits *ret_edits,
                   const char **ret_why_not)
{
    struct wanted *wanted;
    size_t n = wanted_list(s, scope, &wanted), i, n_renames = 0, n_paths = 0;
    const char **needed = arena_calloc(s->arena, n + 1, sizeof(*needed));
    struct rename *rename = NULL;

    *ret_edits = (struct edits){0};
    for (i = 0; i < n; i++) {
        bool bare = !wanted[i].opened || strchr(wanted[i].name, '/');

        needed[i] = bare ? wanted[i].name : wanted[i].opened;
        if (bare)
            continue;
        n_paths++;
        if (is_mentioned(s->object, wanted[i].name))
            add_rename(s->arena, &rename, &n_renames, wanted[i].name, needed[i]);
    }
    if (n_paths == 0) {
        *ret_why_not = "no needed name was found by a search";
        return 0;
    }
    edit_needed(ret_edits, s->arena, s->path, needed, n);
    if (n_renames)
        edit_verneed(ret_edits, s->arena, s->path, rename, n_renames);
    return 0;
}

static int propose_own(const struct subject *subject, struct edits *ret_edits,
                       const char **ret_why_not, struct err *err)
{
    (void)err;
    return propose(subject, SCOPE_OWN, ret_edits, ret_why_not);
}

static int propose_lifted(const struct subject *subject, struct edits *ret_edits,
                          const char **ret_why_not, struct err *err)
{
    (void)err;
    return propose(subject, SCOPE_LIFTED, ret_edits, ret_why_not);
}

const struct strategy strategy_absolute_own = {
    .name = "absolute",
    .scope = SCOPE_OWN,
    .summary = "what it needs itself is named by absolute path",
    .propose = propose_own,
};

const struct strategy strategy_absolute_lifted = {
    .name = "absolute",
    .scope = SCOPE_LIFTED,
    .summary = "its whole start-up closure is named by absolute path",
    .propose = propose_lifted,
};
