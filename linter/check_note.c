/*
 * Resolution notes (docs/loader.md, section 17).
 */
#include "linter/check.h"

/* One pair of a note. */
struct pair {
    const char *name, *list;
};

struct pairs {
    struct pair *item;
    size_t n;
    const char *problem; /* why the rest cannot be read; NULL: all is well */
};

/* Every item of a list starts with '=' (a path) or '?' (a directory). */
static const char *list_problem(struct check *check, const char *list)
{
    while (*list) {
        const size_t len = strcspn(list, ":");

        if (*list != '=' && *list != '?')
            return arena_printf(check->arena, "'%s' starts with neither '=' nor '?'",
                                shown(check, arena_strndup(check->arena, list, len)));
        if (*list == '=' && len == 1)
            return "an exact answer is empty";
        list += len + (list[len] == ':');
    }
    return NULL;
}

static struct pairs read_pairs(struct check *check, const struct note *note)
{
    const char *at = (const char *)note->bytes, *end = at + note->size;
    struct pairs pairs = {0};

    if (note->size < 2 || end[-1] != '\0' || end[-2] != '\0') {
        pairs.problem = "it does not end in two zero bytes";
        return pairs;
    }
    while (at < end - 1 && *at) {
        struct pair pair = {.name = at, .list = at + strlen(at) + 1};

        if (pair.list >= end - 1) {
            pairs.problem = "a name has no list";
            return pairs;
        }
        if (!pairs.problem)
            pairs.problem = list_problem(check, pair.list);
        pairs.item = arena_grow(check->arena, pairs.item, pairs.n, sizeof(*pairs.item));
        pairs.item[pairs.n++] = pair;
        at = pair.list + strlen(pair.list) + 1;
    }
    if (!pairs.problem && at + 1 < end - (note->size == 2))
        pairs.problem = "bytes follow its end";
    return pairs;
}

void check_note_malformed(struct check *check)
{
    static const struct {
        unsigned bit;
        const char *subject, *why;
    } rows[] = {
        {LAYOUT_NOTE_UNSEEN, "segment",
         "its note is in a section that no PT_NOTE covers: loaders do not see it"},
        {LAYOUT_NOTE_ODD, "owner",
         "its note has another owner, type or size than readers look for"},
    };
    const struct object *o = check->object->object;
    const struct pairs pairs =
        o->resolution.bytes ? read_pairs(check, &o->resolution) : (struct pairs){0};
    const char *problem = pairs.problem;

    if (!problem && o->problem && strstr(o->problem, " note "))
        problem = o->problem;
    if (problem)
        report_object(check, check->object, NULL, "its note: %s", shown(check, problem));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (o->layout & rows[i].bit)
            report_object(check, check->object, rows[i].subject, "%s", rows[i].why);
    if (closure_note_problem(o))
        report_object(check, check->object, "closure", "%s", closure_note_problem(o));
}

/* ---- stale */

/* Direct answers of an object in `world`, by itself; false: it cannot be asked. */
static bool answers_in(struct check *check, struct world *world, const char *ldso,
                       struct node **ret_answer)
{
    const struct lint_object *o = check->object;
    const struct start start = start_as_ldd(world, ldso, o->path, check->arena);
    struct loader *loader = loader_new(world, lint_cpu(check->lint), lint_cwd(check->lint), false);
    struct trace trace = {0};
    struct err err;
    int self = -1;
    size_t k = 0;

    if (loader_run(loader, &start, check->arena, &trace, &err) == 0)
        for (size_t i = 0; i < trace.n_loaded && self < 0; i++)
            if (str_same(trace.loaded[i].path, o->path))
                self = (int)i;
    for (size_t i = 0; self >= 0 && i < trace.n_requests && k < o->object->n_needs; i++)
        if (trace.request[i].asker == self && trace.request[i].kind <= REQUEST_FILTER) {
            const int answer = trace.request[i].answer;

            ret_answer[k++] = answer >= 0 ? trace.loaded[answer].node : NULL;
        }
    loader_free(loader);
    return self >= 0;
}

/* The object without its note, or its loader as one that reads notes, laid over the world. */
static struct world *altered(struct check *check, const char *ldso, bool without_note)
{
    struct world *world = world_overlay(check->closure->world);
    const struct place at = world_walk(check->closure->world, NULL, ldso);
    const struct object *loader = at.error ? NULL : world_object(check->closure->world, at.node);
    struct err err;
    int r = 0;

    if (without_note) {
        struct object *bare =
            arena_memdup(check->arena, check->object->object, sizeof(struct object));

        bare->resolution = (struct note){0};
        r = overlay_object(world, check->object->path, bare, &err);
    } else if (loader && loader->ldso && loader->ldso->reads_note == READER_NONE) {
        struct object *reading = arena_memdup(check->arena, loader, sizeof(*loader));
        struct ldso *reader = arena_memdup(check->arena, loader->ldso, sizeof(*loader->ldso));

        reader->reads_note = READER_A;
        reading->ldso = reader;
        r = overlay_object(world, ldso, reading, &err);
    }
    if (r < 0) {
        world_close(world);
        return NULL;
    }
    return world;
}

