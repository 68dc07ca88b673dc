#include "loader/internal.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 64 }; /* objects of a space, from which on they are found by a table */

/* ---- objects and names */

static struct known *known_slot(struct run *run, const struct name *name)
{
    return slots_at(&run->known, name->id);
}

/* The first object in list order keeps a name. */
static void known_put(struct run *run, const struct name *name, struct lib *lib)
{
    struct known *slot = known_slot(run, name);

    if (slot->stamp != run->stamp)
        *slot = (struct known){.stamp = run->stamp, .lib = lib};
}

static uint64_t file_hash(const struct node *node)
{
    return (node->ino ^ node->dev << 48) * 0x9e3779b97f4a7c15u;
}

/* One of the bits by which a space tells that it has no such file. */
static uint64_t *file_bit(struct space *space, const struct node *node, uint64_t *ret_bit)
{
    const uint64_t hash = file_hash(node);

    *ret_bit = UINT64_C(1) << (hash >> 58);
    return &space->files[hash >> 54 & (ARRAY_LEN(space->files) - 1)];
}

/* Can it be found by its file? The program and the loader are not asked for theirs. */
static bool is_by_file(const struct lib *lib, const struct node *node)
{
    return lib->image && !lib->is_main && !lib->is_self && lib->image->node->ino == node->ino &&
           lib->image->node->dev == node->dev;
}

/* The slot of the first object of the file, or the free one where it belongs. */
static struct lib **by_file_slot(const struct space *space, const struct node *node)
{
    size_t at = (file_hash(node) >> 24) & space->by_file_mask;

    while (space->by_file[at] && !is_by_file(space->by_file[at], node))
        at = (at + 1) & space->by_file_mask;
    return &space->by_file[at];
}

/* The object is the last one of its space. At most half of the table is in use. */
static void by_file_add(struct run *run, struct space *space, struct lib *lib)
{
    size_t i = space->n - 1;

    if (!space->by_file || space->n * 2 > space->by_file_mask) {
        space->by_file_mask = MANY * 4 - 1;
        while (space->by_file_mask < space->n * 4)
            space->by_file_mask = space->by_file_mask * 2 + 1;
        space->by_file = arena_calloc(run->arena, space->by_file_mask + 1, sizeof(struct lib *));
        i = 0;
    }
    for (; i < space->n; i++) {
        lib = space->lib[i];
        if (lib->image && !*by_file_slot(space, lib->image->node))
            *by_file_slot(space, lib->image->node) = lib;
    }
}

struct lib *lib_new(struct run *run, struct space *space, struct image *image, struct lib *chain)
{
    struct lib *lib = arena_alloc(run->arena, sizeof(*lib));

    *lib = (struct lib){.image = image, .chain = chain, .index = -1, .is_module = !space->is_base};
    space->lib = arena_grow(run->arena, space->lib, space->n, sizeof(struct lib *));
    space->lib[space->n++] = lib;
    if (image) {
        uint64_t bit, *word = file_bit(space, image->node, &bit);

        *word |= bit;
    }
    if (space->n > MANY)
        by_file_add(run, space, lib);
    return lib;
}

void lib_name(struct run *run, struct space *space, struct lib *lib, const struct name *name)
{
    run->effort += lib->n_names;
    for (size_t i = 0; i < lib->n_names; i++)
        if (lib->name[i] == name)
            return;
    lib->name = arena_grow(run->arena, lib->name, lib->n_names, sizeof(const struct name *));
    lib->name[lib->n_names++] = name;
    if (space->is_base)
        known_put(run, name, lib);
}

void space_forget_names(struct run *run, struct space *space)
{
    space->by_file = NULL;
    for (size_t i = 0; space->is_base && i < space->n; i++)
        for (size_t k = 0; k < space->lib[i]->n_names; k++)
            known_slot(run, space->lib[i]->name[k])->stamp = 0;
}

void space_name(struct run *run, const struct space *space)
{
    for (size_t i = 0; space->is_base && i < space->n; i++)
        for (size_t k = 0; k < space->lib[i]->n_names; k++)
            known_put(run, space->lib[i]->name[k], space->lib[i]);
}

struct lib *lib_known(struct run *run, const struct space *space, const struct name *name)
{
    if (space->is_base) {
        const struct known *slot = known_slot(run, name);

        return slot->stamp == run->stamp ? slot->lib : NULL;
    }
    for (size_t i = 0; i < space->n; i++)
        for (size_t k = 0; k < space->lib[i]->n_names; k++)
            if (space->lib[i]->name[k] == name)
                return space->lib[i];
    return NULL;
}

struct lib *lib_same_file(struct run *run, struct space *space, const struct node *node)
{
    uint64_t bit, *word = file_bit(space, node, &bit);

    if (!(*word & bit))
        return NULL;
    if (space->by_file)
        return *by_file_slot(space, node);
    run->effort += space->n;
    for (size_t i = 0; i < space->n; i++)
        if (is_by_file(space->lib[i], node))
            return space->lib[i];
    return NULL;
}

