/*
 * Spack: its trees have no database that a scan could ask for one package, but every package tells
 * in .spack/spec.json what it was made with, by hashes.
 */
#pragma once

#include "base/json.h"
#include "scanner/closure_file.h"

/*
 * What the packages `base` of the store open at `store_fd` say that they refer to; those without a
 * spec.json that can be read are left out. No paths: the store is not Spack's. Cheap where it is
 * not: one look into each package.
 */
void spack_tree(int store_fd, const char *store, const char *const *base, size_t n_bases,
                struct arena *arena, struct closure_file *ret_file);

/* Is a dependency, as a spec tells it, there at run time? One that only builds need may be gone. */
bool spack_is_used(const json_t *dependency);
