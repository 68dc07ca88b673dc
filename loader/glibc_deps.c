#include "loader/internal.h"

#include <string.h>

enum { INSERTED_MAX = 4096 }; /* more than any graph has filters that come to an end */

enum { V_FILTERED_HEAD = 32 }; /* before, the head of a work list must stay its head */

/* ---- one name asked for */

/* In any namespace but the program's, a file asked for under ld.so's name is ld.so itself. */
static bool is_self_elsewhere(const struct run *run, const struct space *space,
                              const struct name *name)
{
    if (space->is_base)
        return false;
    for (size_t i = 0; i < run->self->n_names; i++)
        if (run->self->name[i] == name)
            return true;
    return false;
}

/* A found image becomes an object: the same one by identity, or a new one. */
static struct answer map_image(struct run *run, const struct ask *ask, const struct name *name,
                               struct image *image)
{
    struct answer answer = {0};
    struct lib *lib = lib_same_file(run, ask->space, image->node);

    if (!lib) {
        const bool self = is_self_elsewhere(run, ask->space, name);

        if (!self && image->unusable)
            return (struct answer){.why = image->unusable};
        lib = lib_new(run, ask->space, image, ask->chain);
        lib->is_self = self;
        lib_name(run, ask->space, lib, image->path);
        answer.is_new = true;
    }
    if (answer.is_new)
        resolver_saw(run, image);
    lib_name(run, ask->space, lib, name);
    if (answer.is_new && image->soname)
        lib_name(run, ask->space, lib, image->soname);
    answer.lib = lib;
    return answer;
}

static enum request_result result_of(const struct found *found, const struct answer *answer)
{
    if (answer->why || found->fatal)
        return RESULT_BAD;
    if (!answer->lib)
        return RESULT_MISSING;
    return answer->is_new ? RESULT_FOUND : RESULT_SAME;
}

/*
 * The path that a name with a slash is opened by: tokens are the asker's; "" when one cannot be
 * told. The object stays known by the name as it was asked for.
 */
static const struct name *expanded(struct run *run, const struct lib *asker,
                                   const struct name *name)
{
    struct tokens tokens = {NULL, run->setup->profile.platform, run->setup->profile.lib};
    const char *path;

    if (!token_present(name->text))
        return name;
    if (asker->is_self)
        tokens.origin = glibc_self_origin(run);
    else
        tokens.origin = asker->is_main ? glibc_origin(run) : asker->image->origin;
    path = text_expand(run->loader, run->arena, name->text, run->setup, &tokens, asker->is_main);
    return path ? intern(run->names, path) : run->loader->empty;
}

struct answer ask_name(struct run *run, const struct ask *ask, const struct name *name)
{
    struct answer answer = {.lib = lib_known(run, ask->space, name)};
    const struct name *given;
    struct found found;

    run_ask(run, ask->kind, ask->shown, name->text);
    if (answer.lib) {
        lib_list(run, answer.lib, ask->shown);
        run_answer(run, RESULT_KNOWN, STAGE_DIRECT, answer.lib);
        return answer;
    }
    given = run->resolver ? resolver_path(run, ask->asker, name) : NULL;
    if (given)
        found = open_path(run, given, STAGE_NOTE, true);
    else if (strchr(name->text, '/'))
        found = open_path(run, expanded(run, ask->asker, name), STAGE_DIRECT, true);
    else
        found = search_name(run, ask->asker, name, ask->flags);
    if (found.fatal)
        answer.why = found.fatal;
    else if (found.image)
        answer = map_image(run, ask, given ? given : name, found.image);
    if (given && answer.is_new) /* a file known by another name does not get this one */
        lib_name(run, ask->space, answer.lib, name);
    if (answer.lib)
        lib_list(run, answer.lib, ask->shown);
    run_answer(run, result_of(&found, &answer), found.stage, answer.lib);
    return answer;
}

/* ---- the work list (docs/loader.md, 4 and 15) */

void work_append(struct run *run, struct worklist *list, struct lib *lib)
{
    struct work *w = arena_alloc(run->arena, sizeof(*w));

    w->lib = lib;
    lib->listed = list;
    if (list->tail)
        list->tail->next = w;
    else
        list->head = w;
    list->tail = w;
}

/* The list of loaded objects becomes `kept`; what is not in it is never seen again. */
static void space_keep(struct run *run, struct space *space, struct lib *const *kept, size_t n)
{
    space_forget_names(run, space);
    space->broken |= n < space->n;
    memcpy(space->lib, kept, n * sizeof(struct lib *));
    space->n = n;
    space_name(run, space);
}

/*
 * The list of loaded objects: take `lib` out and put it just before `before`. The loader does not
 * move the list's head along: it finds nothing before an old head, and from a head that has moved
 * only what follows its new place.
 */
static void space_move(struct run *run, struct space *space, struct lib *lib, struct lib *before)
{
    struct lib **kept = arena_alloc(run->arena, space->n * sizeof(struct lib *));
    size_t n = 0;

    for (size_t i = 0; i < space->n; i++) {
        struct lib *at = space->lib[i];

        if (at == before && space->lib[0] == lib)
            n = 0;
        if (at == before && i > 0)
            kept[n++] = lib;
        if (at != lib)
            kept[n++] = at;
    }
    space_keep(run, space, kept, n);
}

