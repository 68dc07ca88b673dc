/*
 * The system search path: what a glibc loader prints as such under LD_DEBUG=libs, told from its
 * file. ROOT reads it as ROOT_LDSYSPATH instead of running the loader (docs/syspath.md).
 *
 *	r = syspath_read(world, "/lib64/ld-linux-x86-64.so.2", &cpu, &arena, &syspath, &err);
 */
#pragma once

#include "loader/profile.h"
#include "loader/world.h"

struct syspath {
    const char *value;    /* directories joined by ':', each behind its sub-directories */
    const char *loader;   /* the file's path without links */
    const char *build_id; /* in hexadecimal; NULL: it has none */
    struct profile profile;
};

/*
 * `path`: an absolute path in `world`, of a loader, or of a program, whose loader is then meant.
 * -ENOEXEC: neither; -ENOTSUP: a loader that has no such path or does not print one (musl's);
 * -EINVAL: `cpu` is of another machine.
 */
MUST_CHECK int syspath_read(struct world *world, const char *path, const struct cpu *cpu,
                            struct arena *arena, struct syspath *ret_syspath, struct err *err);
