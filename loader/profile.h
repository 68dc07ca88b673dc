/*
 * Profiles: what the loader file itself decides (docs/loader.md, sections 1 and 11).
 *
 * Made from the facts of the PT_INTERP file, never from the program. A loader whose kind or
 * version cannot be told gets an assumed profile, and `assumed` says so in one sentence that every
 * output shows.
 */
#pragma once

#include "loader/cpu.h"
#include "scanner/object.h"

struct profile {
    enum libc libc;
    int version;             /* glibc: minor number (2.36 -> 36); musl: 1.2.5 -> 10205 */
    const char *text;        /* "glibc 2.36 (Debian)" */
    const char *interp;      /* as the program names it */
    const char *soname;      /* the loader's own DT_SONAME; NULL: none */
    const char *assumed;     /* NULL, or what was assumed because it could not be told */
    const char *from_source; /* NULL, or what was read in source and no test compares */
    uint8_t class, data;     /* what the loader accepts */
    uint16_t machine;
    uint32_t machine_flags; /* its own e_flags: the ABI that files must have */
    uint8_t abi_versions;   /* LIBC_ABI_MAX: what EI_ABIVERSION must be below */
    bool signed_char;       /* how a cache's keys are compared */
    bool debian;            /* e_machine quirk of section 9 */
    bool normalises;        /* $ORIGIN of set-id programs: section 14 */
    enum note_reader reader;
    const char *store;        /* "/nix/store/": where a careful reader expects what a note names */
    const char **system_dirs; /* each ends in '/' */
    size_t n_system_dirs;
    const char *cache, *preload; /* NULL: compiled out */
    bool cache_first;            /* the cache is asked before run paths (Guix) */
    const char *lib;             /* $LIB */
    const char *vdso;            /* what the kernel maps into every process; NULL: nothing */
    const char *platform;        /* $PLATFORM; NULL: none, the token's component is dropped */
    uint32_t cache_flags;        /* what a cache entry's flags must be ... */
    uint32_t cache_flags_old;    /* ... or else; ARM takes unmarked entries too */
    uint64_t cache_hwcaps;       /* bits of plain cache entries this CPU satisfies (V < 2.40) */

    /* hwcaps sub-directories in search order, each ending in '/', the last one "" */
    const char **caps;
    size_t n_caps;
    size_t n_levels; /* how many of them are glibc-hwcaps levels */
};

/*
 * The profile of loader `object`, named `interp` by the program, on `cpu`. `interp_path` is the
 * file's real path (store paths tell a version when the file does not). A loader for another
 * machine than the CPU's gets that machine's default CPU. Everything is allocated in `arena` or
 * borrowed from `object`.
 */
void profile_make(struct arena *arena, const struct object *object, const char *interp,
                  const char *interp_path, const struct cpu *cpu, struct profile *ret_profile);

/*
 * The options of an explicit invocation: levels of `prepend` (colon list) come first, whatever the
 * CPU; of the loader's own only those in `mask` stay. prepend "" and mask NULL: option not given.
 */
void profile_levels(struct arena *arena, struct profile *profile, const char *prepend,
                    const char *mask);
