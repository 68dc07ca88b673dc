#include "tests/sample_gen.h"

#include "base/str.h"

#include <string.h>

/* splitmix64: small, and the same on every machine */
uint64_t gen_next(struct gen *g)
{
    uint64_t z = g->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

size_t gen_below(struct gen *g, size_t n)
{
    if (g->n_chosen < g->settings->n_choices)
        return g->settings->choices[g->n_chosen++] * n / 256;
    return (size_t)(gen_next(g) >> 11) % n;
}

bool gen_chance(struct gen *g, unsigned percent)
{
    return gen_below(g, 100) < percent;
}

const char *gen_dir(struct gen *g)
{
    return g->dir[gen_below(g, g->n_dirs)];
}

const char *gen_name(struct gen *g)
{
    return g->name[gen_below(g, g->n_names)];
}

/* ---- pools */

static void fill_pools(struct gen *g)
{
    static const char *const dirs[] = {
        "/s/a/lib", "/s/b/lib", "/s/c/lib", "/s/d/lib",  "/s/e/lib",   "/s/a/lib/private",
        "/s/c",     "/opt/lib", "/w",       "/w/rel",    "/app",       "/app/lib",
        "/app/bin", "/gone",    "/gone/to", "/s/x86_64", "/s/haswell", "/s/a/lib64",
    };
    static const char *const names[] = {
        "liba.so", "libb.so.1", "libc.so",    "libd.so.2.0", "libe.so", "libf.so",
        "libg.so", "libn.so.1", "libn.so.01", "lib h.so",    "libi",    "x",
    };
    const size_t n_dirs = 3 + gen_below(g, 6), n_names = 2 + gen_below(g, 6);

    while (g->n_dirs < n_dirs)
        g->dir[g->n_dirs++] = PICK(g, dirs);
    for (size_t i = 0; i < g->settings->ldso->n_system_dirs; i++)
        if (gen_chance(g, 40)) {
            const char *dir = g->settings->ldso->system_dirs[i];

            g->dir[g->n_dirs++] = arena_strndup(g->arena, dir, strlen(dir) - 1);
        }
    if (gen_chance(g, 5))
        g->dir[g->n_dirs++] = "";
    while (g->n_names < n_names)
        g->name[g->n_names++] = PICK(g, names);
    if (gen_chance(g, 3)) {
        char *name = arena_alloc(g->arena, 300);

        memset(name, 'n', 250 + gen_below(g, 12));
        g->name[g->n_names++] = name;
    }
    if (gen_chance(g, 3))
        g->name[g->n_names++] = "lib\xff\x01\\.so";
}

/* ---- the tree */

/* Below something that is no directory nothing can be made: take such entries out again. */
static void drop_impossible(struct tree *tree)
{
    size_t kept = 0;

    for (size_t i = 0; i < tree->n_entries; i++) {
        const struct entry *entry = &tree->entry[i];
        bool possible = true;

        for (size_t j = 0; j < tree->n_entries && possible; j++) {
            const struct entry *up = &tree->entry[j];
            const size_t len = strlen(up->path);

            possible = up->kind == ENTRY_DIR || strncmp(entry->path, up->path, len) != 0 ||
                       entry->path[len] != '/';
        }
        if (entry->kind == ENTRY_HARD_LINK) {
            const struct entry *target = NULL;

            for (size_t j = 0; j < kept; j++)
                if (!strcmp(tree->entry[j].path, entry->target))
                    target = &tree->entry[j];
            possible &= target && target->kind == ENTRY_FILE;
        }
        if (possible)
            tree->entry[kept++] = *entry;
    }
    tree->n_entries = kept;
}

/* ---- the start */

static void set_env(struct gen *g, struct sample *s, const char *name, const char *value)
{
    s->env[s->n_env++] = arena_printf(g->arena, "%s=%s", name, value);
}

static void add_env(struct gen *g, struct sample *s)
{
    static const char *const tunables[] = {
        "-AVX512F", "-AVX2", "-AVX512BW,-AVX2", "-SSE4_2", "-BMI2", "-AVX2_Usable",
    };

    s->env = arena_calloc(g->arena, 8, sizeof(*s->env));
    if (gen_chance(g, 35))
        set_env(g, s, "LD_LIBRARY_PATH", gen_path_list(g, 4, gen_chance(g, 70) ? ":" : ":;"));
    if (gen_chance(g, 20))
        set_env(g, s, "LD_PRELOAD", gen_request_list(g, 3, ": "));
    if (!s->secure && gen_chance(g, 4))
        set_env(g, s, "LD_AUDIT", gen_request_list(g, 2, ":"));
    if (!s->secure && g->settings->version >= 33 && gen_chance(g, 5))
        set_env(g, s, "GLIBC_TUNABLES",
                arena_printf(g->arena, "glibc.cpu.hwcaps=%s", PICK(g, tunables)));
}

static void add_audit(struct gen *g, struct elf_spec *spec)
{
    if (gen_chance(g, 2))
        gen_add_dyn(g, spec, DT_AUDIT, gen_request_list(g, 2, ":"), 0);
    if (gen_chance(g, 2))
        gen_add_dyn(g, spec, DT_DEPAUDIT, gen_request_list(g, 2, ":"), 0);
}

/* What calls dlopen() needs a real C library, in a directory of its own. */
static void need_libc(struct gen *g, struct elf_spec *spec)
{
    for (size_t i = 0; i < g->settings->n_libc; i++)
        gen_add_dyn(g, spec, DT_NEEDED, str_base(g->settings->libc[i]), 0);
}

static void add_libc(struct gen *g)
{
    for (size_t i = 0; i < g->settings->n_libc; i++) {
        const char *file = g->settings->libc[i];

        tree_add(g->tree, ENTRY_FILE, arena_printf(g->arena, "/libc/lib/%s", str_base(file)))
            ->copy_of = file;
    }
}

/* The library that calls dlopen() in the program's place; how the program asks for it. */
static const char *add_opener(struct gen *g, const char *const *name, size_t n)
{
    static const char base[] = "libopener.so";
    const bool by_path = gen_chance(g, 40);
    const char *path = arena_printf(g->arena, "%s/%s", by_path ? gen_dir(g) : "/libc/lib", base);
    struct elf_spec *spec = arena_alloc(g->arena, sizeof(*spec));

    *spec = elf_dlopening_library(g->arena, name, n);
    gen_add_paths(g, spec, false);
    if (gen_chance(g, 30))
        gen_add_dyn(g, spec, DT_SONAME, gen_name(g), 0);
    need_libc(g, spec);
    tree_add_elf(g->tree, path, spec);
    return by_path ? path : base;
}

/* A program that calls dlopen(), or has a library that does. musl initialises only with its libc. */
static struct elf_spec dlopener(struct gen *g, struct sample *s)
{
    const size_t n = 1 + gen_below(g, 4);
    const bool by_library = g->settings->n_libc && gen_chance(g, 50);
    const char *name[4], *opener;
    struct elf_spec spec;

    s->dlopens = arena_calloc(g->arena, n, sizeof(*s->dlopens));
    for (size_t i = 0; i < n; i++)
        s->dlopens[s->n_dlopens++] = (struct dlopen_call){
            .name = name[i] = gen_request(g), .caller = by_library ? "libopener.so" : NULL};
    if (by_library) {
        opener = add_opener(g, name, n);
        spec = elf_program(g->settings->interp);
        gen_add_dyn(g, &spec, DT_NEEDED, opener, 0);
    } else {
        spec = elf_dlopener(g->arena, g->settings->interp, name, n);
    }
    need_libc(g, &spec);
    add_libc(g);
    return spec;
}

static void add_libc_path(struct gen *g, struct elf_spec *spec)
{
    struct elf_dyn *dynamic =
        arena_memdup(g->arena, spec->dynamic, spec->n_dynamic * sizeof(*dynamic));
    bool found = false;

    for (size_t i = 0; i < spec->n_dynamic; i++)
        if (dynamic[i].tag == DT_RUNPATH || dynamic[i].tag == DT_RPATH) {
            dynamic[i].text = arena_printf(g->arena, "%s:/libc/lib", dynamic[i].text);
            found = true;
        }
    spec->dynamic = dynamic;
    if (!found)
        gen_add_dyn(g, spec, gen_chance(g, 70) ? DT_RUNPATH : DT_RPATH, "/libc/lib", 0);
}

static void add_program(struct gen *g, struct sample *s)
{
    static const char *const places[] = {"/prog", "/app/prog", "/app/bin/prog", "/s/a/bin/prog"};
    struct elf_spec *spec = arena_alloc(g->arena, sizeof(*spec));
    const char *path = PICK(g, places);

    *spec = elf_program(g->settings->interp);
    if (g->settings->libc && gen_chance(g, 12))
        *spec = dlopener(g, s);
    gen_add_paths(g, spec, true);
    if (s->n_dlopens)
        add_libc_path(g, spec);
    if (gen_chance(g, 10))
        gen_add_dyn(g, spec, DT_SONAME, gen_chance(g, 50) ? "libself.so" : gen_name(g), 0);
    for (size_t n = 1 + gen_below(g, 5); n; n--)
        gen_add_dyn(g, spec, DT_NEEDED, gen_request(g), 0);
    s->secure = g->settings->any_user && gen_chance(g, 4);
    if (gen_chance(g, 50))
        gen_add_dyn(g, spec, DT_FLAGS_1, NULL, DF_1_PIE | DF_1_NOW);
    g->file[g->n_files++] = path; /* links to it count as libraries */
    g->plain_modes = s->secure;
    if (!s->secure)
        add_audit(g, spec);
    tree_add_elf(g->tree, path, spec)->mode = s->secure ? 04755 : 0755;
    if (gen_chance(g, 90)) { /* what the kernel says there; without it $ORIGIN is unknown */
        tree_add_link(g->tree, "/proc/self/exe", path);
        tree_add_link(g->tree, "/proc/self/fd/3", path);
    }
    s->program = g->origin = path;
    if (gen_chance(g, 15)) {
        tree_add_link(g->tree, "/bin/start", path);
        s->program = "/bin/start";
    }
    s->cwd = gen_chance(g, 70) ? "/" : "/w";
    tree_add(g->tree, ENTRY_DIR, "/w");
    if (gen_chance(g, 10))
        s->program =
            arena_printf(g->arena, "%s%s", strcmp(s->cwd, "/") ? "../" : "./", s->program + 1);
}

/* The loader as a command: options, and then the program. */
static void add_explicit(struct gen *g, struct sample *s)
{
    static const char *const levels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v2:x86-64-v4", "own",
                                         ""};
    const bool glibc = g->settings->ldso->libc == LIBC_GLIBC;
    const struct option {
        const char *name, *value;
        bool offered;
    } options[] = {
        {"--library-path", gen_path_list(g, 3, ":"), true},
        {"--preload", gen_request_list(g, 2, ": "), true},
        {"--inhibit-cache", NULL, glibc},
        {"--inhibit-rpath", gen_chance(g, 50) ? g->origin : gen_path_list(g, 2, ":"), glibc},
        {"--audit", gen_request_list(g, 2, ":"), glibc},
        {"--argv0", "other", !glibc || g->settings->version >= 33},
        {"--glibc-hwcaps-prepend", PICK(g, levels), glibc && g->settings->version >= 33},
        {"--glibc-hwcaps-mask", PICK(g, levels), glibc && g->settings->version >= 33},
    };
    const struct option *option;

    if (s->secure || !gen_chance(g, 8))
        return;
    s->args = arena_calloc(g->arena, 2 * ARRAY_LEN(options) + 1, sizeof(*s->args));
    for_each (option, options) {
        if (!option->offered || !gen_chance(g, 20))
            continue;
        s->args[s->n_args++] = option->name;
        if (option->value)
            s->args[s->n_args++] = option->value;
    }
    s->args[s->n_args++] = s->program;
    s->program = s->interp;
    if (tree_find(g->tree, "/proc/self/exe"))
        for (size_t i = 0; i < g->tree->n_entries; i++)
            if (g->tree->entry[i].is_loader)
                tree_find(g->tree, "/proc/self/exe")->target = g->tree->entry[i].path;
}

