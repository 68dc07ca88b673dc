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

static void add_env(struct gen *g, struct sample *s)
{
    struct str preload = {.arena = g->arena};
    static const char *const tunables[] = {
        "-AVX512F", "-AVX2", "-AVX512BW,-AVX2", "-SSE4_2", "-BMI2", "-AVX2_Usable",
    };

    s->env = arena_calloc(g->arena, 8, sizeof(*s->env));
    if (gen_chance(g, 35))
        s->env[s->n_env++] = arena_printf(g->arena, "LD_LIBRARY_PATH=%s",
                                          gen_path_list(g, 4, gen_chance(g, 70) ? ":" : ":;"));
    if (gen_chance(g, 20)) {
        str_add(&preload, "LD_PRELOAD=");
        for (size_t n = gen_below(g, 4); n; n--)
            str_printf(&preload, "%s%s", gen_request(g),
                       PICK(g, ((const char *const[]){":", " ", "  "})));
        s->env[s->n_env++] = preload.text;
    }
    if (g->settings->version >= 33 && gen_chance(g, 5))
        s->env[s->n_env++] =
            arena_printf(g->arena, "GLIBC_TUNABLES=glibc.cpu.hwcaps=%s", PICK(g, tunables));
}

static void add_program(struct gen *g, struct sample *s)
{
    static const char *const places[] = {"/prog", "/app/prog", "/app/bin/prog", "/s/a/bin/prog"};
    struct elf_spec *spec = arena_alloc(g->arena, sizeof(*spec));
    const char *path = PICK(g, places);

    *spec = elf_program(g->settings->interp);
    gen_add_paths(g, spec, true);
    if (gen_chance(g, 10))
        gen_add_dyn(g, spec, DT_SONAME, gen_chance(g, 50) ? "libself.so" : gen_name(g), 0);
    for (size_t n = 1 + gen_below(g, 5); n; n--)
        gen_add_dyn(g, spec, DT_NEEDED, gen_request(g), 0);
    tree_add_elf(g->tree, path, spec);
    if (gen_chance(g, 90)) /* what the kernel says there; without it $ORIGIN is unknown */
        tree_add_link(g->tree, "/proc/self/exe", path);
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

/* Somebody who is not root, and places that are not for him. */
static void add_user(struct gen *g, struct sample *s)
{
    static const uint32_t modes[] = {0700, 0711, 0744, 0000, 0750, 0555, 0070};

    if (!g->settings->any_user || !gen_chance(g, 15))
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
    drop_impossible(&s.tree);
    add_user(&g, &s);
    *ret_sample = s;
}
