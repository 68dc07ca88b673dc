/*
 * A small tracer: start a program in a private root and note every call on a path that it makes.
 *
 * By ptrace, without strace: some thousand starts must take seconds. What counts as a call is
 * what check/ counts: open, stat, access, readlink on a path; not fstat or calls on an open
 * descriptor. Noting ends at the system call elf_marker of our own programs, where the process is
 * killed, or when it exits.
 *
 * 32-bit x86 programs make their own calls. An emulated program's calls become the emulator's, one
 * for one, once that has opened the loader; but /proc/self/exe it answers itself.
 */
#pragma once

#include "base/arena.h"
#include "loader/trace.h"

struct tracee {
    const char *root;        /* becomes / */
    const char *cwd;         /* inside the root */
    const char *program;     /* for execve(); relative to cwd */
    const char *const *argv; /* ends with NULL */
    const char *const *env;  /* ends with NULL */
    uint32_t uid;            /* who runs it; needs root when not 0 */
    int n_markers;           /* killed at that many marker calls; 0: at the first */

    /* Programs of another machine: qemu's user mode emulator, a static one, and its -cpu. */
    const char *emulator, *emulated_cpu; /* NULL: none; NULL: qemu's default */
    const char *interp;                  /* where the emulator finds the loader */
};

struct traced_call {
    enum call_kind kind;
    const char *path;
    int error;   /* errno; 0: ok */
    bool is_dir; /* of a stat that succeeded */
    int phase;   /* marker calls before it */
};

struct traced {
    struct traced_call *call;
    size_t n_calls;
    int n_markers;           /* 0: start-up was not completed */
    int status;              /* of its end before that: exit status, 128 + signal */
    const char *stderr_text; /* at most 4 KiB */
};

/* -EPERM: this machine does not let us make a private root, or trace. */
MUST_CHECK int tracer_run(const struct tracee *tracee, struct arena *arena,
                          struct traced *ret_traced, struct err *err);
