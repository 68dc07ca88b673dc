/*
 * One bounded view of an ELF file's bytes: what the files of the ELF reader share, nobody else.
 *
 * Bytes come through windows: view_peek() gives a pointer to `len` bytes at a file offset, valid
 * until the next peek. A slot reads ahead, so walking a table costs one system call, and what one
 * slot has read another need not. What the file does not hold is NULL, never a fault. Numbers are
 * in the file's byte order: view_half(), view_word() and view_xword() turn them.
 */
#pragma once

#include "base/arena.h"
#include "scanner/elf_read.h"

enum slot { SLOT_TABLE, SLOT_DYNAMIC, SLOT_STRINGS, SLOT_NAME, SLOT_RECORD, SLOT_CONTENT, SLOTS };

struct window {
    unsigned char *bytes;
    size_t size; /* of `bytes` */
    uint64_t at; /* file offset of the first byte */
    size_t len;  /* bytes in use */
};

struct elf_scratch {
    struct window window[SLOTS];
    struct segment *load;
    size_t load_size;
};

/* A PT_LOAD segment. */
struct segment {
    uint64_t offset, vaddr, filesz;
    uint32_t flags;
};

/* A part of the file, bytes. */
struct range {
    uint64_t offset, size;
};

enum { CONSTANTS_MAX = 32, TABLES_MAX = 16, NOTES_SEEN_MAX = 16 };

/* What is looked at of one file, bytes: tables may be long, and point to one thing many times. */
enum { TEXT_MAX = 64 << 20, NOTES_MAX = 32 << 20 };

/* Records translated at a time. */
enum { BLOCK = 32 };

/* Imports of an object that loads others by name. */
enum { IMPORT_LOADERS = IMPORT_DLOPEN | IMPORT_DLMOPEN };

struct elf_view {
    const struct elf_source *source;
    struct elf_scratch *scratch;
    struct arena *arena;
    struct object *object;
    int error; /* errno of the first read that failed (I/O), 0: none */
    bool is_64, swap;

    struct segment *load;
    size_t n_loads;
    uint64_t phdr_end; /* end of everything the program headers describe */

    struct range note[NOTES_SEEN_MAX]; /* PT_NOTE segments */
    size_t n_notes;
    uint64_t notes_left; /* of NOTES_MAX */
    size_t text_left;    /* of TEXT_MAX */

    /* Sections of constants, if there are section headers to tell. */
    struct range constant[CONSTANTS_MAX];
    size_t n_constants;
    size_t n_compared; /* names that constants were compared with */

    uint64_t strings, strings_size;            /* DT_STRTAB as a file offset; size 0: none */
    uint64_t symbols;                          /* DT_SYMTAB, address */
    uint64_t gnu_hash, hash;                   /* DT_GNU_HASH, DT_HASH, addresses; 0: none */
    struct range symbol_bytes, gnu_hash_bytes; /* the same in the file, up to the segment's end */
    uint64_t verneed, verdef;                  /* addresses; 0: none */
    uint64_t verneed_num, verdef_num;
    uint64_t table[TABLES_MAX]; /* addresses of other tables that the dynamic section names */
    size_t n_tables;
};

/* `len` bytes at `offset`; reads up to `ahead` bytes when it reads. NULL: the file has them not. */
const unsigned char *view_peek(struct elf_view *view, enum slot slot, uint64_t offset, size_t len,
                               size_t ahead);

/* The file offset of address `vaddr`, through PT_LOAD; *ret_left: file bytes from there on. */
bool view_offset(const struct elf_view *view, uint64_t vaddr, uint64_t *ret_offset,
                 uint64_t *ret_left);

/*
 * The string at `offset` of the dynamic string table, in the arena. NULL: out of range, or more
 * than TEXT_MAX bytes of strings were asked for.
 */
const char *view_string(struct elf_view *view, uint64_t offset);

/* Is the string at `offset` equal to one of the names? Its index, or -1. */
int view_string_find(struct elf_view *view, uint64_t offset, const char *const *names,
                     size_t n_names);

/* Remember why the file is malformed; the first reason stays. */
void view_problem(struct elf_view *view, const char *fmt, ...) PRINTF(2, 3);

static inline uint16_t view_half(const struct elf_view *view, const unsigned char *p)
{
    uint16_t v;

    __builtin_memcpy(&v, p, sizeof(v));
    return view->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t view_word(const struct elf_view *view, const unsigned char *p)
{
    uint32_t v;

    __builtin_memcpy(&v, p, sizeof(v));
    return view->swap ? __builtin_bswap32(v) : v;
}

/* What the pass over the program headers leaves for later. */
struct headers {
    uint64_t dynamic_vaddr, dynamic_filesz, phdr_vaddr;
    bool has_dynamic, has_stack, has_phdr;
};

/* `n` <= BLOCK records of a dynamic section in native form. False: they cannot be translated. */
bool elf_dyns(const struct elf_view *view, const unsigned char *bytes, size_t n, Elf64_Dyn *ret);

/* Is it the name of a section of notes that loaders or their modules read? */
bool elf_is_note_section(const char *name);
/* Is the note at `offset` what the section `name` of notes ought to begin with? */
bool elf_note_fits(struct elf_view *view, const char *name, uint64_t offset, uint64_t size);

/* The steps of reading one file, each adding to view->object; elf_read() calls them in order. */
void elf_read_note_segment(struct elf_view *view, uint64_t offset, uint64_t size, uint64_t align);
void elf_read_dynamic(struct elf_view *view, const struct headers *headers);
void elf_read_versions(struct elf_view *view);
void elf_read_names(struct elf_view *view);
void elf_read_imports(struct elf_view *view);
void elf_read_constants(struct elf_view *view);
