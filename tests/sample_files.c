#include "tests/sample_gen.h"

#include "base/str.h"
#include "loader/ldcache_write.h"

#include <string.h>

/* ---- what lies in directories */

static void add_library(struct gen *g, const char *path, const char *name)
{
    tree_add_elf(g->tree, path, gen_library(g, name));
    if (g->n_files < MAX_OBJECTS)
        g->file[g->n_files++] = path;
}

static const char *link_target(struct gen *g)
{
    const char *dir = gen_dir(g);

    return *dir ? dir : "/";
}

/* Something that bears a library's name and is not one, or is one under another name. */
static void add_odd(struct gen *g, const char *path, const char *name)
{
    const char *other = g->n_files ? g->file[gen_below(g, g->n_files)] : "/nowhere";
    struct elf_spec *spec;

    switch (gen_below(g, 14)) {
    case 0:
        tree_add(g->tree, ENTRY_DIR, path);
        break;
    case 1:
        tree_add_text(g->tree, path, "");
        break;
    case 2:
        tree_add_text(g->tree, path, "/* GNU ld script */\nINPUT ( libx.so.1 ) and so on and on\n");
        break;
    case 3:
        tree_add_link(g->tree, path, name);
        break; /* to itself */
    case 4:
        tree_add_link(g->tree, path, "/nowhere/at/all");
        break;
    case 5:
        tree_add_text(g->tree, path, "\177ELF");
        break;
    case 6:
    case 7:
        tree_add_link(g->tree, path, other);
        break;
    case 8:
        if (strcmp(other, path) && g->n_files)
            tree_add(g->tree, ENTRY_HARD_LINK, path)->target = other;
        break;
    case 9:
        tree_add_link(g->tree, path, g->settings->interp);
        break;
    default:
        spec = gen_library(g, name);
        gen_break(g, spec, (enum fault)gen_below(g, N_FAULTS));
        tree_add_elf(g->tree, path, spec);
        break;
    }
}

static void add_file(struct gen *g, const char *dir, const char *name)
{
    const char *path = arena_printf(g->arena, "%s/%s", dir, name);

    if (tree_find(g->tree, path) || strlen(name) > 255)
        return;
    if (gen_chance(g, 85))
        add_library(g, path, name);
    else
        add_odd(g, path, name);
}

static void fill_hwcaps(struct gen *g, const char *dir)
{
    static const char *const subdirs[] = {
        "glibc-hwcaps",           "glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3",
        "glibc-hwcaps/x86-64-v4", "glibc-hwcaps/x86-64-v5", "glibc-hwcaps/x86-64-v3",
    };
    static const char *const legacy[] = {
        "tls",
        "x86_64",
        "haswell",
        "tls/x86_64",
        "haswell/x86_64",
        "tls/haswell/avx512_1/x86_64",
        "avx512_1/x86_64",
        "x86_64/x86_64",
    };
    const bool old = g->settings->version < 37 && gen_chance(g, 50);
    const char *path =
        arena_printf(g->arena, "%s/%s", dir, old ? PICK(g, legacy) : PICK(g, subdirs));

    if (tree_find(g->tree, path))
        return;
    switch (gen_below(g, 8)) {
    case 0:
        tree_add_text(g->tree, path, "x");
        break;
    case 1:
        tree_add_link(g->tree, path, link_target(g));
        break;
    case 2:
        tree_add(g->tree, ENTRY_DIR, path);
        break;
    default:
        add_file(g, path, gen_name(g));
        break;
    }
}

/* A directory of the pool becomes a directory, a link, a file, a loop, or stays away. */
void gen_fill_dir(struct gen *g, const char *dir)
{
    const struct entry *there = tree_find(g->tree, dir);

    if (*dir && !there) {
        switch (gen_below(g, 24)) {
        case 0:
            tree_add_text(g->tree, dir, "a file");
            return;
        case 1:
            tree_add_link(g->tree, dir, link_target(g));
            return;
        case 2:
            tree_add_link(g->tree, dir, str_base(dir));
            return;
        case 3:
        case 4:
            return;
        default:
            tree_add(g->tree, ENTRY_DIR, dir);
            break;
        }
    } else if (there && there->kind != ENTRY_DIR) {
        return;
    }
    for (size_t i = 0; i < g->n_names; i++)
        if (gen_chance(g, 40))
            add_file(g, dir, g->name[i]);
    while (gen_chance(g, 25))
        fill_hwcaps(g, dir);
}

/* ---- files the loader reads */

void gen_preload_file(struct gen *g)
{
    const char *path = g->settings->ldso->preload;
    struct str text = {.arena = g->arena};
    static const char *const separators[] = {" ",   "\n",   ":", "\t",    "\n\n",
                                             " # ", "\n# ", "#", "\n#no "};

    if (!path || !gen_chance(g, 12))
        return;
    str_add(&text, gen_chance(g, 30) ? "# comment\n" : "");
    for (size_t n = gen_below(g, 5); n; n--)
        str_printf(&text, "%s%s", gen_request(g), PICK(g, separators));
    if (gen_chance(g, 5))
        tree_add(g->tree, ENTRY_DIR, path);
    else
        tree_add_text(g->tree, path, text.text)->mode =
            !g->plain_modes && gen_chance(g, 10) ? 0600 : 0644;
}

void gen_cache(struct gen *g)
{
    static const char *const levels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "power9"};
    static const uint64_t hwcaps[] = {0, 0, 0, 0, 0, 0, 2, 4, UINT64_C(1) << 63, UINT64_C(1) << 50};
    const char *path = g->settings->ldso->cache;
    struct cache_entry entry[16];
    const size_t n = gen_below(g, ARRAY_LEN(entry));
    struct entry *file;

    if (!path || !gen_chance(g, 30))
        return;
    for (size_t i = 0; i < n; i++) {
        const char *name = gen_name(g);

        entry[i] = (struct cache_entry){
            .flags = gen_chance(g, 90)   ? 0x0303
                     : gen_chance(g, 50) ? 0x0003
                                         : 0x0803,
            .key = name,
            .value = g->n_files && gen_chance(g, 50)
                         ? g->file[gen_below(g, g->n_files)]
                         : arena_printf(g->arena, "%s/%s", gen_dir(g), name),
            .hwcap = PICK(g, hwcaps),
            .level = g->settings->version >= 33 && gen_chance(g, 20) ? PICK(g, levels) : NULL,
        };
    }
    file = tree_add(g->tree, ENTRY_FILE, path);
    ldcache_write(g->arena, entry, n, false, &file->bytes, &file->size);
    file->mode = !g->plain_modes && gen_chance(g, 10) ? 0600 : 0644;
    if (gen_chance(g, 6))
        file->size = gen_below(g, file->size + 1);
    else if (gen_chance(g, 4))
        tree_add_text(g->tree, path,
                      "not a cache, but long enough to be looked at as if it were one");
}
