#include "tests/tracer.h"

#include "tests/elf/elf_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 8192, STDERR_BYTES = 4096, SETUP_FAILED = 99, MAX_ARGS = 64 };

/* Where a system call has its path, and for stat the buffer its answer goes to. */
struct watched {
    uint64_t number;
    enum call_kind kind;
    int path, buffer, flags; /* argument numbers; -1: none */
    size_t mode_at;          /* where in the buffer st_mode is */
};

static const struct watched host_calls[] = {
#ifdef SYS_open
    {SYS_open, CALL_OPEN, 0, -1, -1, 0},
    {SYS_stat, CALL_STAT, 0, 1, -1, offsetof(struct stat, st_mode)},
    {SYS_lstat, CALL_STAT, 0, 1, -1, offsetof(struct stat, st_mode)},
    {SYS_access, CALL_ACCESS, 0, -1, -1, 0},
    {SYS_readlink, CALL_READLINK, 0, -1, -1, 0},
#endif
    {SYS_openat, CALL_OPEN, 1, -1, -1, 0},
    {SYS_newfstatat, CALL_STAT, 1, 2, 3, offsetof(struct stat, st_mode)},
    {SYS_statx, CALL_STAT, 1, 4, 2, offsetof(struct statx, stx_mode)},
    {SYS_faccessat, CALL_ACCESS, 1, -1, -1, 0},
    {SYS_faccessat2, CALL_ACCESS, 1, -1, -1, 0},
    {SYS_readlinkat, CALL_READLINK, 1, -1, -1, 0},
};

#if defined(__x86_64__)
enum { I386_GETPPID = 64, I386_STAT64_MODE = 16 };

static const struct watched i386_calls[] = {
    {5, CALL_OPEN, 0, -1, -1, 0},                 /* open */
    {33, CALL_ACCESS, 0, -1, -1, 0},              /* access */
    {85, CALL_READLINK, 0, -1, -1, 0},            /* readlink */
    {195, CALL_STAT, 0, 1, -1, I386_STAT64_MODE}, /* stat64 */
    {196, CALL_STAT, 0, 1, -1, I386_STAT64_MODE}, /* lstat64 */
    {295, CALL_OPEN, 1, -1, -1, 0},               /* openat */
    {300, CALL_STAT, 1, 2, 3, I386_STAT64_MODE},  /* fstatat64 */
    {305, CALL_READLINK, 1, -1, -1, 0},           /* readlinkat */
    {307, CALL_ACCESS, 1, -1, -1, 0},             /* faccessat */
    {383, CALL_STAT, 1, 4, 2, offsetof(struct statx, stx_mode)},
    {439, CALL_ACCESS, 1, -1, -1, 0}, /* faccessat2 */
};
#endif

/* The system calls of a program of that kind. */
static const struct watched *calls_of(uint32_t arch, size_t *ret_n, uint64_t *ret_marker)
{
#if defined(__x86_64__)
    if (arch == AUDIT_ARCH_I386) {
        *ret_n = ARRAY_LEN(i386_calls);
        *ret_marker = I386_GETPPID;
        return i386_calls;
    }
#endif
    (void)arch;
    *ret_n = ARRAY_LEN(host_calls);
    *ret_marker = (uint64_t)elf_marker;
    return host_calls;
}

struct session {
    pid_t pid;
    struct arena *arena;
    struct traced *to;
    const struct watched *open_call; /* entered, not left yet */
    uint64_t buffer;
    int n_markers;
    const char *interp; /* of an emulated program: calls before its open are the emulator's own */
    bool emulated;
    const char *first_link; /* the first that the emulator read of the program's path */
};

/* ---- the child */

static int write_text(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = write(fd, text, strlen(text));
    close(fd);
    return n < 0 ? -1 : 0;
}

/* A user namespace in which we are root, so that chroot() is allowed to anybody. */
static int become_root(void)
{
    char map[64];

    (void)snprintf(map, sizeof(map), "0 %u 1", geteuid());
    if (unshare(CLONE_NEWUSER) < 0)
        return -1;
    return write_text("/proc/self/uid_map", map);
}

