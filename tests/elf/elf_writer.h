/*
 * A tiny ELF writer: from a description to the bytes of a file.
 *
 *	struct elf_dyn dynamic[] = {{DT_NEEDED, "liba.so", 0}, {DT_RUNPATH, "/s/a/lib", 0}};
 *	struct elf_spec spec = elf_program("/lib64/ld-linux-x86-64.so.2");
 *
 *	spec.dynamic = dynamic, spec.n_dynamic = ARRAY_LEN(dynamic);
 *	struct elf_image image = elf_write(&arena, &spec);
 *
 * Any class and byte order. What it writes is a file that a real loader maps and starts: program
 * headers, one PT_LOAD over everything, a dynamic section in the order given, then the tables a
 * loader insists on (hash, symbols, strings). x86-64 programs carry code that makes the system
 * call elf_marker and exits with 0, so that the end of start-up can be seen from outside.
 *
 * Every header field can be set to nonsense, and the image says where things are, so that tests
 * can break the bytes afterwards.
 *
 *	0      ELF header
 *	phoff  program headers: PHDR INTERP LOAD DYNAMIC NOTE... GNU_STACK TLS (as needed)
 *	       interp, notes, dynamic, hash, symbols, versions, strings, code, constants
 */
#pragma once

#include "base/arena.h"

#include <elf.h>

/* The resolution note of nixpkgs (docs/loader.md, section 17), owner "NixOS". */
#define NT_NIXOS_RESOLUTION 0x63a86cb6u

/* One entry of the dynamic section: `text` goes to the string table; NULL: `value` counts. */
struct elf_dyn {
    int64_t tag;
    const char *text;
    uint64_t value;
};

struct elf_note {
    const char *owner; /* "GNU", "NixOS", "FDO" */
    uint32_t type;
    const void *bytes;
    uint32_t size;
};

/* A version wanted from `file`, or, when that is NULL, defined here. */
struct elf_version {
    const char *file;
    const char *name;
};

struct elf_spec {
    uint8_t class, data; /* e_ident as it shall stand there */
    uint8_t ident_version, osabi, abiversion;
    bool ident_pad; /* true: a byte of the padding is not zero */
    uint16_t type, machine;
    uint32_t version, flags; /* e_version, e_flags */
    uint16_t phentsize;      /* 0: the right one for the class */
    uint16_t max_phdrs;      /* 0: all; otherwise e_phnum is cut down to this */

    const char *interp; /* NULL: no PT_INTERP */
    bool no_dynamic;    /* no PT_DYNAMIC */
    bool empty_dynamic; /* PT_DYNAMIC of no bytes */
    const struct elf_dyn *dynamic;
    size_t n_dynamic;
    const struct elf_note *note; /* one PT_NOTE each */
    size_t n_notes;
    const struct elf_version *versions; /* those of one file stand together */
    size_t n_versions;
    const char *const *imports; /* undefined symbols */
    size_t n_imports;
    bool bind_imports; /* x86-64: a word each, just before the code, that the loader fills */
    bool want_tables;  /* DT_STRTAB and its like behind the given entries; false: only what is given
                        */
    const unsigned char *code; /* where e_entry points; NULL: no entry */
    size_t code_size;
    bool code_is_init;  /* x86-64: ... and DT_INIT, which a loader calls before the program */
    const char *rodata; /* bytes kept behind the code */
    size_t rodata_size;
    bool exec_stack, no_gnu_stack;
    uint64_t tls_size;    /* 0: no PT_TLS */
    size_t spare_dynamic; /* DT_NULL entries behind the first */
    size_t trailing;      /* bytes behind everything */
    bool gnu_hash;        /* a GNU hash table without a symbol in it, instead of DT_HASH */
};

struct elf_image {
    unsigned char *bytes;
    size_t size;
    size_t phoff, dynamic_off, dynstr_off, note_off; /* 0: there is none */
};

/* The system call by which programs of elf_program() say that start-up is over: getppid. */
extern const long elf_marker;

/* A shared library / a program for x86-64, ready to run; `dynamic` is for the caller to set. */
struct elf_spec elf_library(void);
struct elf_spec elf_program(const char *interp);

/*
 * A program that opens `names` by dlopen() once it is started, with the marker call before the
 * first, between them and after the last. It must be given a C library to need.
 */
struct elf_spec elf_dlopener(struct arena *arena, const char *interp, const char *const *names,
                             size_t n);

/*
 * A library that does it in the program's place, when it is initialised: with the marker call
 * before each. The program's own marker ends the last. It must need a C library, too.
 */
struct elf_spec elf_dlopening_library(struct arena *arena, const char *const *names, size_t n);

/* The same for another machine, without code. */
void elf_for_machine(struct elf_spec *spec, uint16_t machine, uint8_t class, uint8_t data);

struct elf_image elf_write(struct arena *arena, const struct elf_spec *spec);
