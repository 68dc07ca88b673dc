/*
 * Lines of strace: one line of text becomes one fact, or an error that names the line.
 *
 *	struct line line;
 *	int r = parse_line(text, len, &arena, &line, &err);
 *
 * Written for strace 4.26 and later with `-q` and with or without `-x`/`-xx`: strings may carry
 * octal, hexadecimal and C escapes. The text is hostile (paths are bytes that anybody chose), so
 * nothing is taken on trust: lengths are bounded, and a line that is not understood is an error,
 * never a guess. Lines about system calls that are of no interest are LINE_OTHER.
 */
#pragma once

#include "base/arena.h"
#include "loader/trace.h"

/* Longest line that is accepted, bytes. A path is at most 4096 bytes of four characters each. */
enum { PARSE_LINE_MAX = 64 * 1024 };

enum line_kind {
    LINE_OTHER,          /* nothing of interest */
    LINE_CALL,           /* a call on a path: `call` */
    LINE_EXEC,           /* execve: `path`, `error` */
    LINE_THREAD_POINTER, /* arch_prctl(ARCH_SET_FS) or set_tid_address */
    LINE_SEAL,           /* mprotect(.., PROT_READ): relocated data becomes read-only */
    LINE_STOPPED,        /* the process stands still after a signal that stops */
    LINE_EXITED,         /* the process is gone: `status` */
    LINE_KILLED,         /* the process is gone by a signal */
};

struct line {
    enum line_kind kind;
    struct call call; /* kind, error, is_dir and path are set */
    const char *path; /* LINE_EXEC, as given; LINE_KILLED: the signal's name */
    int error;        /* LINE_EXEC: errno, 0: the new program runs */
    int status;       /* LINE_EXITED: exit status */
    bool cut;         /* strace did not print the whole path */
};

/*
 * Understand one line, without its line end. Paths are allocated in `arena`. -EINVAL: the line is
 * not one of strace's, or longer than PARSE_LINE_MAX.
 */
MUST_CHECK int parse_line(const char *text, size_t len, struct arena *arena, struct line *ret_line,
                          struct err *err);

/* The system calls that parse_line() tells apart, as strace's `-e` expression. */
extern const char parse_syscalls[];
