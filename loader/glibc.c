#include "loader/internal.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum {
    V_NO_SUID_DEBUG = 39,   /* /etc/suid-debug is no longer asked for */
    V_PHYSICAL_ORIGIN = 42, /* ld.so PROGRAM: $ORIGIN is where the program's file really is */
    PRELOAD_FILE_MAX = 1024 * 1024,
};

/* A link of /proc is read: only whether there is a /proc matters. */
static bool read_proc_link(struct run *run, const char *path)
{
    run_call(run, (struct call){.kind = CALL_READLINK,
                                .stage = STAGE_DIRECT,
                                .outcome = OUTCOME_INFO,
                                .error = run->world->has_proc ? 0 : ENOENT,
                                .path = path});
    return run->world->has_proc;
}

/* The directory a file is really in. */
static const char *physical_origin(struct run *run, const struct node *file)
{
    struct arena *arena = run->loader->arena;

    return origin_of(run->loader, arena, world_path(arena, file));
}

const char *glibc_origin(struct run *run)
{
    if (run->origin_asked)
        return run->origin;
    run->origin_asked = true;
    if (read_proc_link(run, "/proc/self/exe"))
        run->origin = physical_origin(run, run->main->image->node);
    return run->origin;
}

const char *glibc_self_origin(struct run *run)
{
    if (run->self_origin_asked)
        return run->self_origin;
    run->self_origin_asked = true;
    if (read_proc_link(run, "/proc/self/exe"))
        run->self_origin =
            physical_origin(run, run->explicit ? run->setup->node : run->main->image->node);
    return run->self_origin;
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
    if (!text || run_inhibited(run, run->main))
        return;
    if (token_present(text))
        tokens.origin = glibc_origin(run);
    list = dirlist_make(run->loader, run->setup, text, ":", &tokens, true);
    *(object->runpath ? &image->runpath : &image->rpath) = list;
}

static void library_path(struct run *run)
{
    const char *given = run->explicit ? run->explicit->library_path : NULL;
    const char *text = given                 ? given
                       : run->loader->secure ? NULL
                                             : run_env(run, "LD_LIBRARY_PATH", false);
    struct tokens tokens = {NULL, run->setup->profile.platform, run->setup->profile.lib};

    if (!text)
        return;
    if (token_present(text))
        tokens.origin = glibc_origin(run);
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
    const char *interp = run->main->image->object->interp;

    lib_name(run, &run->base, run->main, run->loader->empty);
    if (run->main->image->soname)
        lib_name(run, &run->base, run->main, run->main->image->soname);
    run->self = lib_new(run, &run->base, self, NULL);
    run->self->is_self = true;
    lib_name(run, &run->base, run->self, setup->interp);
    if (interp)
        lib_name(run, &run->base, run->self, intern(run->names, interp));
    if (setup->profile.soname)
        lib_name(run, &run->base, run->self, intern(run->names, setup->profile.soname));
    if (setup->profile.vdso) {
        run->vdso = lib_new(run, &run->base, NULL, NULL);
        lib_name(run, &run->base, run->vdso, intern(run->names, setup->profile.vdso));
    }
}

/*
 * ld.so PROGRAM (docs/loader.md, 13): the program is the first thing that is opened; a name without
 * a slash is looked for in the cache only. False: it cannot be started.
 */
static bool open_program(struct run *run)
{
    const struct name *name = intern(run->names, run->explicit->program);
    const bool slash = strchr(name->text, '/');
    const char *why = NULL;
    const struct name *soname;
    struct found found = {0};

    run_ask(run, REQUEST_PROGRAM, NULL, name->text);
    if (slash)
        found = open_path(run, name, STAGE_DIRECT, true);
    else if (!run->explicit->inhibit_cache)
        found = search_cache(run, NULL, name);
    why = found.fatal;
    if (found.image && !why && !found.image->object->has_dynamic)
        why = "it has no dynamic section";
    if (!found.image || why) {
        run_answer(run, why ? RESULT_BAD : RESULT_MISSING, found.stage, NULL);
        if (why)
            run_exit(run, EXIT_BAD, "bad: %s: %s", name->text, why);
        else
            run_exit(run, EXIT_MISSING, "missing: %s", name->text);
        return false;
    }
    run->main = lib_new(run, &run->base,
                        main_image(run->loader, found.image->path->text, found.image->node), NULL);
    run->main->is_main = true;
    lib_list(run, run->main, NULL);
    run_answer(run, RESULT_FOUND, found.stage, run->main);
    run->origin_asked = true;
    if (run->setup->profile.version >= V_PHYSICAL_ORIGIN && read_proc_link(run, "/proc/self/fd/3"))
        run->origin = physical_origin(run, run->main->image->node);
    else
        run->origin = origin_of(run->loader, run->arena, found.image->path->text);
    soname = run->main->image->soname;
    if (soname && str_same(soname->text, run->setup->profile.soname)) {
        run_exit(run, EXIT_BAD, "bad: %s: the loader cannot load itself", name->text);
        return false;
    }
    return true;
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

/* Before 2.39 a set-id program asks for this file twice, first of all. */
static void ask_suid_debug(struct run *run)
{
    static const char path[] = "/etc/suid-debug";
    const struct place at = loader_walk(run->loader, path);

    for (int i = 0; i < 2; i++)
        run_call(run, (struct call){.kind = CALL_ACCESS,
                                    .stage = STAGE_DIRECT,
                                    .outcome = OUTCOME_INFO,
                                    .error = at.error,
                                    .path = path});
}

void glibc_start(struct run *run)
{
    struct worklist list = {0};

    if (run->loader->secure && run->setup->profile.version < V_NO_SUID_DEBUG)
        ask_suid_debug(run);
    if (run->explicit && !open_program(run))
        return;
    run->main->is_main = run->main->opened = true;
    lib_list(run, run->main, NULL);
    list_residents(run);
    assume_variables(run);
    main_paths(run);
    library_path(run);
    glibc_audit(run);
    work_append(run, &list, run->main);
    preload_list(run, run_env(run, "LD_PRELOAD", false), &list);
    if (run->explicit)
        preload_list(run, run->explicit->preload, &list);
    preload_file(run, &list);
    (void)work_all(run, &run->base, &list, 0);
    lib_list(run, run->self, NULL);
    if (run->cache == CACHE_MAPPED)
        run->cache = CACHE_UNASKED;
}
