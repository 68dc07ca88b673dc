#include "loader/profile.h"

#include "base/str.h"

#include <string.h>

enum {
    CACHE_UNMARKED = 0x0003, /* a cache entry of a machine with one kind of library */
    ASSUMED_GLIBC = 42,      /* what a loader of unknown version is taken for */
    V_HWCAPS = 33,           /* glibc-hwcaps added */
    V_NO_LEGACY = 37,        /* legacy sub-directories gone */
    V_NORMALISES = 45,       /* $ORIGIN of set-id programs is searched normalised */
    LEGACY_NAMES_MAX = 9,    /* 2^9 combinations: s390x */
};

/*
 * What is compiled into glibc's loader for a machine: the flags of cache entries (docs/loader.md,
 * 10), how many ABI versions it knows (9), and whether the order of a cache's keys, compared as
 * char, is that of signed bytes.
 */
static const struct build {
    uint16_t machine;
    uint8_t class, abi_versions;
    uint32_t cache_flags;
    bool signed_char;
} builds[] = {
    {EM_X86_64, ELFCLASS64, 4, 0x0303, true},      {EM_X86_64, ELFCLASS32, 4, 0x0803, true},
    {EM_386, ELFCLASS32, 4, CACHE_UNMARKED, true}, {EM_AARCH64, ELFCLASS64, 3, 0x0a03, false},
    {EM_ARM, ELFCLASS32, 3, 0x0903, false},        {EM_RISCV, ELFCLASS64, 4, 0x1003, false},
    {EM_PPC64, ELFCLASS64, 4, 0x0503, false},      {EM_S390, ELFCLASS64, 3, 0x0403, false},
    {EM_LOONGARCH, ELFCLASS64, 3, 0x1203, true},
};

static void set_build(struct profile *profile)
{
    static const struct build other = {.abi_versions = 3, .cache_flags = CACHE_UNMARKED};
    const struct build *build, *found = &other;

    for_each (build, builds)
        if (build->machine == profile->machine && build->class == profile->class)
            found = build;
    profile->abi_versions = found->abi_versions;
    profile->signed_char = found->signed_char;
    profile->cache_flags = found->cache_flags;
    profile->cache_flags_old = profile->machine == EM_ARM ? CACHE_UNMARKED : found->cache_flags;
}

/* "2.36" -> 36, "1.2.5" -> 10205; 0: not a version. Digits only, so bounded by hand. */
static int version_number(enum libc libc, const char *text)
{
    int part[3] = {0};

    for (size_t i = 0; i < ARRAY_LEN(part); i++) {
        const char *end = text;

        while (*end >= '0' && *end <= '9' && end - text < 4)
            part[i] = part[i] * 10 + (*end++ - '0');
        if (end == text || (*end >= '0' && *end <= '9'))
            return 0;
        text = end + (*end == '.');
        if (*end != '.')
            break;
    }
    if (libc == LIBC_MUSL)
        return part[0] * 10000 + part[1] * 100 + part[2];
    return part[0] == 2 ? part[1] : 0;
}

/*
 * The version in a path like /nix/store/HASH-glibc-2.40-66/lib/ld-linux-x86-64.so.2, or in the
 * file's own name, ld-2.31.so, as glibc installs itself up to 2.34.
 */
static const char *version_in_path(struct arena *arena, enum libc libc, const char *path)
{
    const char *mark = libc == LIBC_MUSL ? "-musl-" : "-glibc-";
    const char *at = strstr(path, mark);
    size_t len;

    if (at)
        at += strlen(mark);
    else if (libc == LIBC_GLIBC && str_starts(str_base(path), "ld-2."))
        at = str_base(path) + strlen("ld-");
    if (!at)
        return NULL;
    len = strspn(at, "0123456789.");
    return arena_strndup(arena, at, len - (len && at[len - 1] == '.'));
}

static void set_version(struct arena *arena, const struct ldso *ldso, const char *path,
                        struct profile *p)
{
    const char *version = ldso->version;