/* Does not return. The emulator itself is outside the root. */
static void start(const struct tracee *t, int emulator)
{
    const char *argv[MAX_ARGS] = {t->emulator, "-L", "/"};
    size_t n = 3;

    if (emulator < 0) {
        (void)execve(t->program, (char *const *)(uintptr_t)t->argv,
                     (char *const *)(uintptr_t)t->env);
        _exit(SETUP_FAILED);
    }
    if (t->emulated_cpu) {
        argv[n++] = "-cpu";
        argv[n++] = t->emulated_cpu;
    }
    argv[n++] = t->program;
    for (size_t i = 1; t->argv[i] && n + 1 < ARRAY_LEN(argv); i++)
        argv[n++] = t->argv[i];
    (void)execveat(emulator, "", (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)t->env,
                   AT_EMPTY_PATH);
    _exit(SETUP_FAILED);
}

static void child(const struct tracee *t, int stderr_fd)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int emulator = t->emulator ? open(t->emulator, O_PATH | O_CLOEXEC) : -1;

    if (t->emulator && emulator < 0)
        _exit(SETUP_FAILED);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(stderr_fd, 2) < 0)
        _exit(SETUP_FAILED);
    if (geteuid() != 0 && become_root() < 0)
        _exit(SETUP_FAILED);
    if (chroot(t->root) < 0 || chdir(t->cwd) < 0)
        _exit(SETUP_FAILED);
    if (t->uid && (setgroups(0, NULL) < 0 || setresgid(t->uid, t->uid, t->uid) < 0 ||
                   setresuid(t->uid, t->uid, t->uid) < 0))
        _exit(SETUP_FAILED);
    if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0) /* descriptors count: /proc/self/fd/3 */
        _exit(SETUP_FAILED);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit(SETUP_FAILED);
    (void)raise(SIGSTOP);
    start(t, emulator);
}

/* ---- the tracer */

/* A string of the tracee, read page by page: it may end just before an unmapped one. */
static const char *read_string(const struct session *s, uint64_t at)
{
    char text[PATH_BYTES];
    size_t len = 0;

    while (len < sizeof(text)) {
        const size_t left = sizeof(text) - len, page = 4096 - (at + len) % 4096;
        const struct iovec local = {text + len, left < page ? left : page};
        const struct iovec remote = {(void *)(uintptr_t)(at + len), local.iov_len}; /* NOLINT */
        const ssize_t n = process_vm_readv(s->pid, &local, 1, &remote, 1, 0);
        const char *end = n > 0 ? memchr(text + len, 0, (size_t)n) : text + len;

        if (end)
            return arena_strndup(s->arena, text, (size_t)(end - text));
        len += (size_t)n;
    }
    return arena_strndup(s->arena, text, len);
}

static bool is_directory(const struct session *s)
{
    unsigned char mode[2];
    const struct iovec local = {mode, sizeof(mode)};
    const struct iovec remote = {
        (void *)(uintptr_t)(s->buffer + s->open_call->mode_at), /* NOLINT */
        sizeof(mode)};

    return process_vm_readv(s->pid, &local, 1, &remote, 1, 0) == sizeof(mode) &&
           S_ISDIR(mode[0] | mode[1] << 8);
}

static void enter(struct session *s, const struct __ptrace_syscall_info *info)
{
    struct traced *to = s->to;
    uint64_t marker;
    size_t n;
    const struct watched *w = calls_of(info->arch, &n, &marker);

    if (info->entry.nr == marker) {
        to->n_markers++;
        return;
    }
    for (const struct watched *end = w + n; w < end; w++) {
        if (w->number != info->entry.nr)
            continue;
        if (w->flags >= 0 && info->entry.args[w->flags] & AT_EMPTY_PATH)
            return;
        s->open_call = w;
        s->buffer = w->buffer >= 0 ? info->entry.args[w->buffer] : 0;
        to->call = arena_grow(s->arena, to->call, to->n_calls, sizeof(*to->call));
        to->call[to->n_calls++] = (struct traced_call){
            .kind = w->kind,
            .path = read_string(s, info->entry.args[w->path]),
            .phase = to->n_markers,
        };
        return;
    }
}

