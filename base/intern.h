/*
 * Interned strings: equal texts become one pointer, so that comparing names is comparing pointers.
 *
 *	struct intern *in = intern_new();
 *	const struct name *a = intern(in, "libc.so.6");	(the same pointer every time)
 *	intern_free(in);
 *
 * Ids are dense, starting at 0, in order of first use: arrays can be indexed by them. A name lives
 * as long as its table, or the arena the table was given for them. One thread at a time.
 */
#pragma once

#include "base/arena.h"

struct intern;

struct name {
    uint32_t id;
    uint32_t len;  /* bytes of text, without the final zero */
    uint32_t hash; /* intern_hash() of text */
    char text[];
};

struct intern *intern_new(void);
struct intern *intern_new_in(struct arena *arena);
void intern_free(struct intern *intern);

const struct name *intern(struct intern *intern, const char *text);
const struct name *intern_n(struct intern *intern, const char *text, size_t len);

/* The name of a text that is interned already; NULL: it is not. */
const struct name *intern_find(const struct intern *intern, const char *text, size_t len);

/* The hash of a text, interned or not. */
uint32_t intern_hash(const char *text, size_t len);

/* Number of names so far: one more than the largest id. */
uint32_t intern_count(const struct intern *intern);

/* The name of an id below that number. */
const struct name *intern_name(const struct intern *intern, uint32_t id);
