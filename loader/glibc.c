#include "loader/internal.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum {
    V_FILTER_DLOPEN = 32, /* 2.31 aborts when a filter finds its object ahead of itself */
    V_NO_SUID_DEBUG = 39, /* /etc/suid-debug is no longer asked for */
    PRELOAD_FILE_MAX = 1024 * 1024,
};

/* ---- one name asked for */

/* What became of one request; `lib` is set when it was answered. */
struct answer {
    struct lib *lib;
    bool is_new;
    const char *why; /* NULL, or why what was found cannot be used */
};

struct ask {
    enum request_kind kind;
    struct space *space;
    struct lib *asker;       /* whose paths are searched */
    struct lib *chain;       /* what the new object's loader is */
    const struct lib *shown; /* who is said to have asked; NULL: nobody */
    unsigned flags;          /* enum search_flags */
};

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
    struct lib *lib = lib_same_file(ask->space, image->node);

    if (!lib) {
        const bool self = is_self_elsewhere(run, ask->space, name);

        if (!self && image->unusable)
            return (struct answer){.why = image->unusable};
        lib = lib_new(run, ask->space, image, ask->chain);
        lib->is_self = self;
        lib_name(run, ask->space, lib, image->path);
        answer.is_new = true;
    }
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

/* docs/loader.md, 3: known by name, else searched, else the same file, else a new object. */
static struct answer ask_name(struct run *run, const struct ask *ask, const struct name *name)
{
    struct answer answer = {.lib = lib_known(run, ask->space, name)};
    struct found found;

    run_ask(run, ask->kind, ask->shown, name->text);
    if (answer.lib) {
        lib_list(run, answer.lib, ask->shown);
        run_answer(run, RESULT_KNOWN, STAGE_DIRECT, answer.lib);
        return answer;
    }
    if (strchr(name->text, '/'))
        found = open_path(run, name, STAGE_DIRECT, true);
    else
        found = search_name(run, ask->asker, name, ask->flags);
    if (found.fatal)
        answer.why = found.fatal;
    else if (found.image)
        answer = map_image(run, ask, name, found.image);
    if (answer.lib)
        lib_list(run, answer.lib, ask->shown);
    run_answer(run, result_of(&found, &answer), found.stage, answer.lib);
    return answer;
}

/* ---- the work list (docs/loader.md, 4 and 15) */

struct work {
    struct lib *lib;
    bool done;
    struct work *next;
};

struct worklist {
    struct work *head, *tail;
};

static struct work *work_find(const struct worklist *list, const struct lib *lib)
{
    for (struct work *w = list->head; w; w = w->next)
        if (w->lib == lib)
            return w;
    return NULL;
}

static void work_append(struct run *run, struct worklist *list, struct lib *lib)
{
    struct work *w = arena_alloc(run->arena, sizeof(*w));

    w->lib = lib;
    if (list->tail)
        list->tail->next = w;
    else
        list->head = w;
    list->tail = w;
}

/* The list of loaded objects: take `lib` out and put it just before `before`. */
static void space_move(struct run *run, struct space *space, struct lib *lib, struct lib *before)
{
    size_t to = 0;
    bool placed = false;

    for (size_t i = 0; i < space->n; i++)
        if (space->lib[i] != lib)
            space->lib[to++] = space->lib[i];
    for (size_t i = 0; !placed && i < to; i++) {
        if (space->lib[i] != before)
            continue;
        placed = true;
        if (before->is_main) /* what stands before the head is never seen again */
            break;
        memmove(space->lib + i + 1, space->lib + i, (to - i) * sizeof(struct lib *));
        space->lib[i] = lib;
        to++;
    }
    space->n = to;
    space_reordered(run, space);
}

/*
 * A filtered object goes before the one that asks (`at`), which moves behind it. Returns the entry
 * that now holds the asking object; *ret_early: it stood earlier in the list already.
 */
static struct work *work_insert(struct run *run, struct space *space, struct worklist *list,
                                struct work *at, struct lib *lib, bool *ret_early)
{
    struct work *late = at, *moved;

