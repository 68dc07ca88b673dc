/*
 * Nix archives (NAR), read while their bytes arrive.
 *
 *	struct nar *nar = nar_new(&sink, data);
 *	nar_start(nar);
 *	r = nar_add(nar, bytes, n, err);	(again and again, in pieces of any size)
 *	r = nar_end(nar, err);
 *
 *	archive	= "nix-archive-1" node
 *	node	= "(" "type" ( "regular" [ "executable" "" ] "contents" bytes
 *		             | "symlink" "target" bytes
 *		             | "directory" { "entry" "(" "name" bytes "node" node ")" } ) ")"
 *
 * Each string is its length (8 bytes, little endian), its bytes, and zeroes up to a multiple of 8.
 * What comes is not trusted: nothing is allocated by a length that stands there, names are checked
 * (ascending, no slash, not "." or ".."), depth is limited. A reader belongs to one thread.
 */
#pragma once

#include "base/base.h"

enum { NAR_NAME_MAX = 255, NAR_TARGET_MAX = 4095, NAR_DEPTH_MAX = 200 };

/* What is found, in the order of the archive. The name of the top is "". Each returns 0, or
 * negative errno with `err` set, which ends the reading. */
struct nar_sink {
    int (*enter)(void *data, const char *name, struct err *err); /* a directory */
    int (*leave)(void *data, struct err *err);
    int (*link)(void *data, const char *name, const char *target, struct err *err);
    int (*file)(void *data, const char *name, bool executable, uint64_t size, uint64_t offset,
                struct err *err); /* its content begins at `offset` of the archive */
    int (*content)(void *data, const void *bytes, size_t n, struct err *err);
    int (*file_end)(void *data, struct err *err);
};

struct nar;
struct nar *nar_new(const struct nar_sink *sink, void *data);
void nar_free(struct nar *nar);

/* Begin a new archive. */
void nar_start(struct nar *nar);

/* -EINVAL: malformed, with the offset at which it shows. */
MUST_CHECK int nar_add(struct nar *nar, const void *bytes, size_t n, struct err *err);

/* -EINVAL: the archive is not complete. */
MUST_CHECK int nar_end(struct nar *nar, struct err *err);