void check_note_stale(struct check *check)
{
    const struct lint_object *o = check->object;
    const size_t n = o->object->n_needs;
    struct node **with, **without;
    struct world *reading, *bare;

    closure_note_stale(check);
    if (!o->object->resolution.bytes || !o->loader || n == 0)
        return;
    with = arena_calloc(check->arena, n, sizeof(struct node *));
    without = arena_calloc(check->arena, n, sizeof(struct node *));
    reading = altered(check, o->loader, false);
    bare = altered(check, o->loader, true);
    if (reading && bare && answers_in(check, reading, o->loader, with) &&
        answers_in(check, bare, o->loader, without))
        for (size_t i = 0; i < n; i++) {
            const char *a = with[i] ? world_path(check->arena, with[i]) : "nowhere";
            const char *b = without[i] ? world_path(check->arena, without[i]) : "nowhere";
            struct finding *f;

            if (!strcmp(a, b))
                continue;
            f = report_object(check, o, shown(check, o->object->need[i].name),
                              "its note finds %s at '%s', its run path at '%s'",
                              shown(check, o->object->need[i].name), shown(check, a),
                              shown(check, b));
            evidence(check, f, "by the note: %s", a);
            evidence(check, f, "by the run path: %s", b);
        }
    world_closep(&reading);
    world_closep(&bare);
}

/* ---- past directories that may change */

enum { NOTE_BYTES_MAX = 64 << 20 }; /* of a note, once for each directory */

/* Why what the directory holds is not fixed at build time; NULL: it is. */
static const char *may_change(struct check *check, const struct component *c)
{
    struct component caps = *c;

    if (strchr(c->text, '$'))
        return "depends on where the object is opened";
    if (*c->text != '/')
        return "is relative";
    if (!closure_in_store(check->closure, c->text))
        return "is outside the store";
    if (c->at.error || c->at.node->kind != NODE_DIR)
        return NULL;
    caps.at = world_walk(check->closure->world, c->at.node, "glibc-hwcaps");
    return caps.at.error ? NULL : "has builds for some CPUs";
}

/* Does the list name the directory as a hint before its first exact answer? */
static bool is_hinted(const char *list, const char *dir)
{
    const size_t dir_len = strlen(dir);

    while (*list == '?') {
        const size_t len = strcspn(list, ":");

        if (len == dir_len + 1 && !strncmp(list + 1, dir, dir_len))
            return true;
        list += len + (list[len] == ':');
    }
    return false;
}

/* The first exact answer's directory; NULL: it has none. */
static const char *exact_directory(struct check *check, const char *list)
{
    while (*list && *list != '=')
        list += strcspn(list, ":") + (list[strcspn(list, ":")] == ':');
    if (!*list)
        return NULL;
    list = arena_strndup(check->arena, list + 1, strcspn(list + 1, ":"));
    return arena_strndup(check->arena, list, (size_t)(str_base(list) - list));
}

void check_note_bypasses_runtime_dir(struct check *check)
{
    const struct note *note = &check->object->object->resolution;
    const struct pairs pairs = note->bytes ? read_pairs(check, note) : (struct pairs){0};
    const char **why;

    if (pairs.n == 0)
        return;
    /* every directory is looked for in every list */
    if (!pairs.problem && check->n_components > NOTE_BYTES_MAX / (note->size + 1)) {
        report_object(
            check, check->object, NULL,
            "not asked: a note of %u bytes about %zu run path directories is more than is "
            "looked through",
            note->size, check->n_components);
        return;
    }
    why = arena_calloc(check->arena, check->n_components + 1, sizeof(*why));
    for (size_t k = 0; k < check->n_components; k++)
        why[k] = may_change(check, &check->component[k]);
    for (size_t i = 0; i < pairs.n && !pairs.problem; i++) {
        const char *exact = exact_directory(check, pairs.item[i].list);

        for (size_t k = 0; k < check->n_components && exact; k++) {
            const struct component *c = &check->component[k];
            const size_t len = strlen(c->expanded);

            if (!strncmp(exact, c->expanded, len) && !strcmp(exact + len, "/"))
                break; /* the answer is in this one: what follows does not matter */
            if (why[k] && !is_hinted(pairs.item[i].list, c->text)) {
                report_object(check, check->object, shown(check, pairs.item[i].name),
                              "the answer for %s goes past '%s', which %s",
                              shown(check, pairs.item[i].name), shown(check, c->text), why[k]);
                break;
            }
        }
    }
}

void check_note_without_reader(struct check *check)
{
    const struct lint_object *o = check->object;
    const struct place at =
        o->loader ? world_walk(check->closure->world, NULL, o->loader) : (struct place){.error = 2};
    const struct object *ldso = at.error ? NULL : world_object(check->closure->world, at.node);

    closure_note_without_reader(check);
    if (o->object->resolution.bytes && ldso && ldso->ldso &&
        ldso->ldso->reads_note == READER_NONE && !has_resolver(check, o->object))
        report_object(check, o, NULL, "it has a resolution note, which '%s' does not read",
                      shown(check, o->loader));
}