    *ret_early = false;
    if (work_find(list, lib)) {
        while (late->next && late->next->lib != lib)
            late = late->next;
        if (!late->next) {
            *ret_early = true;
            return at;
        }
        if (list->tail == late->next)
            list->tail = late;
        late->next = late->next->next;
    }
    moved = arena_memdup(run->arena, at, sizeof(*at));
    *at = (struct work){.lib = lib, .next = moved};
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

static bool line_failed(struct run *run, const struct line *line, const struct answer *answer)
{
    if (answer->lib || line->kind == NEED_AUXILIARY)
        return false;
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

/* Token the program's own $ORIGIN needs: asked for once, at the first token of any kind. */
static const char *main_origin(struct run *run);

static struct line line_of(struct run *run, const struct lib *lib, size_t i)
{
    const struct need *need = &lib->image->object->need[i];
    struct line line = {.kind = need->kind};

    if (!lib->is_main) {
        line.name = lib->image->need[i];
    } else if (token_present(need->name)) {
        const struct tokens tokens = {main_origin(run), run->setup->profile.platform,
                                      run->setup->profile.lib};
        const char *text = token_expand(run->arena, need->name, &tokens);

        line.name = text ? intern(run->names, text) : NULL;
    } else {
        line.name = intern(run->names, need->name);
    }
    return line;
}

/* A token that cannot be told, or that secure mode forbids. True: the start ends. */
static bool line_refused(struct run *run, const struct lib *lib, size_t i, const struct line *line)
{
    const char *text = lib->image->object->need[i].name;

    if (run->loader->secure && token_present(text)) {
        run_exit(run, EXIT_BAD, "bad: %s: a token is not allowed in a set-id program", text);
        return true;
    }
    if (!line->name && line->kind == NEED_AUXILIARY) { /* sic: not FILTER, see section 7 */
        run_exit(run, EXIT_BAD, "bad: %s: its token cannot be told", text);
        return true;
    }
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
        const struct line line = line_of(run, lib, i);
        const struct ask ask = {.kind = request_of(line.kind),
                                .space = space,
                                .asker = lib,
                                .chain = lib,
                                .shown = lib,
                                .flags = flags};
        struct answer answer;
        bool early;

        if (line_refused(run, lib, i, &line))
            return false;
        if (!line.name)
            continue;
        answer = ask_name(run, &ask, line.name);
        if (line_failed(run, &line, &answer))
            return false;
        if (!answer.lib)
            continue;
        if (line.kind == NEED_NEEDED) {
            if (!work_find(list, answer.lib))
                work_append(run, list, answer.lib);
            continue;
        }
        at = work_insert(run, space, list, at, answer.lib, &early);
        if (early && run->setup->profile.version < V_FILTER_DLOPEN) {
            run_exit(run, EXIT_ABORT, "abort: glibc 2.31 fails an assertion on this filter");
            return false;
        }
    }
    return true;
}

/* Breadth-first from what is in the list. False: an error ended it. */
static bool work_all(struct run *run, struct space *space, struct worklist *list, unsigned flags)
{
    struct work *w = list->head;

    while (w) {
        w->done = true;
        if (!work_object(run, space, list, w, flags))
            return false;
        for (w = list->head; w && w->done; w = w->next)
            ;
    }
    return true;
}

/* ---- start-up (docs/loader.md, 2) */

static const char *main_origin(struct run *run)
{
    struct arena *arena = run->loader->arena;
    const char *path;

    if (run->origin_asked)
        return run->origin;
    run->origin_asked = true;
    run_call(run, (struct call){.kind = CALL_READLINK,
                                .stage = STAGE_DIRECT,
                                .outcome = OUTCOME_INFO,
                                .error = run->world->has_proc ? 0 : ENOENT,
                                .path = "/proc/self/exe"});
    if (!run->world->has_proc)
        return NULL;
    path = world_path(arena, run->main->image->node);
    run->origin = origin_of(run->loader, arena, path);
    return run->origin;
}

/* The program's path list; the readlink comes with its first token. */
static void main_paths(struct run *run)
{
    struct image *image = run->main->image;
    const struct object *object = image->object;
    const char *text = object->runpath ? object->runpath : object->rpath;
    struct dirlist list;
    struct tokens tokens = {NULL, run->setup->profile.platform, run->setup->profile.lib};

    image->paths_known = true;
    if (!text)
        return;
    if (token_present(text))
        tokens.origin = main_origin(run);
    list = dirlist_make(run->loader, run->setup, text, ":", &tokens, true);
    *(object->runpath ? &image->runpath : &image->rpath) = list;
}

static void library_path(struct run *run)
{
    const char *text = run->loader->secure ? NULL : run_env(run, "LD_LIBRARY_PATH", false);
    struct tokens tokens = {NULL, run->setup->profile.platform, run->setup->profile.lib};

    if (!text)
        return;
    if (token_present(text))
        tokens.origin = main_origin(run);
    run->library_path = dirlist_make(run->loader, run->setup, text, ":;", &tokens, true);
}

/* One object to be preloaded: whatever goes wrong is reported and ignored. */
static void preload(struct run *run, enum request_kind kind, const char *text,
                    struct worklist *list)
{
    const struct ask ask = {.kind = kind,
                            .space = &run->base,
                            .asker = run->main,
                            .chain = run->main,
                            .flags = run->loader->secure ? SEARCH_SECURE_PRELOAD : 0};
    struct answer answer;

