/*
 * Wrappers: small programs that set the environment and become the real one.
 *
 *	int r = wrapper_read(&script, &arena, &wrapper, &err);
 *	r == 0: wrapper.program is started with wrapper.env
 *
 * Followed are shell scripts of makeWrapper (all its generations) and of Guix, programs of
 * makeBinaryWrapper, which carry their own description as text, and scripts for Guile by Guix.
 * Nothing is run and no file is read: a script is followed by a strict reader of the few constructs
 * such scripts are made of; a script that holds anything else (`--run`, pipes, command substitution)
 * is not.
 */
#pragma once

#include "base/arena.h"

struct wrapper {
    const char *interpreter; /* of a script, from its first line; NULL: a program by itself */
    const char *program;     /* what it becomes, as given to execve() */
    const char **env;        /* NAME=VALUE, in order of first appearance */
    size_t n_env;
    const char *cwd;   /* NULL: left as it is */
    const char **args; /* added arguments: n_args, those before the caller's own first */
    size_t n_args, n_before;
};

/* What may be a wrapper: what its file holds, and what it is started with. */
struct script {
    const char *bytes;
    size_t len;
    const char *const *env; /* NAME=VALUE */
    size_t n_env;
    const char *shell; /* that is given it to read, whatever its first line says */
};

/*
 * Follow a wrapper; its `shell` does not matter. Everything returned is allocated in `arena`.
 * -ENOEXEC: no wrapper at all (neither a script nor makeBinaryWrapper's).
 * -ENOTSUP: a script that cannot be followed; `err` says why in half a sentence.
 */
MUST_CHECK int wrapper_read(const struct script *script, struct arena *arena,
                            struct wrapper *ret_wrapper, struct err *err);

/* The same for a script that its `shell` reads. -ENOTSUP: it cannot be followed. */
MUST_CHECK int wrapper_shell(const struct script *script, struct arena *arena,
                             struct wrapper *ret_wrapper, struct err *err);

/* The same for a C shell, csh or tcsh. */
MUST_CHECK int wrapper_csh(const struct script *script, struct arena *arena,
                           struct wrapper *ret_wrapper, struct err *err);

/*
 * The same for a script that Guile reads, as Guix' wrap-script makes them: it runs the script once
 * more with the interpreter `program`. -ENOEXEC: no such script; -ENOTSUP: it cannot be followed.
 */
MUST_CHECK int wrapper_guile(const struct script *script, struct arena *arena,
                             struct wrapper *ret_wrapper, struct err *err);

/* Enough of a file for wrapper_read(): longer ones are no wrappers. Bytes. */
enum { WRAPPER_MAX = 512 * 1024 };
