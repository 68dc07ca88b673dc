/*
 * Temporary roots: what is being read now must not be collected meanwhile. Nix's own way: a file
 * with the paths in it, named after the process and held under a lock (temproots/PID).
 *
 *	roots = temp_roots_hold("/", "/nix/store", paths, n);
 *	... read ...
 *	temp_roots_drop(roots);
 *
 * Where that is not possible (no Nix, a state directory that we may not write, a collector that is
 * at work already) nothing is held and nothing is wrong: what vanishes while it is read is gone.
 */
#pragma once

#include "base/base.h"

struct temp_roots;

/* Hold `n` packages of a store, by base names. NULL: they are not held. */
struct temp_roots *temp_roots_hold(const char *root, const char *store, const char *const *base,
                                   size_t n);
void temp_roots_drop(struct temp_roots *roots); /* NULL: nothing */