void lib_list(struct run *run, struct lib *lib, const struct lib *by)
{
    struct trace *t = run->trace;
    const struct image *image = lib->image;
    const char *vdso = run->setup->profile.vdso;

    if (lib->index >= 0)
        return;
    t->loaded = arena_grow(run->arena, t->loaded, t->n_loaded, sizeof(*t->loaded));
    lib->index = (int)t->n_loaded;
    t->loaded[t->n_loaded++] = (struct loaded){
        .path = image ? image->path->text : vdso,
        .soname = image ? (image->soname ? image->soname->text : NULL) : vdso,
        .by = by ? by->index : -1,
        .phase = run->phase,
        .module = lib->is_module,
        .node = image ? image->node : NULL,
        .object = image ? image->object : NULL,
    };
    run->storm->objects++;
}

struct lib *run_caller(const struct run *run, const char *caller)
{
    if (!caller)
        return run->main;
    for (size_t i = 0; i < run->base.n; i++) {
        struct lib *lib = run->base.lib[i];

        if (lib->index < 0)
            continue;
        if (lib->image && strcmp(str_base(lib->image->path->text), caller) == 0)
            return lib;
        for (size_t k = 0; k < lib->n_names; k++)
            if (strcmp(lib->name[k]->text, caller) == 0)
                return lib;
    }
    return NULL;
}

void run_forget(struct run *run, struct space *space, size_t n, size_t n_loaded)
{
    struct trace *t = run->trace;

    space_forget_names(run, space);
    space->n = n;
    space_name(run, space);
    run->storm->objects -= (uint32_t)(t->n_loaded - n_loaded);
    t->n_loaded = n_loaded;
    for (size_t i = 0; i < t->n_requests; i++) {
        if (t->request[i].answer >= (int)n_loaded)
            t->request[i].answer = -1;
        if (t->request[i].asker >= (int)n_loaded)
            t->request[i].asker = -1;
    }
}

/* ---- directory states */

static void dir_slots_reach(struct run *run, uint32_t id)
{
    const size_t width = run->setup->profile.n_caps;
    const uint32_t want = id + id / 2 + 64;

    if (id < run->n_dir_slots && width == run->dir_width)
        return;
    if (width != run->dir_width) {
        free(run->dir_stamp);
        free(run->dir_state);
        run->dir_stamp = NULL;
        run->dir_state = NULL;
        run->n_dir_slots = 0;
        run->dir_width = width;
    }
    run->dir_stamp = realloc(run->dir_stamp, want * sizeof(*run->dir_stamp));
    run->dir_state = realloc(run->dir_state, want * width);
    if (!run->dir_stamp || !run->dir_state)
        abort();
    memset(run->dir_stamp + run->n_dir_slots, 0,
           (want - run->n_dir_slots) * sizeof(*run->dir_stamp));
    run->n_dir_slots = want;
}

uint8_t *run_dir_visit(struct run *run, const struct dir *dir)
{
    uint8_t *state;

    dir_slots_reach(run, dir->id);
    state = run->dir_state + dir->id * run->dir_width;
    run->dir_stamp[dir->id] = run->stamp;
    memset(state, dir->relative ? DIR_EXISTS : DIR_UNKNOWN, run->dir_width);
    run->storm->directories++;
    return state;
}

/* ---- one run, from outside */

const char *run_env(const struct run *run, const char *name, bool first)
{
    const size_t len = strlen(name);
    const char *value = NULL;

    for (size_t i = 0; i < run->start->n_env; i++) {
        const char *entry = run->start->env[i];

        if (strncmp(entry, name, len) != 0 || entry[len] != '=')
            continue;
        value = entry + len + 1;
        if (first)
            break;
    }
    return value;
}

struct loader *loader_new(struct world *world, const struct cpu *cpu, const char *cwd, bool secure)
{
    struct loader *loader = calloc(1, sizeof(*loader));
    struct place at;

    if (!loader)
        abort();
    *loader = (struct loader){.world = world, .cpu = cpu, .cwd = cwd, .secure = secure};
    loader->arena = calloc(1, sizeof(*loader->arena));
    loader->run = calloc(1, sizeof(*loader->run));
    if (!loader->arena || !loader->run)
        abort();
    loader->run->known.size = sizeof(struct known);
    at = world_walk(world, NULL, cwd);
    loader->cwd_node = at.error ? NULL : at.node;
    loader->empty = intern(world->names, "");
    return loader;
}

void loader_free(struct loader *loader)
{
    if (!loader)
        return;
    for (struct setup *s = loader->setups; s; s = s->next) {
        free(s->probes);
        slots_release(&s->dir_by_name);
        slots_release(&s->image_by_name);
    }
    slots_release(&loader->run->known);
    free(loader->run->dir_stamp);
    free(loader->run->dir_state);
    free(loader->run);
    arena_release(loader->arena);
    free(loader->arena);
    free(loader);
}

