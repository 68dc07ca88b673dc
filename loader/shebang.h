/*
 * The first line of scripts: who runs them.
 */
#pragma once

#include "base/arena.h"

struct shebang {
    const char *interpreter;
    const char *arg; /* the rest of the line, one argument; NULL: none */
};

/* Enough of a file to read its first line: the kernel looks at no more. Bytes. */
enum { SHEBANG_MAX = 256 };

/*
 * "#! INTERPRETER [ARG]" as the kernel reads it. -ENOEXEC: not a script; -ENOTSUP: its line names
 * no interpreter, or one whose name is cut off.
 */
MUST_CHECK int shebang_read(const char *bytes, size_t len, struct arena *arena,
                            struct shebang *ret_shebang, struct err *err);

/*
 * What sbang reads (Spack): the last of the first two lines that names an interpreter behind "#!",
 * or "//!", "--!" and "<?php #!" where "#" means something else. Its words, split at blanks.
 * -ENOTSUP: there is none, or only the one that led to sbang.
 */
MUST_CHECK int shebang_second(const char *bytes, size_t len, struct arena *arena,
                              const char ***ret_word, size_t *ret_n, struct err *err);