    if (!version)
        version = version_in_path(arena, p->libc, path);
    p->version = version ? version_number(p->libc, version) : 0;
    if (p->version == 0) {
        version = p->libc == LIBC_MUSL ? "1.2.5" : "2.42";
        p->version = p->libc == LIBC_MUSL ? 10205 : ASSUMED_GLIBC;
        p->assumed = arena_printf(arena,
                                  "profile unknown, assumed %s %s: '%s' does not tell its "
                                  "version",
                                  p->libc == LIBC_MUSL ? "musl" : "glibc", version, path);
    }
    p->text = arena_printf(arena, "%s %s%s%s", p->libc == LIBC_MUSL ? "musl" : "glibc", version,
                           p->debian ? " (Debian)" : "",
                           p->reader != READER_NONE ? " with resolution notes" : "");
}

static void cap_add(struct arena *arena, struct profile *p, const char *text)
{
    p->caps = arena_grow(arena, p->caps, p->n_caps, sizeof(*p->caps));
    p->caps[p->n_caps++] = text;
}

/* glibc-hwcaps levels that this CPU has, best first. s390x levels came with releases of glibc. */
static void add_levels(struct arena *arena, const struct cpu *cpu, struct profile *p)
{
    static const struct since {
        const char *level;
        int version;
    } newer[] = {{"z16", 36}, {"z17", 42}};
    const struct since *since;

    if (cpu->machine == EM_X86_64)
        for (int l = cpu_level(cpu); l >= 2; l--)
            cap_add(arena, p, arena_printf(arena, "glibc-hwcaps/x86-64-v%d/", l));
    for (const char *const *name = cpu->levels; name && *name; name++) {
        bool known = true;

        for_each (since, newer)
            known &= strcmp(*name, since->level) != 0 || p->version >= since->version;
        if (known)
            cap_add(arena, p, arena_printf(arena, "glibc-hwcaps/%s/", *name));
    }
    p->n_levels = p->n_caps;
}

/*
 * The legacy sub-directories: every combination of the CPU's names, the last name first, counted
 * down; the empty combination comes last (docs/loader.md, 11).
 */
static void add_legacy(struct arena *arena, const struct cpu *cpu, struct profile *p)
{
    const char *name[LEGACY_NAMES_MAX];
    size_t n = 0;

    if (cpu->machine == EM_X86_64) {
        name[n++] = "x86_64";
        if (cpu_avx512_1(cpu))
            name[n++] = "avx512_1";
    }
    for (const struct hwcap *legacy = cpu->legacy; legacy->name && n < LEGACY_NAMES_MAX - 2;
         legacy++)
        name[n++] = legacy->name;
    if (p->platform)
        name[n++] = p->platform;
    name[n++] = "tls";
    for (unsigned m = (1u << n) - 1; m > 0; m--) {
        struct str cap = {.arena = arena};

        for (size_t i = n; i-- > 0;)
            if (m & 1u << i)
                str_printf(&cap, "%s/", name[i]);
        cap_add(arena, p, cap.text);
    }
}

/* Bits of a plain cache entry's hwcap word that this CPU satisfies (docs/loader.md, 10). */
static uint64_t cache_hwcaps(const struct cpu *cpu, const struct profile *p)
{
    uint64_t bits = UINT64_C(1) << 63; /* tls */

    for (const struct hwcap *legacy = cpu->legacy; legacy->name; legacy++)
        bits |= UINT64_C(1) << legacy->bit;
    if (cpu->platform_bit)
        bits |= UINT64_C(1) << cpu->platform_bit;
    if (cpu->machine != EM_X86_64)
        return bits;
    bits |= UINT64_C(1) << 1; /* x86_64 */
    if (cpu_avx512_1(cpu))
        bits |= UINT64_C(1) << 2;
    if (p->platform && strcmp(p->platform, "haswell") == 0)
        bits |= UINT64_C(1) << 50;
    if (p->platform && strcmp(p->platform, "xeon_phi") == 0)
        bits |= UINT64_C(1) << 51;
    return bits;
}

/* The store that a loader lies in, by its name or by its real path; else Nix's own. */
static const char *store_of(struct arena *arena, const char *interp, const char *interp_path)
{
    static const char mark[] = "/store/";
    const char *path = interp ? interp : interp_path, *at = strstr(path, mark);

    if (!at) {
        path = interp_path;
        at = strstr(path, mark);
    }
    return at ? arena_strndup(arena, path, (size_t)(at - path) + strlen(mark)) : "/nix/store/";
}

/*
 * The CPU that programs of the loader's machine find on `cpu`. An x86-64 CPU runs i686 programs;
 * for any other pair, as when a tree for another machine is looked at with --cpu host, that
 * machine's default is assumed.
 */