void loader_freep(struct loader **loader)
{
    loader_free(*loader);
}

size_t loader_held(const struct loader *loader)
{
    return loader->arena->held;
}

/* Void everything older runs left behind. */
static void run_begin(struct run *run, struct loader *loader, const struct start *start,
                      struct arena *arena, struct trace *trace)
{
    const struct run old = *run;
    const bool wrapped = old.stamp == UINT32_MAX;

    *run = (struct run){
        .loader = loader,
        .world = loader->world,
        .names = loader->world->names,
        .arena = arena,
        .trace = trace,
        .start = start,
        .storm = &trace->storm,
        .request = -1,
        .stamp = wrapped ? 1 : old.stamp + 1,
        .known = old.known,
        .dir_stamp = old.dir_stamp,
        .dir_state = old.dir_state,
        .n_dir_slots = old.n_dir_slots,
        .dir_width = old.dir_width,
        .base = {.is_base = true},
    };
    if (!wrapped)
        return;
    slots_clear(&run->known);
    memset(run->dir_stamp, 0, run->n_dir_slots * sizeof(*run->dir_stamp));
}

struct image *main_image(struct loader *loader, const char *program, struct node *node)
{
    struct image *image = arena_alloc(loader->arena, sizeof(*image));
    const struct object *object = world_object(loader->world, node);

    *image = (struct image){
        .path = intern(loader->world->names, program),
        .node = node,
        .object = object,
        .soname = object->soname ? intern(loader->world->names, object->soname) : NULL,
    };
    return image;
}

/* The file of a program, or why it cannot be looked at. */
static int program_find(struct loader *loader, const char *path, struct node **ret_node,
                        struct err *err)
{
    const struct place at = loader_walk(loader, path);

    if (at.error)
        return err_set(err, at.error, "'%s': %s", path, strerror(at.error));
    if (at.node->kind != NODE_FILE)
        return err_set(err, EINVAL, "'%s': not a regular file", path);
    if (!world_object(loader->world, at.node))
        return err_set(err, at.node->object_error ? at.node->object_error : ENOEXEC, "'%s': %s",
                       path,
                       at.node->object_error ? strerror(at.node->object_error) : "not an ELF file");
    *ret_node = at.node;
    return 0;
}

/* All phases, once setup and program are known. */
static void run_phases(struct run *run)
{
    if (run->setup->profile.libc == LIBC_MUSL)
        musl_start(run);
    else
        glibc_start(run);
    run_dlopens(run);
}

int loader_run(struct loader *loader, const struct start *start, struct arena *arena,
               struct trace *ret_trace, struct err *err)
{
    struct trace trace = {.program = start->program, .cpu = loader->cpu, .exit_text = "ok"};
    struct run *run = loader->run;
    struct variant variant = {"", "", "", NULL};
    struct explicit explicit = {0};
    const char *tunables;
    struct node *node;
    int r = program_find(loader, start->program, &node, err);

    if (r < 0)
        return r;
    run_begin(run, loader, start, arena, &trace);
    tunables = loader->secure ? NULL : run_env(run, "GLIBC_TUNABLES", false);
    variant.tunables = tunables ? tunables : "";
    variant.interp = node->object->interp;
    if (start->n_ld_args) {
        const struct ldso *ldso = node->object->ldso;

        r = explicit_parse(start, ldso && ldso->libc == LIBC_MUSL, &explicit, err);
        if (r < 0)
            return r;
        variant.interp = start->program;
        variant.prepend = explicit.prepend ? explicit.prepend : "";
        variant.mask = explicit.mask;
        run->explicit = &explicit;
    }
    run->setup = variant.interp ? setup_get(loader, &variant) : NULL;
    if (!run->setup) {
        run_exit(run, EXIT_NOT_DYNAMIC, "not dynamic: no loader is asked for");
    } else if (run->setup->problem) {
        run_exit(run, EXIT_NO_LOADER, "no loader: %s", run->setup->problem);
        if (run->setup->outside)
            run_assume(run, "its loader '%s' is outside what was looked at, and taken as absent",
                       variant.interp);
    } else {
        trace.profile = run->setup->profile;
        if (trace.profile.assumed)
            run_assume(run, "%s", trace.profile.assumed);
        if (trace.profile.from_source)
            run_assume(run, "%s", trace.profile.from_source);
        run->goes_on = trace.profile.libc == LIBC_MUSL
                           ? explicit.list_only
                           : !explicit.list_only && run_env(run, "LD_TRACE_LOADED_OBJECTS", false);
        if (!run->explicit)
            run->main = lib_new(run, &run->base, main_image(loader, start->program, node), NULL);
        run_phases(run);
    }
    run->explicit = NULL;
    *ret_trace = trace;
    return 0;
}
