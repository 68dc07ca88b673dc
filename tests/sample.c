#include "tests/sample.h"

#include "base/str.h"
#include "tests/ldcache.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DIRS = 24, MAX_NAMES = 16, MAX_OBJECTS = 64 };

/*
 * The generator: pools of directories and of library names, and what it has made so far. Paths
 * are drawn from the pools again and again, so that things meet.
 */
struct gen {
    struct arena *arena;
    struct tree *tree;
    const struct sample_settings *settings;
    uint64_t state;
    const char *dir[MAX_DIRS]; /* without trailing slash; some do not exist */
    size_t n_dirs;
    const char *name[MAX_NAMES];
    size_t n_names;
    const char *file[MAX_OBJECTS]; /* good libraries, targets for links */
    size_t n_files;
    const char *origin; /* the program's own path */
};

/* splitmix64: small, and the same on every machine */
static uint64_t next(struct gen *g)
{
    uint64_t z = g->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(struct gen *g, size_t n)
{
    return (size_t)(next(g) >> 11) % n;
}

static bool chance(struct gen *g, unsigned percent)
{
    return below(g, 100) < percent;
}

#define PICK(g, table) ((table)[below(g, ARRAY_LEN(table))])

static const char *any_dir(struct gen *g)
{
    return g->dir[below(g, g->n_dirs)];
}

static const char *any_name(struct gen *g)
{
    return g->name[below(g, g->n_names)];
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
    const size_t n_dirs = 3 + below(g, 6), n_names = 2 + below(g, 6);

    while (g->n_dirs < n_dirs)
        g->dir[g->n_dirs++] = PICK(g, dirs);
    for (size_t i = 0; i < g->settings->ldso->n_system_dirs; i++)
        if (chance(g, 40)) {
            const char *dir = g->settings->ldso->system_dirs[i];

            g->dir[g->n_dirs++] = arena_strndup(g->arena, dir, strlen(dir) - 1);
        }
    if (chance(g, 5))
        g->dir[g->n_dirs++] = "";
    while (g->n_names < n_names)
        g->name[g->n_names++] = PICK(g, names);
    if (chance(g, 3)) {
        char *name = arena_alloc(g->arena, 300);

        memset(name, 'n', 250 + below(g, 12));
        g->name[g->n_names++] = name;
    }
    if (chance(g, 3))
        g->name[g->n_names++] = "lib\xff\x01\\.so";
}

/* ---- path strings */

/* One component of a run path or LD_LIBRARY_PATH. */
static const char *component(struct gen *g)
{
    static const char *const tokens[] = {
        "$ORIGIN",
        "${ORIGIN}",
        "$ORIGIN/../lib",
        "$ORIGIN/lib",
        "$ORIGIN/",
        "/s/$PLATFORM",
        "/s/${PLATFORM}",
        "/$LIB",
        "/usr/$LIB",
        "/s/a/$LIB",
        "/s/a/${LIB}/",
        "$ORIGINX",
        "${ORIGIN/lib",
        "$FOO",
        "/s/$",
        "$",
        "$$ORIGIN/lib",
        "/s/$LIBX/lib",
        "$ORIGIN_",
        "/s${ORIGIN}",
        "${PLATFORM",
        "${ORIGINAL}/lib",
        "$ORIGIN$LIB",
        "/s/c/$lib",
        "${LIB}",
        "/s/$PLATFORM/x",
        "$ORIGIN/../../s/c",
        "$LIB/$PLATFORM",
        "//$LIB",
        "/s/a/$LIB64",
    };
    static const char *const odd[] = {
        "",
        "/",
        "rel",
        "rel/",
        "./rel",
        ".",
        "..",
        "//",
        "lib",
        "/s/a/lib/../lib",
        "/s/./a/lib",
        "no/such",
        "/w/../s/b/lib",
        "/s/a/lib/liba.so",
        "/app//lib",
    };
    const char *dir = any_dir(g);

    switch (below(g, 20)) {
    case 0:
    case 1:
    case 2:
        return PICK(g, tokens);
    case 3:
        return PICK(g, odd);
    case 4:
        return arena_printf(g->arena, "%s/", dir);
    case 5:
        return arena_printf(g->arena, "%s///", dir);
    case 6:
        return arena_printf(g->arena, "%s/.", dir);
    case 7:
        return chance(g, 50) ? arena_printf(g->arena, "/%s", dir) : dir;
    default:
        return dir;
    }
}

static const char *path_list(struct gen *g, size_t max, const char *separators)
{
    struct str list = {.arena = g->arena};
    const size_t n = below(g, max + 1);

    str_add(&list, "");
    for (size_t i = 0; i < n; i++) {
        if (i)
            str_add_n(&list, separators + below(g, strlen(separators)), 1);
        str_add(&list, component(g));
    }
    if (chance(g, 4))
        str_add_n(&list, separators, 1);
    return list.text;
}

/* What stands in a DT_NEEDED, an LD_PRELOAD: mostly a plain name. */
static const char *request(struct gen *g)
{
    static const char *const odd[] = {
        "",
        "linux-vdso.so.1",
        "ld-linux-x86-64.so.2",
        "libmissing.so",
        "./liba.so",
        "w/x.so",
        "$ORIGIN",
        "lib$LIB.so",
        "/nowhere/x.so",
        "/s/a/lib",
        "$LIB",
        "libself.so",
        "$",
        "$ORIGINX/liba.so",
    };
    static const char *const before[] = {
        "$ORIGIN", "${ORIGIN}", "$ORIGIN/../lib", "/$LIB", "/s/$PLATFORM", "rel", ".", "/s/a/lib/.",
    };

    switch (below(g, 40)) {
    case 0:
        return chance(g, 40) ? PICK(g, odd) : any_name(g);
    case 1:
        return g->settings->interp;
    case 2:
    case 3:
    case 4:
        return arena_printf(g->arena, "%s/%s", any_dir(g), any_name(g));
    case 5:
        return arena_printf(g->arena, "%s/%s", PICK(g, before), any_name(g));
    case 6:
        return g->n_files ? g->file[below(g, g->n_files)] : any_name(g);
    default:
        return any_name(g);
    }
}

/* ---- objects */

static void add_dyn(struct gen *g, struct elf_spec *spec, int64_t tag, const char *text,
                    uint64_t value)
{
    struct elf_dyn *list = arena_calloc(g->arena, spec->n_dynamic + 1, sizeof(*list));
    const size_t at = below(g, spec->n_dynamic + 1); /* anywhere among the others */

    if (spec->n_dynamic) {
        memcpy(list, spec->dynamic, at * sizeof(*list));
        memcpy(list + at + 1, spec->dynamic + at, (spec->n_dynamic - at) * sizeof(*list));
    }
    list[at] = (struct elf_dyn){tag, text, value};
    spec->dynamic = list;
    spec->n_dynamic++;
}

static void add_note(struct gen *g, struct elf_spec *spec, const char *owner, uint32_t type,
                     const void *bytes, size_t size)
{
    struct elf_note *note = arena_alloc(g->arena, sizeof(*note));

    *note = (struct elf_note){owner, type, arena_memdup(g->arena, bytes, size), (uint32_t)size};
    spec->note = note;
    spec->n_notes = 1;
}

/* The resolution note of an object: what readers of it may find, right or wrong. */
static void add_resolution(struct gen *g, struct elf_spec *spec)
{
    struct str text = {.arena = g->arena};

    for (size_t n = 1 + below(g, 3); n; n--) {
        const char *name = any_name(g);
        struct str list = {.arena = g->arena};

        str_add(&list, "");
        for (size_t i = below(g, 4); i; i--) {
            if (chance(g, 50))
                str_printf(&list, "?%s%s", component(g), i > 1 ? ":" : "");
            else
                str_printf(&list, "=%s/%s%s", any_dir(g), name, i > 1 ? ":" : "");
        }
        str_add_n(&text, name, strlen(name) + 1);
        str_add_n(&text, list.text, list.len + 1);
    }
    str_add_n(&text, "", 1);
    add_note(g, spec, "NixOS", NT_NIXOS_RESOLUTION, text.text, text.len);
}

static void add_paths(struct gen *g, struct elf_spec *spec, bool program)
{
    const bool nodeflib = chance(g, 8);

    if (chance(g, program ? 75 : 45))
        add_dyn(g, spec, DT_RUNPATH, path_list(g, program ? 5 : 3, ":"), 0);
    if (chance(g, program ? 20 : 25))
        add_dyn(g, spec, DT_RPATH, path_list(g, 3, ":"), 0);
    if (nodeflib)
        add_dyn(g, spec, DT_FLAGS_1, NULL, DF_1_NODEFLIB);
    if (g->settings->ldso->reads_note ? chance(g, 40) : chance(g, 3))
        add_resolution(g, spec);
}

/* Things that can be wrong with a library, and with which the loader ends or goes on. */
enum fault {
    BAD_CLASS,
    BAD_MACHINE,
    BAD_BIG_ENDIAN,
    BAD_BIG_OTHER,
    BAD_TYPE_EXEC,
    BAD_TYPE_REL,
    BAD_VERSION,
    BAD_IDENT_VERSION,
    BAD_OSABI,
    GOOD_OSABI_GNU,
    BAD_ABIVERSION,
    GOOD_ABIVERSION,
    BAD_PADDING,
    BAD_PHENTSIZE,
    BAD_NO_DYNAMIC,
    BAD_EMPTY_DYNAMIC,
    BAD_PIE,
    BAD_ABI_TAG_OS,
    BAD_ABI_TAG_KERNEL,
    GOOD_ABI_TAG,
    BAD_OTHER_IDENT,
    N_FAULTS,
};

static void abi_tag(struct gen *g, struct elf_spec *spec, uint32_t os, uint32_t major)
{
    const uint32_t tag[4] = {os, major, 2, 0};

    add_note(g, spec, "GNU", NT_GNU_ABI_TAG, tag, sizeof(tag));
}

static void break_object(struct gen *g, struct elf_spec *spec, enum fault fault)
{
    switch (fault) {
    case BAD_CLASS:
        elf_for_machine(spec, EM_386, ELFCLASS32, ELFDATA2LSB);
        break;
    case BAD_MACHINE:
        spec->machine = PICK(g, ((const uint16_t[]){EM_AARCH64, EM_386}));
        break;
    case BAD_BIG_ENDIAN:
        spec->data = ELFDATA2MSB;
        break;
    case BAD_BIG_OTHER:
        elf_for_machine(spec, EM_S390, ELFCLASS64, ELFDATA2MSB);
        break;
    case BAD_TYPE_EXEC:
        spec->type = ET_EXEC;
        break;
    case BAD_TYPE_REL:
        spec->type = ET_REL;
        break;
    case BAD_VERSION:
        spec->version = 2;
        break;
    case BAD_IDENT_VERSION:
        spec->ident_version = 0;
        break;
    case BAD_OSABI:
        spec->osabi = ELFOSABI_FREEBSD;
        break;
    case GOOD_OSABI_GNU:
        spec->osabi = ELFOSABI_GNU;
        break;
    case BAD_ABIVERSION:
        spec->abiversion = 1;
        break;
    case GOOD_ABIVERSION:
        spec->osabi = ELFOSABI_GNU;
        spec->abiversion = (uint8_t)below(g, 6);
        break;
    case BAD_PADDING:
        spec->ident_pad = true;
        break;
    case BAD_PHENTSIZE:
        spec->phentsize = 32;
        break;
    case BAD_NO_DYNAMIC:
        spec->no_dynamic = true;
        break;
    case BAD_EMPTY_DYNAMIC:
        spec->empty_dynamic = true;
        break;
    case BAD_PIE:
        add_dyn(g, spec, DT_FLAGS_1, NULL, DF_1_PIE);
        break;
    case BAD_ABI_TAG_OS:
        abi_tag(g, spec, 1, 2);
        break;
    case BAD_ABI_TAG_KERNEL:
        abi_tag(g, spec, 0, 99);
        break;
    case GOOD_ABI_TAG:
        abi_tag(g, spec, 0, 3);
        break;
    case BAD_OTHER_IDENT:
        spec->machine = EM_386;
        spec->osabi = ELFOSABI_FREEBSD;
        break;
    case N_FAULTS:
    default:
        break;
    }
}

static struct elf_spec *library(struct gen *g, const char *name)
{
    struct elf_spec *spec = arena_alloc(g->arena, sizeof(*spec));

    *spec = elf_library();
    if (chance(g, 80))
        add_dyn(g, spec, DT_SONAME, chance(g, 92) ? name : any_name(g), 0);
    add_paths(g, spec, false);
    for (size_t n = below(g, 4); n > 1; n--)
        add_dyn(g, spec, DT_NEEDED, request(g), 0);
    return spec;
}

/* ---- what lies in directories */

static void add_library(struct gen *g, const char *path, const char *name)
{
    tree_add_elf(g->tree, path, library(g, name));
    if (g->n_files < MAX_OBJECTS)
        g->file[g->n_files++] = path;
}

static const char *link_target(struct gen *g)
{
    const char *dir = any_dir(g);

    return *dir ? dir : "/";
}

/* Something that bears a library's name and is not one, or is one under another name. */
static void add_odd(struct gen *g, const char *path, const char *name)
{
    const char *other = g->n_files ? g->file[below(g, g->n_files)] : "/nowhere";
    struct elf_spec *spec;

    switch (below(g, 14)) {
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
        spec = library(g, name);
        break_object(g, spec, (enum fault)below(g, N_FAULTS));
        tree_add_elf(g->tree, path, spec);
        break;
    }
}

static void add_file(struct gen *g, const char *dir, const char *name)
{
    const char *path = arena_printf(g->arena, "%s/%s", dir, name);

    if (tree_find(g->tree, path) || strlen(name) > 255)
        return;
    if (chance(g, 85))
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
    const bool old = g->settings->version < 37 && chance(g, 50);
    const char *path =
        arena_printf(g->arena, "%s/%s", dir, old ? PICK(g, legacy) : PICK(g, subdirs));

    if (tree_find(g->tree, path))
        return;
    switch (below(g, 8)) {
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
        add_file(g, path, any_name(g));
        break;
    }
}

/* A directory of the pool becomes a directory, a link, a file, a loop, or stays away. */
static void make_dir(struct gen *g, const char *dir)
{
    const struct entry *there = tree_find(g->tree, dir);

    if (*dir && !there) {
        switch (below(g, 24)) {
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
        if (chance(g, 40))
            add_file(g, dir, g->name[i]);
    while (chance(g, 25))
        fill_hwcaps(g, dir);
}

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

/* ---- files the loader reads */

static void add_preload_file(struct gen *g)
{
    const char *path = g->settings->ldso->preload;
    struct str text = {.arena = g->arena};
    static const char *const separators[] = {" ",   "\n",   ":", "\t",    "\n\n",
                                             " # ", "\n# ", "#", "\n#no "};

    if (!path || !chance(g, 12))
        return;
    str_add(&text, chance(g, 30) ? "# comment\n" : "");
    for (size_t n = below(g, 5); n; n--)
        str_printf(&text, "%s%s", request(g), PICK(g, separators));
    if (chance(g, 5))
        tree_add(g->tree, ENTRY_DIR, path);
    else
        tree_add_text(g->tree, path, text.text)->mode = chance(g, 10) ? 0600 : 0644;
}

static void add_cache(struct gen *g)
{
    static const char *const levels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "power9"};
    static const uint64_t hwcaps[] = {0, 0, 0, 0, 0, 0, 2, 4, UINT64_C(1) << 63, UINT64_C(1) << 50};
    const char *path = g->settings->ldso->cache;
    struct cache_entry entry[16];
    const size_t n = below(g, ARRAY_LEN(entry));
    struct entry *file;

    if (!path || !chance(g, 30))
        return;
    for (size_t i = 0; i < n; i++) {
        const char *name = any_name(g);

        entry[i] = (struct cache_entry){
            .flags = chance(g, 90)   ? 0x0303
                     : chance(g, 50) ? 0x0003
                                     : 0x0803,
            .key = name,
            .value = g->n_files && chance(g, 50)
                         ? g->file[below(g, g->n_files)]
                         : arena_printf(g->arena, "%s/%s", any_dir(g), name),
            .hwcap = PICK(g, hwcaps),
            .level = g->settings->version >= 33 && chance(g, 20) ? PICK(g, levels) : NULL,
        };
    }
    file = tree_add(g->tree, ENTRY_FILE, path);
    ldcache_write(g->arena, entry, n, false, &file->bytes, &file->size);
    file->mode = chance(g, 10) ? 0600 : 0644;
    if (chance(g, 6))
        file->size = below(g, file->size + 1);
    else if (chance(g, 4))
        tree_add_text(g->tree, path,
                      "not a cache, but long enough to be looked at as if it were one");
}

/* ---- the start */

static void add_env(struct gen *g, struct sample *s)
{
    struct str preload = {.arena = g->arena};
    static const char *const tunables[] = {
        "-AVX512F", "-AVX2", "-AVX512BW,-AVX2", "-SSE4_2", "-BMI2", "-AVX2_Usable",
    };

    s->env = arena_calloc(g->arena, 8, sizeof(*s->env));
    if (chance(g, 35))
        s->env[s->n_env++] = arena_printf(g->arena, "LD_LIBRARY_PATH=%s",
                                          path_list(g, 4, chance(g, 70) ? ":" : ":;"));
    if (chance(g, 20)) {
        str_add(&preload, "LD_PRELOAD=");
        for (size_t n = below(g, 4); n; n--)
            str_printf(&preload, "%s%s", request(g),
                       PICK(g, ((const char *const[]){":", " ", "  "})));
        s->env[s->n_env++] = preload.text;
    }
    if (g->settings->version >= 33 && chance(g, 5))
        s->env[s->n_env++] =
            arena_printf(g->arena, "GLIBC_TUNABLES=glibc.cpu.hwcaps=%s", PICK(g, tunables));
}

static void add_program(struct gen *g, struct sample *s)
{
    static const char *const places[] = {"/prog", "/app/prog", "/app/bin/prog", "/s/a/bin/prog"};
    struct elf_spec *spec = arena_alloc(g->arena, sizeof(*spec));
    const char *path = PICK(g, places);

    *spec = elf_program(g->settings->interp);
    add_paths(g, spec, true);
    if (chance(g, 10))
        add_dyn(g, spec, DT_SONAME, chance(g, 50) ? "libself.so" : any_name(g), 0);
    for (size_t n = 1 + below(g, 5); n; n--)
        add_dyn(g, spec, DT_NEEDED, request(g), 0);
    tree_add_elf(g->tree, path, spec);
    if (chance(g, 90)) /* what the kernel says there; without it $ORIGIN is unknown */
        tree_add_link(g->tree, "/proc/self/exe", path);
    s->program = g->origin = path;
    if (chance(g, 15)) {
        tree_add_link(g->tree, "/bin/start", path);
        s->program = "/bin/start";
    }
    s->cwd = chance(g, 70) ? "/" : "/w";
    tree_add(g->tree, ENTRY_DIR, "/w");
    if (chance(g, 10))
        s->program =
            arena_printf(g->arena, "%s%s", strcmp(s->cwd, "/") ? "../" : "./", s->program + 1);
}

/* Somebody who is not root, and places that are not for him. */
static void add_user(struct gen *g, struct sample *s)
{
    static const uint32_t modes[] = {0700, 0711, 0744, 0000, 0750, 0555, 0070};

    if (!g->settings->any_user || !chance(g, 15))
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
        if (chance(g, 12))
            entry->mode = PICK(g, modes);
        if (chance(g, 6))
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
        make_dir(&g, g.dir[i]);
    add_preload_file(&g);
    add_cache(&g);
    add_env(&g, &s);
    drop_impossible(&s.tree);
    add_user(&g, &s);
    *ret_sample = s;
}
