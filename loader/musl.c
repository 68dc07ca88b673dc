#include "loader/internal.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/*
 * musl (docs/loader.md, 18): no stat, no hwcaps, no cache, no memory of directories. A library is
 * known by the base name under which a search found it, and by its identity.
 */

enum {
    PATH_BUFFER = 2 * NAME_MAX + 2, /* longer paths are skipped */
    PATH_FILE_MAX = 1024 * 1024,
};

/* What stops a search early, besides a hit. */
enum search_end { GO_ON, STOP };

struct musl {
    struct run *run;
    const char *library_path; /* NULL: not set */
    const char *system;       /* NULL: not asked yet */
    const char *missing;      /* the first name that could not be loaded; NULL: none */
};

static const char *arch_of(uint16_t machine)
{
    static const struct arch {
        uint16_t machine;
        const char *name;
    } archs[] = {
        {EM_X86_64, "x86_64"},     {EM_AARCH64, "aarch64"}, {EM_386, "i386"},
        {EM_ARM, "armhf"},         {EM_RISCV, "riscv64"},   {EM_S390, "s390x"},
        {EM_PPC64, "powerpc64le"}, {258, "loongarch64"},
    };
    const struct arch *arch;

    for_each (arch, archs)
        if (arch->machine == machine)
            return arch->name;
    return "unknown";
}

/* PREFIX/etc/ld-musl-ARCH.path, PREFIX being the interpreter's path less two components. */
static const char *path_file(struct run *run)
{
    const char *interp = run->setup->interp->text, *last = interp, *before = interp;

    for (const char *s = interp; *s; s++) {
        if (*s == '/') {
            before = last;
            last = s;
        }
    }
    return arena_printf(run->arena, "%.*s/etc/ld-musl-%s.path",
                        *interp == '/' ? (int)(before - interp) : 0, interp,
                        arch_of(run->setup->profile.machine));
}

static const char *system_path(struct musl *m)
{
    struct run *run = m->run;
    const char *path;
    struct place at;
    char *text;
    size_t len;
    int error;

    if (m->system)
        return m->system;
    path = path_file(run);
    at = loader_walk(run->loader, path);
    error = open_error(run, at);
    run_call(run, (struct call){.kind = CALL_OPEN,
                                .stage = STAGE_SYSTEM,
                                .outcome = error ? OUTCOME_FAILED : OUTCOME_INFO,
                                .error = error,
                                .path = path});
    if (error == ENOENT)
        m->system = "/lib:/usr/local/lib:/usr/lib";
    else if (error || world_bytes(run->world, at.node, PATH_FILE_MAX, run->arena, &text, &len) < 0)
        m->system = "";
    else
        m->system = arena_strndup(run->arena, text, len);
    return m->system;
}

/* Open one path. The file found is final, whatever it is. */
static enum search_end open_one(struct run *run, const char *path, enum stage stage,
                                struct found *ret_found)
{
    const struct place at = loader_walk(run->loader, path);
    const int error = open_error(run, at);

    run->effort += strlen(path);
    if (!error) {
        ret_found->image = image_get(run->loader, run->setup, intern(run->names, path), at.node);
        ret_found->stage = stage;
    }
    run_call(run, (struct call){.kind = CALL_OPEN,
                                .stage = stage,
                                .outcome = error ? OUTCOME_FAILED : OUTCOME_HIT,
                                .error = error,
                                .path = path});
    if (at.assumed)
        run_assume(run, "'%s' is outside what was looked at, and taken as absent", path);
    return !error ||
                   (error != ENOENT && error != ENOTDIR && error != EACCES && error != ENAMETOOLONG)
               ? STOP
               : GO_ON;
}

static enum search_end search_list(struct run *run, const char *list, const char *name,
                                   enum stage stage, struct found *ret_found)
{
    const size_t name_len = strlen(name);

    for (;;) {
        const size_t skipped = strspn(list, ":\n"), len = strcspn(list + skipped, ":\n");
        const char *path;

        run->effort += skipped + len;
        list += skipped;
        if (len == 0)
            return GO_ON;
        if (run_too_large(run))
            return STOP;
        if (len + 1 + name_len < PATH_BUFFER) {
            path = arena_printf(run->arena, "%.*s/%s", (int)len, list, name);
            if (open_one(run, path, stage, ret_found) == STOP)
                return STOP;
        }
        list += len;
    }
}

/*
 * An object's path with $ORIGIN replaced (by prefix: "$ORIGINX" counts); NULL: it has none, or it
 * cannot be used. The program's origin is asked anew each time that it could not be told.
 */
