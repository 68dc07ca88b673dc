/*
 * Wrappers: small programs that set the environment and become the real one.
 *
 *	int r = wrapper_shell(&script, &arena, &wrapper, &err);
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
    const char *program; /* what it becomes, as given to execve() */
    const char **env;    /* NAME=VALUE, in order of first appearance */
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
    const char *shell; /* its reader, whatever the first line says; NULL: it is no shell's */
};

/*
 * Follow a script that its `shell` reads. Everything returned is allocated in `arena`. -ENOTSUP: it
 * cannot be followed; `err` says why in half a sentence.
 */
MUST_CHECK int wrapper_shell(const struct script *script, struct arena *arena,
                             struct wrapper *ret_wrapper, struct err *err);

/* The same for a C shell, csh or tcsh. */
MUST_CHECK int wrapper_csh(const struct script *script, struct arena *arena,
                           struct wrapper *ret_wrapper, struct err *err);

/* The same for a program of makeBinaryWrapper. -ENOEXEC: it is none; -ENOTSUP as above. */
MUST_CHECK int wrapper_binary(const struct script *script, struct arena *arena,
                              struct wrapper *ret_wrapper, struct err *err);

/*
 * The same for a script that Guile reads, as Guix' wrap-script makes them: it runs the script once
 * more with the interpreter `program`. -ENOEXEC: no such script; -ENOTSUP: it cannot be followed.
 */
MUST_CHECK int wrapper_guile(const struct script *script, struct arena *arena,
                             struct wrapper *ret_wrapper, struct err *err);

/* Enough of a file for all of them: longer ones are no wrappers. Bytes. */
enum { WRAPPER_MAX = 512 * 1024 };
