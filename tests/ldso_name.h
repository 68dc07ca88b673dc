/*
 * Loaders by name: what a recorded case's `loader` says about strings in the loader's file
 * (docs/loader.md, section 1).
 *
 *	glibc-2.36-debian	glibc-2.42-nix	glibc-2.42-ldcache-nix	glibc-2.41-fakeintel-debian
 *	glibc-2.36-debian-aarch64-linux-gnu	glibc-2.36-debian-lib32
 *	glibc-2.41-normalises-debian	musl-1.2.5	musl-1.2.5-nix
 *
 * "normalises" searches $ORIGIN of set-id programs normalised, as versions from 2.45 on do anyway;
 * "ldcache" reads resolution notes as the first patch does (reader A), "ldcache_b" as the second.
 */
#pragma once

#include "scanner/object.h"

struct arena;

/*
 * What the scanner would find in the file of loader `name`, installed as `interp`. `ret_intel`: an
 * AMD processor is taken for Intel's by this one.
 */
MUST_CHECK int ldso_by_name(struct arena *arena, const char *name, const char *interp,
                            struct ldso *ret_ldso, bool *ret_intel, struct err *err);
