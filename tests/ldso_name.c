#include "tests/ldso_name.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

/* The path without its last two components: the prefix a loader is installed under. */
static const char *prefix_of(struct arena *arena, const char *interp)
{
    char *prefix = arena_strdup(arena, interp);

    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(prefix, '/');

        if (slash)
            *slash = '\0';
    }
    return prefix;
}

static void set_dirs(struct arena *arena, struct ldso *ldso, const char *const *dir, size_t n)
{
    ldso->system_dirs = arena_memdup(arena, dir, n * sizeof(*dir));
    ldso->n_system_dirs = n;
}

/* `lib`: a machine's own part, "aarch64-linux-gnu", or "lib32" of i686 loaders on x86-64. */
static void glibc_debian(struct arena *arena, struct ldso *ldso, const char *lib)
{
    const char *const own = str_starts(lib, "lib") ? lib : arena_printf(arena, "lib/%s", lib);
    const char *const dirs[] = {arena_printf(arena, "/%s/", own),
                                arena_printf(arena, "/usr/%s/", own), "/lib/", "/usr/lib/"};

    ldso->debian = true;
    set_dirs(arena, ldso, dirs, ARRAY_LEN(dirs));
    ldso->cache = "/etc/ld.so.cache";
    ldso->preload = "/etc/ld.so.preload";
    ldso->lib = own;
}

static void glibc_nix(struct arena *arena, struct ldso *ldso, const char *interp)
{
    const char *prefix = prefix_of(arena, interp);
    const char *const dirs[] = {arena_printf(arena, "%s/lib/", prefix)};

    set_dirs(arena, ldso, dirs, 1);
    ldso->cache = arena_printf(arena, "%s/etc/ld.so.cache", prefix);
    ldso->preload = "/etc/ld-nix.so.preload";
    ldso->lib = "lib";
}

int ldso_by_name(struct arena *arena, const char *name, const char *interp, struct ldso *ret_ldso,
                 bool *ret_intel, struct err *err)
{
    const char *dash = strchr(name, '-');
    const char *version = dash ? dash + 1 : "", *rest = version + strcspn(version, "-");
    const char *debian = strstr(rest, "-debian");
    struct ldso ldso = {.source = "file"};

    ldso.version = arena_strndup(arena, version, (size_t)(rest - version));
    if (strstr(rest, "-ldcache"))
        ldso.reads_note = strstr(rest, "-ldcache_b") ? READER_B : READER_A;
    ldso.normalises = strstr(rest, "-normalises") != NULL;
    if (str_starts(name, "musl-"))
        ldso.libc = LIBC_MUSL;
    else if (str_starts(name, "glibc-"))
        ldso.libc = LIBC_GLIBC;
    if (ldso.libc == LIBC_NONE || !*ldso.version)
        return err_set(err, EINVAL, "'%s': not the name of a loader", name);
    if (debian)
        debian += strlen("-debian");
    if (ldso.libc == LIBC_GLIBC && debian)
        glibc_debian(arena, &ldso, *debian == '-' ? debian + 1 : "x86_64-linux-gnu");
    else if (ldso.libc == LIBC_GLIBC)
        glibc_nix(arena, &ldso, interp);
    *ret_ldso = ldso;
    *ret_intel = strstr(rest, "-fakeintel") != NULL;
    return 0;
}
