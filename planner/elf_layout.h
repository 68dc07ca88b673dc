/*
 * How a file that grows is laid out anew: which parts move, and where to. Only elf_room.c and
 * elf_append.c include this.
 */
#pragma once

#include "planner/elf_file.h"

enum { MOVES_MAX = 64 };

/* A part of the file that moves into the new segment. */
struct move {
    uint64_t from, size; /* file offset and length where it was */
    uint64_t from_addr;
    uint64_t to, to_addr; /* where it goes */
    uint64_t new_size;    /* length there */
    const char *grown;    /* bytes behind the old ones; NULL: none */
};

struct elf_layout {
    struct elf_file *file;
    struct elf_append *append;
    size_t n_new_phdrs;
    struct move move[MOVES_MAX];
    size_t n_moves;
    size_t n_displaced;            /* the first moves: what made room for program headers */
    uint64_t content;              /* what is kept of the old file, bytes from its start */
    uint64_t at, addr;             /* of the segment */
    uint64_t end;                  /* file offset behind its content */
    uint64_t note_at[N_ELF_NOTES]; /* of new notes; 0: none */
    uint64_t names_at; /* of the section names when they move, behind the segment; 0: they stay */
};

/* Sections that are found through a dynamic tag alone, and so may move. */
struct elf_tagged {
    uint32_t type;
    int64_t tag;
};

enum { N_ELF_TAGGED = 7 };
extern const struct elf_tagged elf_tagged[N_ELF_TAGGED];

/* Is this a segment over one small section, which moves along? */
static inline bool is_small_segment(const Elf64_Phdr *p)
{
    return p->p_type == PT_INTERP || p->p_type == PT_NOTE || p->p_type == PT_GNU_PROPERTY;
}

/*
 * Make room behind the program headers for `n_new_phdrs` more: what stands there is put on the
 * list of moves, or (dynamic section, strings) told to `append`.
 */
MUST_CHECK int elf_make_room(struct elf_layout *layout, struct err *err);