static const char *path_of(struct run *run, struct lib *lib)
{
    const struct object *object = lib->image->object;
    const char *text = object->runpath ? object->runpath : object->rpath, *origin, *slash, *at;
    struct str out = {.arena = run->arena};

    if (lib->musl_path || !text || !strchr(text, '$'))
        return lib->musl_path ? lib->musl_path : text;
    for (at = strchr(text, '$'); at; at = strchr(at + 1, '$'))
        if (!str_starts(at, "$ORIGIN") && !str_starts(at, "${ORIGIN}"))
            return NULL;
    origin = lib->image->path->text;
    if (lib->is_main && !run->explicit) {
        if (run->loader->secure)
            return NULL;
        if (!run->origin) {
            run_call(run, (struct call){.kind = CALL_READLINK,
                                        .stage = STAGE_DIRECT,
                                        .outcome = OUTCOME_INFO,
                                        .error = run->world->has_proc ? 0 : ENOENT,
                                        .path = "/proc/self/exe"});
            if (!run->world->has_proc)
                return NULL;
            run->origin = world_path(run->arena, lib->image->node);
        }
        origin = run->origin;
    }
    slash = strrchr(origin, '/');
    origin = slash ? arena_strndup(run->arena, origin, (size_t)(slash - origin)) : ".";
    if (run->loader->secure && *origin != '/')
        return NULL;
    str_add(&out, "");
    for (at = text; (text = strchr(at, '$')); at = text + (text[1] == '{' ? 9 : 7)) {
        if (run_too_large(run))
            return NULL;
        run->effort += strlen(origin);
        str_add_n(&out, at, (size_t)(text - at));
        str_add(&out, origin);
    }
    str_add(&out, at);
    lib->musl_path = out.text;
    return out.text;
}

static struct found search(struct musl *m, struct lib *asker, const char *name)
{
    struct run *run = m->run;
    struct found found = {.stage = STAGE_DIRECT};

    if (strlen(name) > NAME_MAX)
        return found;
    if (m->library_path &&
        search_list(run, m->library_path, name, STAGE_LIBRARY_PATH, &found) == STOP)
        return found;
    for (struct lib *lib = asker; lib; lib = lib->chain) {
        const char *path = path_of(run, lib);

        if (path && search_list(run, path, name, STAGE_RUNPATH, &found) == STOP)
            return found;
    }
    (void)search_list(run, system_path(m), name, STAGE_SYSTEM, &found);
    return found;
}

/* Names that all mean musl itself. */
static bool is_self(const struct run *run, const char *name)
{
    static const char *const reserved[] = {"libc.",  "libpthread.", "librt.",  "libm.",
                                           "libdl.", "libutil.",    "libxnet."};
    const char *const *r;

    for_each (r, reserved)
        if (str_starts(name, *r))
            return true;
    return strcmp(name, run->setup->interp->text) == 0;
}

/* Why the opened file cannot be mapped; NULL: it can. Machine and OS ABI are not looked at. */
static const char *unusable(const struct run *run, const struct image *image)
{
    const struct object *object = image->object;

    if (image->node->kind == NODE_DIR)
        return "it is a directory";
    if (!object)
        return "not an ELF file";
    if (object->class != run->setup->profile.class || object->data != run->setup->profile.data)
        return "wrong ELF class or byte order";
    if (object->type != ET_DYN && object->type != ET_EXEC)
        return "neither a shared object nor an executable";
    return object->has_dynamic ? NULL : "it has no dynamic section";
}

static struct lib *answer(struct run *run, enum request_result result, enum stage stage,
                          struct lib *lib, const struct lib *asker)
{
    if (lib)
        lib_list(run, lib, asker);
    run_answer(run, result, stage, lib);
    return lib;
}

/* load_library(): NULL when it cannot be loaded. */
/* A C library under whatever name is dropped for musl's own, and looked at anew each time. */
static bool is_libc(const struct object *object)
{
    return (object->ldso && object->ldso->libc == LIBC_MUSL) ||
           str_same(object->soname, "libc.so.6");
}

static struct lib *load(struct musl *m, enum request_kind kind, struct lib *asker, const char *name)
{
    struct run *run = m->run;
    const bool searched = !strchr(name, '/');
    struct found found = {.stage = STAGE_DIRECT};
    struct lib *lib;