/*
 * What of an emulator's calls is its program's: nothing before it has opened the loader, nor what
 * it asks of the kernel to lay out a loader that is started by itself. For /proc/self/exe it reads
 * its way down the program's path, link by link: that is one call, until it starts again.
 */
static void leave_emulated(struct session *s, struct traced_call *call)
{
    struct traced *to = s->to;
    const struct traced_call *before = to->n_calls > 1 ? call - 1 : NULL;

    if (s->interp) {
        if (call->kind == CALL_OPEN && !call->error && !strcmp(call->path, s->interp))
            s->interp = NULL;
        to->n_calls = 0;
    } else if (!strcmp(call->path, "/proc/sys/vm/mmap_min_addr") ||
               !strcmp(call->path, "/proc/self/maps")) {
        to->n_calls--;
    } else if (call->kind == CALL_READLINK) {
        if (before && before->kind == CALL_READLINK && strcmp(call->path, s->first_link) != 0)
            to->n_calls--;
        else
            s->first_link = call->path;
        call->path = "/proc/self/exe";
        call->error = 0;
    }
}

static void leave(struct session *s, const struct __ptrace_syscall_info *info)
{
    struct traced_call *call;

    if (!s->open_call)
        return;
    call = &s->to->call[s->to->n_calls - 1];
    call->error = info->exit.is_error ? (int)-info->exit.rval : 0;
    call->is_dir = call->kind == CALL_STAT && !call->error && is_directory(s);
    s->open_call = NULL;
    if (s->emulated)
        leave_emulated(s, call);
}

/* Follow the child to its marker or its end. False: it never got as far as execve(). */
static bool follow(struct session *s)
{
    struct __ptrace_syscall_info info;
    bool started = false;
    int status, signal;

    for (;;) {
        if (waitpid(s->pid, &status, 0) < 0)
            return false;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            s->to->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            return started;
        }
        signal = WSTOPSIG(status);
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
            started = true;
            signal = 0;
        } else if (signal == (SIGTRAP | 0x80)) {
            signal = 0;
            if (started &&
                ptrace(PTRACE_GET_SYSCALL_INFO, s->pid, (void *)sizeof(info), &info) > 0) {
                if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
                    enter(s, &info);
                else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
                    leave(s, &info);
            }
            if (s->to->n_markers >= s->n_markers) {
                (void)kill(s->pid, SIGKILL);
                (void)waitpid(s->pid, &status, 0);
                return true;
            }
        }
        if (ptrace(PTRACE_SYSCALL, s->pid, NULL, (void *)(uintptr_t)signal) < 0) /* NOLINT */
            (void)kill(s->pid, SIGKILL);
    }
}

static const char *read_back(int fd, struct arena *arena)
{
    char text[STDERR_BYTES];
    const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    return arena_strndup(arena, text, n > 0 ? (size_t)n : 0);
}

int tracer_run(const struct tracee *tracee, struct arena *arena, struct traced *ret_traced,
               struct err *err)
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    struct traced traced = {0};
    struct session s = {
        .arena = arena,
        .to = &traced,
        .n_markers = tracee->n_markers ? tracee->n_markers : 1,
        .interp = tracee->emulator ? tracee->interp : NULL,
        .emulated = tracee->emulator != NULL,
    };
    const int stderr_fd = memfd_create("stderr", MFD_CLOEXEC);
    int status;
    bool ok;

    if (stderr_fd < 0)
        return err_set(err, errno, "memfd: %s", strerror(errno));
    s.pid = fork();
    if (s.pid == 0)
        child(tracee, stderr_fd);
    ok = s.pid > 0 && waitpid(s.pid, &status, 0) == s.pid && WIFSTOPPED(status) &&
         ptrace(PTRACE_SETOPTIONS, s.pid, NULL, (void *)options) == 0 && /* NOLINT */
         ptrace(PTRACE_SYSCALL, s.pid, NULL, NULL) == 0 && follow(&s);
    traced.stderr_text = read_back(stderr_fd, arena);
    close(stderr_fd);
    if (!ok)
        return err_set(err, EPERM, "cannot start '%s' under trace in a private root",
                       tracee->program);
    *ret_traced = traced;
    return 0;
}