static struct cpu fitting_cpu(struct arena *arena, const struct cpu *cpu, struct profile *p)
{
    const char *name = cpu_default(p->machine);
    struct cpu fitting;
    struct err err;

    if (cpu->machine == p->machine || !name || cpu_find(name, &fitting, &err) < 0)
        return *cpu;
    if (p->libc == LIBC_GLIBC && !(cpu->machine == EM_X86_64 && p->machine == EM_386))
        p->assumed =
            arena_printf(arena, "%s%sCPU %s assumed: the loader is not for %s",
                         p->assumed ? p->assumed : "", p->assumed ? "; " : "", name, cpu->name);
    return fitting;
}

static void set_cpu(struct arena *arena, const struct cpu *cpu, struct profile *p)
{
    if (cpu->from_source && p->libc == LIBC_GLIBC)
        p->from_source = arena_printf(arena,
                                      "from source: the rules for CPU %s were read in glibc's "
                                      "source, no test compares them with a running loader",
                                      cpu->name);
    p->platform = cpu_platform(cpu);
    p->vdso = cpu->vdso;
    p->cache_hwcaps = cache_hwcaps(cpu, p);
    if (p->libc == LIBC_GLIBC && p->version >= V_HWCAPS)
        add_levels(arena, cpu, p);
    if (p->libc == LIBC_GLIBC && p->version < V_NO_LEGACY)
        add_legacy(arena, cpu, p);
    cap_add(arena, p, "");
}

void profile_make(struct arena *arena, const struct object *object, const char *interp,
                  const char *interp_path, const struct cpu *cpu, struct profile *ret_profile)
{
    static const struct ldso unknown = {.libc = LIBC_UNKNOWN};
    const struct ldso *ldso = object->ldso ? object->ldso : &unknown;
    struct profile p = {
        .libc = ldso->libc == LIBC_MUSL ? LIBC_MUSL : LIBC_GLIBC,
        .interp = interp,
        .soname = object->soname,
        .class = object->class,
        .data = object->data,
        .machine = object->machine,
        .machine_flags = object->machine_flags,
        .debian = ldso->debian,
        .reader = ldso->reads_note,
        .store = store_of(arena, interp, interp_path),
        .system_dirs = ldso->system_dirs,
        .n_system_dirs = ldso->n_system_dirs,
        .cache = ldso->cache,
        .cache_first = ldso->cache_first,
        .preload = ldso->preload,
        .lib = ldso->lib ? ldso->lib : "lib",
    };
    struct cpu fitting;

    set_version(arena, ldso, interp_path, &p);
    p.normalises = ldso->normalises || (p.libc == LIBC_GLIBC && p.version >= V_NORMALISES);
    if (ldso->libc != LIBC_GLIBC && ldso->libc != LIBC_MUSL)
        p.assumed = arena_printf(arena,
                                 "profile unknown, assumed %s: '%s' is neither glibc's "
                                 "loader nor musl's",
                                 p.text, interp_path);
    set_build(&p);
    fitting = fitting_cpu(arena, cpu, &p);
    set_cpu(arena, &fitting, &p);
    *ret_profile = p;
}

/* Is the level of a cap ("glibc-hwcaps/LEVEL/") in a colon list? */
static bool level_in(const char *cap, const char *list)
{
    const char *level = cap + strlen("glibc-hwcaps/");
    const size_t len = strlen(level) - 1;

    while (*list) {
        const size_t word = strcspn(list, ":");

        if (word == len && strncmp(level, list, len) == 0)
            return true;
        list += word + (list[word] == ':');
    }
    return false;
}

void profile_levels(struct arena *arena, struct profile *profile, const char *prepend,
                    const char *mask)
{
    const struct profile old = *profile;

    if (*prepend == '\0' && !mask)
        return;
    profile->caps = NULL;
    profile->n_caps = 0;
    while (*prepend) {
        const int word = (int)strcspn(prepend, ":");

        if (word)
            cap_add(arena, profile, arena_printf(arena, "glibc-hwcaps/%.*s/", word, prepend));
        prepend += word + (prepend[word] == ':');
    }
    for (size_t i = 0; i < old.n_levels; i++)
        if (!mask || level_in(old.caps[i], mask))
            cap_add(arena, profile, old.caps[i]);
    profile->n_levels = profile->n_caps;
    for (size_t i = old.n_levels; i < old.n_caps; i++)
        cap_add(arena, profile, old.caps[i]);
}
