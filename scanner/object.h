/*
 * The facts of one ELF file: plain data, all of it copied out of the file into an arena.
 *
 * An object is read once (scanner/elf_read.h), from PT_DYNAMIC through PT_LOAD, never from section
 * headers, and then kept in the index. Everything later layers decide, they decide from this and
 * from the directory tree. Strings are bytes as they stand in the file.
 */
#pragma once

#include "base/base.h"

#include <elf.h>

/* What a dynamic section asks for, in file order: the loader walks these in this order. */
enum need_kind { NEED_NEEDED, NEED_AUXILIARY, NEED_FILTER };

struct need {
    enum need_kind kind;
    const char *name;
};

/* One version an object wants from a file (verneed) or offers itself (verdef: file is NULL). */
struct version {
    const char *file;
    const char *name;
    bool weak;
};

/* Functions whose import tells that an object loads others, or finds itself. Bits of `imports`. */
enum import {
    IMPORT_DLOPEN = 1 << 0,
    IMPORT_DLMOPEN = 1 << 1,
    IMPORT_DLADDR = 1 << 2,
    IMPORT_DLADDR1 = 1 << 3,
    IMPORT_DLINFO = 1 << 4,
    IMPORT_DL_ITERATE_PHDR = 1 << 5,
    IMPORT_JNI_ONLOAD = 1 << 6,
};

/* Traits of the file that decide whether and how it may be edited. Bits of `layout`. */
enum layout {
    LAYOUT_STATIC = 1 << 0,       /* no PT_INTERP, no PT_DYNAMIC, ET_EXEC */
    LAYOUT_STATIC_PIE = 1 << 1,   /* DF_1_PIE without PT_INTERP */
    LAYOUT_DEBUG_ONLY = 1 << 2,   /* the parts to be loaded hold no bytes in the file */
    LAYOUT_GO = 1 << 3,           /* built by Go's linker */
    LAYOUT_RELRHACK = 1 << 4,     /* Firefox's packed relocations */
    LAYOUT_TEXTREL = 1 << 5,      /* relocations in read-only segments */
    LAYOUT_STATIC_TLS = 1 << 6,   /* DF_STATIC_TLS */
    LAYOUT_EXECSTACK = 1 << 7,    /* PT_GNU_STACK asks for an executable stack */
    LAYOUT_NO_GNU_STACK = 1 << 8, /* no PT_GNU_STACK at all */
    LAYOUT_NO_SECTIONS = 1 << 9,  /* section headers stripped */
    LAYOUT_LIFTED = 1 << 10,      /* run path starts with a stormlint farm */
    LAYOUT_VERSIONS = 1 << 11,    /* DT_VERDEF: it defines versions, if only its own name */
    LAYOUT_MOVED = 1 << 12,       /* an earlier edit moved what the next one takes to be in place */
    LAYOUT_UNSORTED = 1 << 13,    /* section headers are not in the order of what is loaded */
    LAYOUT_NOTE_UNSEEN = 1 << 14, /* a section of ours that no PT_NOTE covers: nobody reads it */
    LAYOUT_NOTE_ODD = 1 << 15,    /* such a note with another owner, type or size */
};

/* A note kept as raw descriptor bytes, in the file's byte order. Absent: bytes is NULL. */
struct note {
    const unsigned char *bytes;
    uint32_t size;
};

/* The C library a loader file belongs to. */
enum libc { LIBC_NONE, LIBC_GLIBC, LIBC_MUSL, LIBC_UNKNOWN };

/* Readers of the resolution note: none, the first patch, the careful second (section 17). */
enum note_reader { READER_NONE, READER_A, READER_B };

/* What a dynamic loader file has compiled in (docs/loader.md, section 1). */
struct ldso {
    enum libc libc;
    const char *version;         /* "2.36", "1.2.5"; NULL: cannot be told */
    bool debian;                 /* carries Debian's patches */
    bool normalises;             /* searches $ORIGIN of set-id programs normalised (section 14) */
    enum note_reader reads_note; /* told by its strings and constants */
    const char **system_dirs;    /* in search order, each ending in '/' */
    size_t n_system_dirs;
    const char *cache; /* "/etc/ld.so.cache"; NULL: none found */
    bool cache_first;  /* asks the cache before run paths, as Guix's does; laid over, never read */
    const char *preload; /* "/etc/ld.so.preload"; NULL: none found */
    const char *lib;     /* what $LIB stands for */
    const char *source;  /* where the version was read: "file", "path"; NULL: unknown */
};

struct object {
    /* The header, byte for byte as the loader judges it (docs/loader.md, section 9). */
    uint8_t class;         /* ELFCLASS32, ELFCLASS64 or whatever stands there */
    uint8_t data;          /* ELFDATA2LSB, ELFDATA2MSB or whatever stands there */
    uint8_t ident_version; /* EI_VERSION */
    uint8_t osabi, abiversion;
    bool ident_pad_zero; /* the rest of e_ident is zero */
    uint16_t type, machine;
    uint32_t version;       /* e_version */
    uint32_t machine_flags; /* e_flags: the float ABI of riscv64, the ABI of powerpc64 */
    uint16_t phentsize, phnum;
    uint64_t size; /* of the file, bytes */
    uint32_t mode; /* st_mode */

    const char *interp; /* NULL: no PT_INTERP */
    bool has_dynamic;   /* PT_DYNAMIC with at least one entry */
    const char *soname, *rpath, *runpath;
    const char *audit, *depaudit; /* of several the last counts */
    struct need *need;
    size_t n_needs;
    uint32_t flags, flags_1; /* DT_FLAGS, DT_FLAGS_1 */

    struct version *verneed, *verdef;
    size_t n_verneed, n_verdef;

    bool has_abi_tag;    /* first GNU ABI tag note */
    uint32_t abi_tag[4]; /* OS, kernel version */
    struct note build_id;
    struct note resolution;   /* NixOS resolution note (docs/loader.md, section 17) */
    struct note closure;      /* stormlint closure note (docs/closure-note.md) */
    struct note *dlopen_note; /* FDO notes: JSON text, one or several */
    size_t n_dlopen_notes;

    unsigned imports;           /* enum import */
    const char **dlopen_string; /* soname-like constants of an object that imports dlopen */
    size_t n_dlopen_strings;
    bool origin_string; /* "$ORIGIN" among the read-only constants of such an object */

    unsigned layout;        /* enum layout */
    uint64_t tls_size;      /* PT_TLS memory size, bytes; 0: none */
    uint64_t trailing;      /* bytes behind everything the ELF headers describe */
    uint64_t load_align;    /* largest p_align of a PT_LOAD */
    uint32_t spare_dynamic; /* DT_NULL entries behind the first */

    const struct ldso *ldso; /* NULL: not a dynamic loader */
    const char *problem;     /* NULL, or why parts of the file could not be read: it is malformed */
};

/*
 * Bytes of thread-local storage that it takes from the static pool when it is loaded late: those
 * it reaches by initial-exec code. Blocks are taken to be aligned to 64.
 */
static inline uint64_t object_static_tls(const struct object *object)
{
    if (!object || object->ldso || !(object->layout & LAYOUT_STATIC_TLS))
        return 0;
    return (object->tls_size + 63) / 64 * 64;
}

/* A program is an object that names its loader. */
static inline bool object_is_program(const struct object *object)
{
    return object->interp != NULL;
}
