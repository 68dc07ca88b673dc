/*
 * The two notes that the resolver reads, as bytes: where the libraries of a program were found.
 *
 * Closure note (owner "stormlint", type CLOSURE_NOTE, docs/closure-note.md), on a program:
 *
 *	"1" NUL                               version of the format
 *	RUNPATH NUL                           as it was; nothing when there was none
 *	{ NEEDED NUL }* NUL                   as they were, in their order
 *	{ REQUESTER NUL NAME NUL LIST NUL }*  in the order of the requests
 *	NUL
 *
 * Resolution note (owner "NixOS", docs/loader.md, 17): { NAME NUL LIST NUL }* NUL.
 *
 * Both end in two zero bytes, so every string that starts inside ends inside. Bytes are not
 * trusted. Nothing here calls anything: the same code runs in the loader model, in tests, and
 * inside ld.so without a C library.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

#define CLOSURE_OWNER   "stormlint"
#define CLOSURE_VERSION "1"

enum {
    CLOSURE_NOTE = 0x53544f52,    /* owner stormlint */
    RESOLUTION_NOTE = 0x63a86cb6, /* owner NixOS */
    NOTE_SIZE_MAX = 1 << 24,      /* of a descriptor, bytes: what is larger is not read */
};

/* The program as requester; others are called by the path they were opened by. */
#define CLOSURE_PROGRAM "."

/* Rows of two or three strings, from `at` to `end`. The search goes on where the last hit was. */
struct rows {
    const char *at, *end; /* at NULL: there are none */
    const char *cursor;
    unsigned width;
};

/* A closure note taken apart. Strings are the descriptor's. */
struct closure_note {
    const char *run_path;
    const char *needed; /* the first of them; an empty one ends them */
    struct rows rows;
};

/* False: not a closure note of this version. */
bool closure_open(struct closure_note *ret_closure, const void *descriptor, uint64_t size);

/*
 * Was the note made for a program with this run path (NULL: none) and these needed names? `next`
 * gives one name after the other, then NULL.
 */
bool closure_is_for(const struct closure_note *closure, const char *run_path,
                    const char *(*next)(void *data), void *data);

/* False: not a resolution note. */
bool resolution_open(struct rows *ret_rows, const void *descriptor, uint64_t size);

/*
 * The list of `name`, asked by `requester` (rows of three) or by anybody (rows of two). NULL: there
 * is none, or it is empty.
 */
const char *rows_find(struct rows *rows, const char *requester, const char *name);

/* One step over the strings of a descriptor. NULL: there is nothing behind this one. */
const char *text_next(const char *text, const char *end);

/* What the resolver needs of a C library. */
uint64_t text_len(const char *text);
bool text_same(const char *a, const char *b);