    run_ask(run, kind, asker, name);
    if (*name == '\0')
        return answer(run, RESULT_SKIPPED, STAGE_DIRECT, NULL, asker);
    if (is_self(run, name))
        return answer(run, RESULT_KNOWN, STAGE_DIRECT, run->self, asker);
    lib = searched ? lib_known(run, &run->base, intern(run->names, name)) : NULL;
    if (lib)
        return answer(run, RESULT_KNOWN, STAGE_DIRECT, lib, asker);
    if (searched)
        found = search(m, asker, name);
    else
        (void)open_one(run, name, STAGE_DIRECT, &found);
    if (!found.image)
        return answer(run, RESULT_MISSING, found.stage, NULL, asker);
    lib = lib_same_file(run, &run->base, found.image->node);
    if (lib) {
        if (searched && lib->n_names == 0)
            lib_name(run, &run->base, lib, intern(run->names, str_base(lib->image->path->text)));
        return answer(run, RESULT_SAME, found.stage, lib, asker);
    }
    if (unusable(run, found.image))
        return answer(run, RESULT_BAD, found.stage, NULL, asker);
    if (is_libc(found.image->object))
        return answer(run, RESULT_SAME, found.stage, run->self, asker);
    lib = lib_new(run, &run->base, found.image, asker);
    if (searched)
        lib_name(run, &run->base, lib, intern(run->names, str_base(found.image->path->text)));
    return answer(run, RESULT_FOUND, found.stage, lib, asker);
}

/* Needed names of the objects from `from` on, breadth-first. False: one is missing, and it counts.
 */
static bool load_deps(struct musl *m, size_t from, bool stop)
{
    struct run *run = m->run;

    for (size_t i = from; i < run->base.n; i++) {
        struct lib *lib = run->base.lib[i];
        const struct object *object = lib->is_self || !lib->image ? NULL : lib->image->object;

        for (size_t k = 0; object && k < object->n_needs; k++) {
            if (run_too_large(run))
                return false;
            if (object->need[k].kind != NEED_NEEDED ||
                load(m, REQUEST_NEEDED, lib, object->need[k].name))
                continue;
            if (!m->missing)
                m->missing = object->need[k].name;
            if (stop)
                return false;
        }
    }
    return true;
}

static void preloads(struct musl *m, const char *text)
{
    while (text && *text) {
        const size_t skip = strspn(text, " \t\n\v\f\r:"),
                     len = strcspn(text + skip, " \t\n\v\f\r:");

        (void)load(m, REQUEST_PRELOAD, NULL, arena_strndup(m->run->arena, text + skip, len));
        text += skip + len;
    }
}

/* ld-musl PROGRAM: it is opened first; its $ORIGIN is the directory part as typed. */
static bool open_program(struct run *run)
{
    struct found found = {0};
    const char *why;

    run_ask(run, REQUEST_PROGRAM, NULL, run->explicit->program);
    (void)open_one(run, run->explicit->program, STAGE_DIRECT, &found);
    why = found.image ? unusable(run, found.image) : NULL;
    if (!found.image || why) {
        (void)answer(run, why ? RESULT_BAD : RESULT_MISSING, STAGE_DIRECT, NULL, NULL);
        run_exit(run, why ? EXIT_BAD : EXIT_MISSING, "%s: %s%s%s", why ? "bad" : "missing",
                 run->explicit->program, why ? ": " : "", why ? why : "");
        return false;
    }
    run->main = lib_new(run, &run->base,
                        main_image(run->loader, run->explicit->program, found.image->node), NULL);
    (void)answer(run, RESULT_FOUND, STAGE_DIRECT, run->main, NULL);
    return true;
}

static struct musl musl_of(struct run *run)
{
    const struct explicit *e = run->explicit;
    struct musl m = {.run = run, .system = run->musl_system};

    if (!run->loader->secure)
        m.library_path = run_env(run, "LD_LIBRARY_PATH", true);
    if (e && e->library_path)
        m.library_path = e->library_path;
    return m;
}

void musl_start(struct run *run)
{
    struct musl m = musl_of(run);
    struct image *self;

    if (run->explicit && !open_program(run))
        return;
    run->main->is_main = true;
    lib_list(run, run->main, NULL);
    self = image_get(run->loader, run->setup, run->setup->interp, run->setup->node);
    run->self = arena_alloc(run->arena, sizeof(*run->self));
    *run->self = (struct lib){.image = self, .index = -1, .is_self = true};
    if (run->explicit && run->explicit->preload)
        preloads(&m, run->explicit->preload);
    else if (!run->loader->secure)
        preloads(&m, run_env(run, "LD_PRELOAD", true));
    (void)load_deps(&m, 0, false);
    if (m.missing && !run->goes_on)
        run_exit(run, EXIT_MISSING, "missing: %s", m.missing);
    lib_list(run, run->self, NULL);
    run->musl_system = m.system;
}

/* The program is the one that asks, whoever calls. */
bool musl_dlopen(struct run *run, const char *name)
{
    struct musl m = musl_of(run);
    const size_t n = run->base.n, n_loaded = run->trace->n_loaded;

    bool done = load(&m, REQUEST_DLOPEN, run->main, name) != NULL;

    if (done && !load_deps(&m, n, true)) {
        run_forget(run, &run->base, n, n_loaded);
        done = false;
    }
    run->musl_system = m.system;
    return done;
}
