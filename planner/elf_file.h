/*
 * The insides of the ELF editor: one file taken apart. Only planner/elf_*.c include this.
 *
 *	elf_file.c     headers, dynamic section, string table: found and checked
 *	elf_strings.c  where new strings go, which old bytes are free
 *	elf_note.c     notes that are written: of resolution, of the closure
 *	elf_room.c     room for more program headers: what must move
 *	elf_append.c   the appended segment, displaced sections
 *	elf_sections.c section headers in their new order
 *	elf_edit.c     the order of it all
 */
#pragma once

#include "base/str.h"
#include "planner/elf_edit.h"
#include "planner/elf_raw.h"

struct elf_file {
    struct raw raw;
    struct arena *arena;
    Elf64_Ehdr ehdr;
    Elf64_Phdr *phdr;
    size_t n_phdrs;
    Elf64_Shdr *shdr; /* empty: section headers were stripped */
    size_t n_shdrs;

    size_t dynamic; /* index of PT_DYNAMIC in phdr */
    Elf64_Dyn *dyn; /* up to the first DT_NULL, without it */
    size_t n_dyns;
    size_t dyn_slots; /* entries that PT_DYNAMIC has room for, terminator included */

    uint64_t str_offset, str_addr, str_size; /* the dynamic string table */
    uint64_t sym_offset, n_syms;             /* the dynamic symbols; 0: none */
    uint64_t verneed_offset, n_verneeds;
    uint64_t verdef_offset, n_verdefs;
};

/* Take a file apart. Everything the editor later touches is checked to lie inside. */
MUST_CHECK int elf_file_open(struct elf_file *ret_file, unsigned char *bytes, uint64_t size,
                             struct arena *arena, struct err *err);

/* The first dynamic entry with a tag; NULL: none. */
Elf64_Dyn *elf_file_tag(const struct elf_file *file, int64_t tag);

/* A string of the dynamic string table; NULL when the offset is outside or it does not end. */
const char *elf_file_string(const struct elf_file *file, uint64_t at);

/* Refuse by a rule: sets -ENOTSUP with "ID: WHY" and details. */
int elf_refuse(struct err *err, const char *id, const char *fmt, ...) PRINTF(3, 4);

/* Every record of verneed: `each` gets the file offset of the record. False from it: stop. */
bool elf_file_verneeds(const struct elf_file *file, bool (*each)(void *data, uint64_t at),
                       void *data);

/* ---- elf_strings.c */

/* The string table as it will be: the old bytes, and `grown` new ones behind them. */
struct elf_strings {
    const struct elf_file *file;
    uint8_t *used;  /* one a byte of the old table: a string that stays needs it */
    uint8_t *spare; /* one a byte: belonged to strings that go */
    struct str grown;
    struct elf_placed *placed; /* new strings put into spare bytes */
    size_t n_placed;
};

struct elf_placed {
    uint64_t at; /* offset in the table */
    const char *text;
};

/*
 * Which bytes of the table stay in use once the change is made: symbols, versions and every
 * dynamic tag that keeps its string.
 */
MUST_CHECK int elf_strings_open(struct elf_strings *ret_strings, const struct elf_file *file,
                                const struct elf_change *change, struct err *err);

/* The table offset of a string: an old one that stays, spare bytes, or new ones at the end. */
uint64_t elf_strings_put(struct elf_strings *strings, const char *text);

/* Zero what went, write what was placed, into a table at `table` (old size). */
void elf_strings_write(const struct elf_strings *strings, unsigned char *table);

/* ---- elf_append.c */

/* The notes that the editor writes. */
enum elf_note_id { ELF_NOTE_RESOLUTION, ELF_NOTE_CLOSURE, N_ELF_NOTES };

/* A whole note, header included; bytes NULL: none. */
struct elf_note_bytes {
    const unsigned char *bytes;
    uint64_t size;
};

/* What the new segment is to hold besides displaced sections. */
struct elf_append {
    const struct elf_strings *strings;
    bool move_strings; /* the string table moves; set when it had to */
    bool dynamic;      /* the dynamic section moves; set when it had to */
    size_t n_dyns;     /* its new length, without terminator */
    struct elf_note_bytes note[N_ELF_NOTES];
    size_t gone_section[N_ELF_NOTES]; /* number of a note's section that goes; 0: none */
};

/* How many notes are appended. */
static inline size_t elf_append_notes(const struct elf_append *append)
{
    size_t n = 0;

    for (size_t i = 0; i < N_ELF_NOTES; i++)
        n += append->note[i].bytes != NULL;
    return n;
}

/* Make the new file image; `file` then describes it (dyn and header changes still to be written).
 */
MUST_CHECK int elf_append(struct elf_file *file, struct elf_append *append, struct err *err);

/* ---- elf_note.c */

/* How a note is told: owner and type; its section is called so by those who write it. */
struct elf_note_kind {
    const char *owner;
    uint32_t type;
    const char *section;
};

extern const struct elf_note_kind elf_note_kind[N_ELF_NOTES];

/* A note in the file. */
struct elf_note {
    bool found, alone; /* alone: there is nothing else in its PT_NOTE */
    size_t phdr;
    uint64_t at, size; /* the note as a whole, header and padding included */
    uint64_t descriptor, descriptor_size;
    size_t section; /* number of its section; 0: it has none of its own */
};

/* The first note of a kind: the one that readers see. */
void elf_note_find(const struct elf_file *file, enum elf_note_id id, struct elf_note *ret_note);

/* Is this the note's descriptor already? */
bool elf_note_is(const struct elf_file *file, const struct elf_note *note,
                 const struct note *wanted);

/* The bytes of a whole note. */
struct elf_note_bytes elf_note_make(struct arena *arena, enum elf_note_id id,
                                    const struct note *note);

/* Zero the note / and take its program headers away. Its section is the caller's to remove. */
void elf_note_wipe(struct elf_file *file, const struct elf_note *note);
void elf_note_remove(struct elf_file *file, const struct elf_note *note);

/* ---- elf_sections.c */

/* What became of a section, by its old number. */
struct elf_moved {
    bool gone, appended;
    uint64_t delta; /* how far its addresses move */
};

/* Can sections be renumbered? */
MUST_CHECK int elf_sections_check(const struct elf_file *file, struct err *err);

/* The section in memory with exactly these bytes of the file; 0: none. */
size_t elf_section_find(const struct elf_file *file, uint64_t offset, uint64_t size);

/*
 * Put section headers in order (those that stay, those in the new segment by address, those not in
 * memory), drop those that are gone, and renumber whatever names sections by number.
 */
void elf_sections_sort(struct elf_file *file, const struct elf_moved *moved);

/* Write ehdr, program headers and section headers back. */
void elf_file_write_headers(struct elf_file *file);
