/*
 * absolute: needed names become the paths they were opened by.
 *
 *	own      what the program itself needs
 *	lifted   the whole start-up closure, in load order
 *
 * The path is the string the loader composed, not the file's path without links: it becomes the
 * library's name in memory, its $ORIGIN and dladdr()'s answer. The loader keeps its bare name,
 * which is known before anything is searched. File names among the wanted versions go with it.
 * Names that a rule leaves bare (libc's family, libraries that hosts replace) are searched as
 * before; their directories must then be in the run path.
 */
#include "base/str.h"
#include "planner/rules.h"

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

/*
 * The run path as built, behind the directories of names that stay bare: what is searched should
 * be found at once. NULL: no name stays bare.
 */
static const char *with_directories(const struct subject *s, const struct wanted *wanted, size_t n,
                                    enum method method)
{
    const char *old = old_run_path(s), *directory, **component;
    struct str out = {.arena = s->arena};
    size_t n_old, i, k;

    str_add(&out, "");
    for (i = 0; i < n; i++) {
        if (!wanted[i].opened || strchr(wanted[i].name, '/') ||
            !ruling_bare(s, wanted[i].name, method))
            continue;
        directory = opened_directory(s->arena, s->trace, wanted[i].opened);
        n_old = run_path_split(s->arena, out.text, &component);
        for (k = 0; k < n_old && strcmp(component[k], directory) != 0; k++)
            ;
        if (k == n_old)
            str_printf(&out, "%s:", directory);
    }
    if (!out.len)
        return NULL;
    str_add(&out, old);
    if (!*old)
        out.text[out.len - 1] = '\0'; /* no empty component: it would be the working directory */
    return out.text;
}

static int propose(const struct subject *s, enum scope scope, struct edits *ret_edits,
                   const char **ret_why_not, struct err *err UNUSED)
{
    const enum method method = scope == SCOPE_OWN ? METHOD_ABSOLUTE_OWN : METHOD_ABSOLUTE_LIFTED;
    struct wanted *wanted;
    size_t n = wanted_list(s, scope, &wanted), i, n_renames = 0, n_paths = 0;
    const char **needed = arena_calloc(s->arena, n + 1, sizeof(*needed));
    struct rename *rename = NULL;
    const char *run_path;

    for (i = 0; i < n; i++) {
        bool bare = !wanted[i].opened || strchr(wanted[i].name, '/') ||
                    ruling_bare(s, wanted[i].name, method);

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
    if ((run_path = with_directories(s, wanted, n, method)))
        edit_run_path(ret_edits, s->arena, s->path, run_path);
    return 0;
}

const struct strategy strategy_absolute_own = {
    .name = "absolute",
    .scope = SCOPE_OWN,
    .summary = "what it needs itself is named by absolute path",
    .propose = propose,
};

const struct strategy strategy_absolute_lifted = {
    .name = "absolute",
    .scope = SCOPE_LIFTED,
    .summary = "its whole start-up closure is named by absolute path",
    .propose = propose,
};
