/*
 * Listings of archives ('<hash>.ls'): what an archive holds, without what is in it.
 *
 *	r = listing_read(text, len, &nar_walk_sink, walk, &err);
 *
 * The same events as of the archive itself, but for the content; offsets are 0 where they are not
 * known. Whether a file can be ELF a listing tells only by name and mode: what a cache says in it
 * is not signed, and a name is a custom.
 */
#pragma once

#include "scanner/nar.h"

enum { LISTING_MAX = 64 * 1024 * 1024 }; /* bytes of its text */

/* What of a package its listing does not tell. */
struct listing_sum {
    size_t candidates;    /* files that may be ELF */
    uint64_t bytes;       /* ... and their size together */
    bool has_all_offsets; /* where they are in the archive is known of all of them */
};

/* -EINVAL: not a listing of version 1. */
MUST_CHECK int listing_read(const char *text, size_t len, const struct nar_sink *sink, void *data,
                            struct err *err);

MUST_CHECK int listing_sum(const char *text, size_t len, struct listing_sum *ret_sum,
                           struct err *err);

/* May a file of that name be ELF? Not when it is too small, or not executable and of a kind that by
 * its name is text, an image, or packed. */
bool listing_may_be_elf(const char *name, bool executable, uint64_t size);
