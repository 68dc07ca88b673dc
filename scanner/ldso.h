/*
 * Dynamic loader files: what they have compiled in (docs/loader.md, section 1).
 *
 * A loader is told by its content, not by its name: no interpreter, nothing needed, and the
 * strings that glibc's and musl's loaders carry. All of it is plain NUL-ended data.
 */
#pragma once

#include "base/arena.h"
#include "scanner/object.h"

/* Could this object be a loader, so that its content is worth reading? */
bool ldso_candidate(const struct object *object);

/*
 * Look through a candidate's `bytes`. NULL: it is no loader. A file that carries a loader's soname
 * without being glibc's or musl's is one of LIBC_UNKNOWN.
 */
const struct ldso *ldso_read(struct arena *arena, const struct object *object,
                             const unsigned char *bytes, size_t len);

/*
 * What loaders are called where a C library has them in its own directory; ends with NULL. Their
 * machine is not told by the name: glibc calls two of them alike.
 */
const char *const *ldso_names(void);