/*
 * A filtered object goes before the one that asks (`at`), which moves behind it. Returns the entry
 * that now holds the asking object; one that stands earlier in the list stays there.
 */
static struct work *work_insert(struct run *run, struct space *space, struct worklist *list,
                                struct work *at, struct lib *lib)
{
    struct work *late = at, *moved;

    if (lib->listed == list) {
        while (late->next && late->next->lib != lib)
            late = late->next;
        if (!late->next)
            return at;
        if (list->tail == late->next)
            list->tail = late;
        late->next = late->next->next;
    }
    moved = arena_memdup(run->arena, at, sizeof(*at));
    *at = (struct work){.lib = lib, .next = moved};
    lib->listed = list;
    if (list->tail == at)
        list->tail = moved;
    space_move(run, space, lib, moved->lib);
    return moved;
}

/* One line of a dynamic section. False: the whole request ends in an error. */
struct line {
    enum need_kind kind;
    const struct name *name; /* NULL: its token cannot be told */
};

static bool line_failed(struct run *run, const struct space *space, const struct line *line,
                        const struct answer *answer)
{
    if (answer->lib || line->kind == NEED_AUXILIARY || run->goes_on)
        return false;
    if (run->phase > 0 || !space->is_base)
        return true; /* only this dlopen or audit module fails */
    if (answer->why)
        run_exit(run, EXIT_BAD, "bad: %s: %s", line->name->text, answer->why);
    else
        run_exit(run, EXIT_MISSING, "missing: %s", line->name->text);
    return true;
}

static enum request_kind request_of(enum need_kind kind)
{
    static const enum request_kind kinds[] = {
        [NEED_NEEDED] = REQUEST_NEEDED,
        [NEED_AUXILIARY] = REQUEST_AUXILIARY,
        [NEED_FILTER] = REQUEST_FILTER,
    };

    return kinds[kind];
}

static struct line line_of(struct run *run, const struct lib *lib, size_t i)
{
    const struct need *need = &lib->image->object->need[i];
    struct line line = {.kind = need->kind};

    if (!lib->is_main) {
        line.name = lib->image->need[i];
    } else if (token_present(need->name)) {
        const struct tokens tokens = {glibc_origin(run), run->setup->profile.platform,
                                      run->setup->profile.lib};
        const char *text = token_expand(run->arena, need->name, &tokens);

        line.name = text ? intern(run->names, text) : NULL;
    } else {
        line.name = intern(run->names, need->name);
    }
    return line;
}

/* A line whose token ends the request: all of the start, or one dlopen, one audit module. */
static bool line_refused(struct run *run, const struct space *space, const char *text,
                         const char *why)
{
    if (run->phase == 0 && space->is_base)
        run_exit(run, EXIT_BAD, "bad: %s: %s", text, why);
    return false;
}

/* All lines of one object. `*at` is its entry, and moves when a filter is put before it. */
static bool work_object(struct run *run, struct space *space, struct worklist *list,
                        struct work *at, unsigned flags)
{
    struct lib *lib = at->lib;
    const struct object *object = lib->image ? lib->image->object : NULL;
    const size_t n = object && !lib->is_self ? object->n_needs : 0;

    for (size_t i = 0; i < n; i++) {
        const char *text = object->need[i].name;
        struct ask ask = {.space = space, .asker = lib, .chain = lib, .shown = lib, .flags = flags};
        struct answer answer;
        struct line line;

        if (run_too_large(run))
            return false;
        if (run->loader->secure && token_present(text))
            return line_refused(run, space, text, "a token is not allowed in a set-id program");
        line = line_of(run, lib, i);
        if (!line.name && line.kind == NEED_AUXILIARY) /* sic: not FILTER, see section 7 */
            return line_refused(run, space, text, "its token cannot be told");
        if (!line.name)
            continue;
        ask.kind = request_of(line.kind);
        answer = ask_name(run, &ask, line.name);
        if (line_failed(run, space, &line, &answer))
            return false;
        if (!answer.lib)
            continue;
        if (line.kind == NEED_NEEDED) {
            if (answer.lib->listed != list)
                work_append(run, list, answer.lib);
            continue;
        }
        at = work_insert(run, space, list, at, answer.lib);
        if (++list->n_inserted > INSERTED_MAX) {
            run_exit(run, EXIT_ABORT,
                     "abort: filters name each other: the loader's stack overflows");
            return false;
        }
    }
    return true;
}

/* Breadth-first from what is in the list. False: an error ended it. */
bool work_all(struct run *run, struct space *space, struct worklist *list, unsigned flags)
{
    const struct lib *root = list->head->lib;
    struct work *w = list->head;

    while (w) {
        w->done = true;
        if (!work_object(run, space, list, w, flags))
            return false;
        while (w && w->done) /* a filter puts an object that is not done in w's place */
            w = w->next;
    }
    if (list->head->lib != root && run->setup->profile.version < V_FILTERED_HEAD) {
        run_exit(run, EXIT_ABORT, "abort: glibc 2.31 asserts that nothing filters '%s'",
                 root->is_main ? run->trace->program : root->image->path->text);
        return false;
    }
    return true;
}