/* Somebody who is not root, and places that are not for him. */
static void add_user(struct gen *g, struct sample *s)
{
    static const uint32_t modes[] = {0700, 0711, 0744, 0000, 0750, 0555, 0070};

    if (s->secure)
        s->uid = 65534; /* starts it; root then looks */
    if (s->secure || !g->settings->any_user || !gen_chance(g, 15))
        return;
    s->uid = 65534;
    for (size_t i = 0; i < g->tree->n_entries; i++) {
        struct entry *entry = &g->tree->entry[i];
        const size_t len = strlen(entry->path);

        if (!str_starts(entry->path, "/s/") && !str_starts(entry->path, "/opt") &&
            !str_starts(entry->path, "/w/"))
            continue;
        if (entry->is_loader || !strncmp(g->origin, entry->path, len))
            continue;
        if (gen_chance(g, 12))
            entry->mode = PICK(g, modes);
        if (gen_chance(g, 6))
            entry->uid = 65534;
    }
}

static void add_loader(struct gen *g)
{
    const char *path = g->settings->interp, *name = g->settings->loader_name;
    struct entry *loader;

    if (name) {
        tree_add_link(g->tree, path, name);
        path = arena_printf(g->arena, "%.*s%s", (int)(str_base(path) - path), path, name);
    }
    loader = tree_add(g->tree, ENTRY_FILE, path);
    loader->copy_of = g->settings->loader_file;
    loader->is_loader = true;
    tree_add(g->tree, ENTRY_DIR, "/proc");
}

void sample_make(struct arena *arena, uint64_t seed, const struct sample_settings *settings,
                 struct sample *ret_sample)
{
    struct sample s = {
        .arena = arena,
        .seed = seed,
        .tree = {.arena = arena},
        .interp = settings->interp,
    };
    struct gen g = {.arena = arena, .tree = &s.tree, .settings = settings, .state = seed};

    fill_pools(&g);
    add_loader(&g);
    add_program(&g, &s);
    for (size_t i = 0; i < g.n_dirs; i++)
        gen_fill_dir(&g, g.dir[i]);
    gen_preload_file(&g);
    gen_cache(&g);
    add_env(&g, &s);
    add_explicit(&g, &s);
    drop_impossible(&s.tree);
    add_user(&g, &s);
    *ret_sample = s;
}
