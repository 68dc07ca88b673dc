/*
 * note: the upstream resolution note, byte for byte what patchelf 0.19.1 would write.
 *
 * Descriptor: { needed NUL list NUL }* NUL, pairs in byte order of the needed names. A list has an
 * element for each component of the run path, in order, joined by ':':
 *
 *	=DIR/NAME	the file is there and readable (every such directory, not only the first)
 *	?DIR		to be searched when the program starts: it has a token, is relative or empty,
 *			has an entry glibc-hwcaps, or is not a directory that can be searched now
 *	(nothing)	a directory that can be searched and does not have it
 *
 * A name with a slash has no pair, neither has one with an empty list; no pair at all: no note.
 */
#include "base/str.h"
#include "planner/strategy.h"

#include <stdlib.h>
#include <string.h>

enum directory_kind { DIR_SEARCHABLE, DIR_HINT };

static enum directory_kind classify(const struct subject *s, const char *component)
{
    struct place at;

    if (*component != '/' || strchr(component, '$'))
        return DIR_HINT;
    at = world_walk(s->world, NULL, component);
    if (at.error || at.node->kind != NODE_DIR)
        return DIR_HINT;
    if (world_walk(s->world, NULL, str_join(s->arena, component, "glibc-hwcaps")).error == 0)
        return DIR_HINT;
    /* a directory without search permission answers EACCES for what is in it */
    at = world_walk(s->world, NULL, str_join(s->arena, component, "."));
    return at.error ? DIR_HINT : DIR_SEARCHABLE;
}

static bool is_readable(const struct subject *s, const char *path)
{
    struct place at = world_walk(s->world, NULL, path);

    return at.error == 0 && world_readable(s->world, at.node);
}

/* The list of one name; NULL: it has none. */
static const char *make_list(const struct subject *s, const char *name, const char **component,
                             const enum directory_kind *kind, size_t n)
{
    struct str out = {.arena = s->arena};
    size_t i;

    for (i = 0; i < n; i++) {
        const char *path = arena_printf(s->arena, "%s/%s", component[i], name);

        if (kind[i] == DIR_HINT)
            str_printf(&out, "%s?%s", out.len ? ":" : "", component[i]);
        else if (is_readable(s, path))
            str_printf(&out, "%s=%s", out.len ? ":" : "", path);
    }
    return out.len ? out.text : NULL;
}

static int by_bytes(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

/* The needed names that are searched, in byte order, each once. */
static size_t sorted_names(const struct subject *s, const char ***ret_name)
{
    const struct object *object = s->object;
    const char **name = arena_calloc(s->arena, object->n_needs + 1, sizeof(*name));
    size_t i, n = 0, kept = 0;

    for (i = 0; i < object->n_needs; i++)
        if (object->need[i].kind == NEED_NEEDED && !strchr(object->need[i].name, '/'))
            name[n++] = object->need[i].name;
    if (n > 1)
        qsort(name, n, sizeof(*name), by_bytes);
    for (i = 0; i < n; i++)
        if (i == 0 || strcmp(name[i], name[kept - 1]) != 0)
            name[kept++] = name[i];
    *ret_name = name;
    return kept;
}

static int propose(const struct subject *s, enum scope scope UNUSED, struct edits *ret_edits,
                   const char **ret_why_not, struct err *err UNUSED)
{
    struct str out = {.arena = s->arena};
    const char **component, **name, *list;
    size_t n = run_path_split(s->arena, old_run_path(s), &component), i, n_names;
    enum directory_kind *kind = arena_calloc(s->arena, n + 1, sizeof(*kind));

    for (i = 0; i < n; i++)
        kind[i] = classify(s, component[i]);
    n_names = sorted_names(s, &name);
    for (i = 0; i < n_names; i++)
        if ((list = make_list(s, name[i], component, kind, n))) {
            str_add_n(&out, name[i], strlen(name[i]) + 1);
            str_add_n(&out, list, strlen(list) + 1);
        }
    if (out.len == 0) {
        *ret_why_not = "no needed name is found by its run path: a note would be empty";
        return 0;
    }
    str_add_n(&out, "", 1);
    edit_note(ret_edits, s->arena, s->path,
              (struct note){.bytes = (const unsigned char *)out.text, .size = (uint32_t)out.len});
    return 0;
}

const struct strategy strategy_note_own = {
    .name = "note",
    .scope = SCOPE_OWN,
    .summary = "the upstream resolution note: where each needed name was found",
    .needs = "a loader that reads resolution notes",
    .propose = propose,
};
