/*
 * The entries of one directory as bytes: how the index keeps them.
 *
 *	entry	= kind name NUL [ text NUL ]
 *
 * `kind` is one byte of enum entry_kind. Links have their target as text, short files their size.
 * Names are bytes without '/' and NUL. The only entry of a package that is one file has no name.
 */
#pragma once

#include "base/str.h"

#include <string.h>

enum entry_kind {
    ENTRY_DIR = 'd',
    ENTRY_ELF = 'e',    /* an object of the index: the first of a directory, the second, ... */
    ENTRY_LINK = 'l',   /* text: its target */
    ENTRY_FILE = 'f',   /* a regular file that is not ELF, at least as long as an ELF header */
    ENTRY_SHORT = 's',  /* a shorter one; text: its size */
    ENTRY_UNREAD = 'u', /* a regular file that could not be read */
    ENTRY_OTHER = 'o',  /* device, FIFO, socket: never opened */
};

struct entry {
    enum entry_kind kind;
    const char *name, *text; /* borrowed; text NULL: none */
};

static inline bool entry_has_text(enum entry_kind kind)
{
    return kind == ENTRY_LINK || kind == ENTRY_SHORT;
}

/* The entry at *at, which moves on. False: the end, or bytes that are no entries. */
static inline bool entries_next(const char *bytes, size_t size, size_t *at, struct entry *ret)
{
    const char *end;

    if (*at >= size)
        return false;
    ret->kind = (enum entry_kind)bytes[*at];
    ret->name = bytes + *at + 1;
    ret->text = NULL;
    end = memchr(ret->name, '\0', size - *at - 1);
    if (end && entry_has_text(ret->kind)) {
        ret->text = end + 1;
        end = memchr(ret->text, '\0', size - (size_t)(ret->text - bytes));
    }
    if (!end)
        return false;
    *at = (size_t)(end + 1 - bytes);
    return true;
}