    if (strchr(text, '/') && token_present(text)) {
        const struct tokens tokens = {main_origin(run), run->setup->profile.platform,
                                      run->setup->profile.lib};

        text = token_expand(run->arena, text, &tokens);
        if (!text)
            return;
    }
    answer = ask_name(run, &ask, intern(run->names, text));
    if (answer.is_new)
        work_append(run, list, answer.lib);
}

/* A list of names; in secure mode those with a slash, or too long, are left out. */
static void preload_list(struct run *run, const char *text, struct worklist *list)
{
    while (text && *text) {
        const size_t len = strcspn(text, " :");
        const char *name = arena_strndup(run->arena, text, len);
        const bool valid = !run->loader->secure || (len < NAME_MAX && !strchr(name, '/'));

        if (len && len < PATH_MAX && valid)
            preload(run, REQUEST_PRELOAD, name, list);
        text += len + (text[len] != '\0');
    }
}

/*
 * Comments of the preload file, stripped as the loader does it: each search starts at the file's
 * beginning again, but within a window that shrinks by what was consumed (docs/loader.md, 2).
 */
static void strip_comments(char *text, size_t len)
{
    size_t left = len;

    while (left > 0) {
        char *hash = memchr(text, '#', left);

        if (!hash)
            return;
        left -= (size_t)(hash - text);
        do
            *hash = ' ';
        while (--left > 0 && *++hash != '\n');
    }
}

static void preload_file(struct run *run, struct worklist *list)
{
    const char *path = run->setup->profile.preload;
    const struct place at = path ? loader_walk(run->loader, path) : (struct place){0};
    const int error = at.error                                       ? at.error
                      : !path || world_readable(run->world, at.node) ? 0
                                                                     : EACCES;
    char *text, *save = NULL;
    size_t len;

    if (!path)
        return;
    run_call(run, (struct call){.kind = CALL_ACCESS,
                                .stage = STAGE_PRELOAD,
                                .outcome = OUTCOME_INFO,
                                .error = error,
                                .path = path});
    if (error)
        return;
    run_call(run,
             (struct call){
                 .kind = CALL_OPEN, .stage = STAGE_PRELOAD, .outcome = OUTCOME_INFO, .path = path});
    if (world_bytes(run->world, at.node, PRELOAD_FILE_MAX, run->arena, &text, &len) < 0) {
        run_assume(run, "'%s' cannot be read, and is taken as empty", path);
        return;
    }
    text = arena_strndup(run->arena, text, len);
    strip_comments(text, len);
    for (char *name = strtok_r(text, ": \t\n", &save); name; name = strtok_r(NULL, ": \t\n", &save))
        preload(run, REQUEST_PRELOAD_FILE, name, list);
}

/* Objects that are there before anything is searched: ld.so and the kernel's vDSO. */
static void list_residents(struct run *run)
{
    struct setup *setup = run->setup;
    struct image *self = image_get(run->loader, setup, setup->interp, setup->node);

    lib_name(run, &run->base, run->main, run->loader->empty);
    if (run->main->image->soname)
        lib_name(run, &run->base, run->main, run->main->image->soname);
    run->self = lib_new(run, &run->base, self, NULL);
    run->self->is_self = true;
    for (size_t i = 0; i < ARRAY_LEN(setup->self_names); i++)
        if (setup->self_names[i])
            lib_name(run, &run->base, run->self, setup->self_names[i]);
    run->vdso = lib_new(run, &run->base, NULL, NULL);
    lib_name(run, &run->base, run->vdso, intern(run->names, "linux-vdso.so.1"));
}

static void assume_variables(struct run *run)
{
    static const char *const unmodelled[] = {"LD_HWCAP_MASK", "LD_ASSUME_KERNEL"};
    const char *const *name;

    if (!run->setup->tunables_known)
        run_assume(run, "GLIBC_TUNABLES says something about the CPU that is not predicted");
    for_each (name, unmodelled)
        if (run_env(run, *name, false))
            run_assume(run, "%s is set; its effect on the search is not predicted", *name);
}

void glibc_start(struct run *run)
{
    struct worklist list = {0};
    const bool secure = run->loader->secure;

    list_residents(run);
    lib_list(run, run->main, NULL);
    assume_variables(run);
    if (secure && run->setup->profile.version < V_NO_SUID_DEBUG)
        for (int i = 0; i < 2; i++)
            run_call(run, (struct call){.kind = CALL_ACCESS,
                                        .stage = STAGE_DIRECT,
                                        .outcome = OUTCOME_INFO,
                                        .error = loader_walk(run->loader, "/etc/suid-debug").error,
                                        .path = "/etc/suid-debug"});
    main_paths(run);
    library_path(run);
    work_append(run, &list, run->main);
    preload_list(run, run_env(run, "LD_PRELOAD", false), &list);
    preload_file(run, &list);
    (void)work_all(run, &run->base, &list, 0);
    lib_list(run, run->self, NULL);
}
