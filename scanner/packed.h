/*
 * What a loader cares for in the objects of one directory, as bytes: how the index keeps it, so
 * that a directory's row tells all that starts need to know of it.
 *
 *	objects	= { size number ... }		size: the bytes of the numbers that follow
 *	number	= seven bits a byte, lowest first; every byte but the last has its top bit set
 *
 * The numbers of an object: its header, in the order of packed.c; then its interp, soname, rpath
 * and runpath as ids of the index (0: none); the four of the ABI tag, if it has one; how many needs
 * it has, and for each of them id << 2 | kind.
 *
 * Bytes that are no such numbers read as 0: the index is a cache, and nothing of it is trusted with
 * memory.
 */
#pragma once

#include "base/str.h"
#include "scanner/object.h"

/* What an object has besides the numbers: in rows of its own. */
enum packed_rows {
    PACKED_LDSO = 1 << 0, /* it is a dynamic loader */
    PACKED_RARE = 1 << 1, /* notes, audit modules, a problem */
};

/* ---- writing */

void pack_number(struct str *to, uint64_t number);
void pack_header(struct str *to, const struct object *o);

/* Add the numbers of one object. */
void pack_object(struct str *to, const struct str *numbers);

/* ---- reading */

/* What is still to be read. */
struct packed {
    const unsigned char *at, *end;
};

/* What ids become in another index: 0, or the error that ends it. */
struct packed_maps {
    int (*name)(void *data, int64_t id, int64_t *ret_id);
    int (*run_path)(void *data, int64_t id, int64_t *ret_id);
    void *data;
};

/* Add the objects of a directory, with every id mapped. 0 or what a map returned. */
MUST_CHECK int pack_mapped(struct str *to, struct packed objects, const struct packed_maps *maps);

uint64_t packed_number(struct packed *packed);

/* The members of the header; the rest of the object stays as it is. Returns enum packed_rows. */
unsigned packed_header(struct packed *packed, struct object *o);

/* The next object of a directory. False: there is none. */
bool packed_next(struct packed *objects, struct packed *ret_numbers);
