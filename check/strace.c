#include "check/strace.h"

#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MESSAGE_MAX = 2048,
    /* How much one process may make strace print: a start-up is a few megabytes at most. */
    OUTPUT_MAX = 256 * 1024 * 1024,
    KILL_GRACE_MS = 5000, /* how long a killed process may take to be gone */
};

/* Where a process must stand still to be looked at: what may end start-up (check/process.h). */
static const char inject[] = "inject=?arch_prctl,set_tid_address,mprotect:signal=SIGSTOP";

/*
 * strace at work:
 *
 *	us --fork--> strace --fork--> program
 *	   <--trace_fd-- (a FIFO) --'    |
 *	   <--text_fd--- standard error -'
 */
struct session {
    const struct run *run;
    struct arena *arena;
    pid_t pid; /* strace's, and its process group's */
    int pidfd, trace_fd, text_fd;
    char *line; /* PARSE_LINE_MAX + 1 bytes, `len` of them in use */
    size_t len, line_number, total;
    char message[MESSAGE_MAX];
    size_t message_len;
    int64_t deadline_ms; /* of CLOCK_MONOTONIC; -1: none */
    bool killed;
};

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

const char *strace_find(struct arena *arena, const char *name)
{
    const char *path = getenv("PATH") ?: "/usr/bin:/bin";

    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? name : NULL;
    while (*path) {
        size_t len = strcspn(path, ":");
        const char *full = str_join(arena, arena_strndup(arena, path, len), name);

        if (len && access(full, X_OK) == 0)
            return full;
        path += len + (path[len] == ':');
    }
    return NULL;
}

/* ---- starting */

struct words {
    struct arena *arena;
    const char **word;
    size_t n;
};

static void add_word(struct words *words, const char *word)
{
    words->word = arena_grow(words->arena, words->word, words->n, sizeof(*words->word));
    words->word[words->n++] = word;
}

/* strace's command line, as far as the program's own. */
static int strace_words(const struct run *run, const char *output, bool tree, struct words *words,
                        struct err *err)
{
    const char *strace = strace_find(words->arena, "strace");
    const char *unshare = NULL;

    if (!strace)
        return err_set(err, ENOENT, "strace is not installed");
    if (run->root && !(unshare = strace_find(words->arena, "unshare")))
        return err_set(err, ENOENT, "unshare (of util-linux) is not installed");
    add_word(words, strace);
    add_word(words, tree ? "-ff" : "-q");
    add_word(words, "-q");
    add_word(words, "-xx");
    add_word(words, "-o");
    add_word(words, output);
    add_word(words, "-e");
    add_word(words, parse_syscalls);
    if (run->stop_after) {
        add_word(words, "-e");
        add_word(words, inject);
    }
    for (size_t i = 0; i < run->n_env; i++) {
        add_word(words, "-E");
        add_word(words, run->env[i]);
    }
    add_word(words, "--");
    if (unshare) {
        add_word(words, unshare);
        if (geteuid() != 0)
            add_word(words, "--map-root-user");
        add_word(words, arena_printf(words->arena, "--root=%s", run->root));
        add_word(words, arena_printf(words->arena, "--wd=%s", run->cwd ?: "/"));
        add_word(words, "--");
    }
    for (const char *const *a = run->argv; *a; a++)
        add_word(words, *a);
    add_word(words, NULL);
    return 0;
}

/* Between fork() and execve(): only calls that are safe there. */
static _Noreturn void become_strace(const char *const *word, const char *cwd, int text_fd,
                                    bool tree)
{
    static char *const no_env[] = {NULL};
    const struct rlimit no_core = {0, 0};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    setrlimit(RLIMIT_CORE, &no_core);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || chdir(cwd) < 0)
        _exit(126);
    if (dup2(tree ? STDERR_FILENO : null, STDOUT_FILENO) < 0)
        _exit(126);
    if (!tree && dup2(text_fd, STDERR_FILENO) < 0)
        _exit(126);
    execve(word[0], (char *const *)(uintptr_t)word, no_env);
    _exit(126);
}

static int start(struct session *s, const char *const *word, bool tree, struct err *err)
{
    const char *cwd = s->run->root || !s->run->cwd ? "/" : s->run->cwd;
    int text[2] = {-1, -1};

    if (!tree && pipe2(text, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_set(err, errno, "pipe: %s", strerror(errno));
    s->text_fd = text[0];
    s->pid = fork();
    if (s->pid == 0)
        become_strace(word, cwd, text[1], tree);
    close_fd(&text[1]);
    if (s->pid < 0)
        return err_set(err, errno, "fork: %s", strerror(errno));
    s->pidfd = pidfd_open(s->pid, 0);
    if (s->pidfd < 0)
        return err_set(err, errno, "pidfd_open: %s", strerror(errno));
    s->deadline_ms = s->run->limit_ms ? now_ms() + s->run->limit_ms : -1;
    return 0;
}

/* End everything that is left of the session. */
static void session_done(struct session *s)
{
    if (s->pid > 0) {
        kill(-s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    close_fd(&s->pidfd);
    close_fd(&s->trace_fd);
    close_fd(&s->text_fd);
}

/* ---- stopping */

/*
 * Kill what strace traces, so that strace sees it go and ends by itself. The process group would
 * do, but for programs that have left it.
 */
static void kill_traced(struct session *s)
{
    char path[64], pids[512] = "", *at = pids, *end;
    ssize_t n;
    int fd;

    s->killed = true;
    s->deadline_ms = now_ms() + KILL_GRACE_MS;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)s->pid, (int)s->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, pids, sizeof(pids) - 1);
    close_fd(&fd);
    if (n <= 0) {
        kill(-s->pid, SIGKILL);
        return;
    }
    for (long pid = strtol(at, &end, 10); end != at; pid = strtol(at, &end, 10)) {
        if (pid > 1)
            kill((pid_t)pid, SIGKILL);
        at = end;
    }
}

/* ---- reading */

static int take_line(struct session *s, struct process *process, struct err *err)
{
    struct err why;
    int r;

    s->line_number++;
    r = process_line(process, s->line, s->len, &why);
    if (r < 0)
        return err_set(err, -r, "line %zu of strace's output: %s", s->line_number, why.text);
    if (!process->stopped)
        return 0;
    if (s->run->stop_after && process->n_done >= s->run->stop_after)
        kill_traced(s);
    else
        kill(-s->pid, SIGCONT);
    return 0;
}

/* Read what there is. 0: nothing for now; 1: something; -errno. */
static int read_trace(struct session *s, struct process *process, struct err *err)
{
    char buffer[16 * 1024];
    ssize_t n = read(s->trace_fd, buffer, sizeof(buffer));

    if (n <= 0)
        return 0;
    s->total += (size_t)n;
    if (s->total > OUTPUT_MAX)
        return err_set(err, E2BIG, "strace printed more than %d bytes", OUTPUT_MAX);
    for (ssize_t i = 0; i < n; i++) {
        int r;

        if (buffer[i] != '\n') {
            if (s->len == PARSE_LINE_MAX)
                return err_set(err, E2BIG, "line %zu of strace's output is too long",
                               s->line_number + 1);
            s->line[s->len++] = buffer[i];
            continue;
        }
        r = take_line(s, process, err);
        s->len = 0;
        if (r < 0)
            return r;
    }
    return 1;
}

static bool read_text(struct session *s)
{
    char buffer[1024];
    ssize_t n = read(s->text_fd, buffer, sizeof(buffer));
    size_t room = MESSAGE_MAX - 1 - s->message_len;

    if (n <= 0)
        return false;
    if ((size_t)n < room)
        room = (size_t)n;
    memcpy(s->message + s->message_len, buffer, room);
    s->message_len += room;
    return true;
}

/* Everything there is, then the end. */
static int drain(struct session *s, struct process *process, struct err *err)
{
    int r;

    while ((r = read_trace(s, process, err)) > 0)
        ;
    while (read_text(s))
        ;
    return r;
}

static int watch(struct session *s, struct process *process, bool *ret_timed_out, struct err *err)
{
    for (;;) {
        struct pollfd fds[] = {
            {.fd = s->trace_fd, .events = POLLIN},
            {.fd = s->text_fd, .events = POLLIN},
            {.fd = s->pidfd, .events = POLLIN},
        };
        int64_t left = s->deadline_ms < 0 ? -1 : s->deadline_ms - now_ms();
        int r;

        if (s->deadline_ms >= 0 && left <= 0) {
            if (s->killed)
                return drain(s, process, err); /* session_done() is rougher */
            *ret_timed_out = true;
            kill_traced(s);
            continue;
        }
        r = poll(fds, ARRAY_LEN(fds), left > 1000 || left < 0 ? 1000 : (int)left);
        if (r < 0 && errno != EINTR)
            return err_set(err, errno, "poll: %s", strerror(errno));
        if (fds[1].revents)
            read_text(s);
        if (fds[2].revents)
            return drain(s, process, err);
        r = read_trace(s, process, err);
        if (r < 0)
            return r;
        /* a FIFO whose writers are gone is always ready: wait for strace's end then */
        if (r == 0 && (fds[0].revents & POLLHUP))
            poll(&fds[2], 1, 10);
    }
}

/* strace failed before it ran anything: say so in its own words. */
static int strace_failed(const struct run_result *result, struct err *err)
{
    int code = strstr(result->message, "not permitted") ? EPERM : EIO;

    return err_set(err, code, "strace could not run anything: %s",
                   *result->message ? result->message : "it said nothing");
}

int strace_run(const struct run *run, struct arena *arena, struct run_result *ret_result,
               struct err *err)
{
    const char *fifo = str_join(arena, run->scratch, "trace");
    CLEANUP(session_done)
    struct session s = {.run = run, .arena = arena, .pidfd = -1, .trace_fd = -1, .text_fd = -1};
    struct run_result result = {.process.arena = arena};
    struct words words = {.arena = arena};
    int r = strace_words(run, fifo, false, &words, err);

    if (r < 0)
        return r;
    unlink(fifo);
    if (mkfifo(fifo, 0600) < 0)
        return err_set(err, errno, "'%s': %s", fifo, strerror(errno));
    s.trace_fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (s.trace_fd < 0)
        return err_set(err, errno, "'%s': %s", fifo, strerror(errno));
    s.line = arena_alloc(arena, PARSE_LINE_MAX + 1);
    r = start(&s, words.word, false, err);
    if (r == 0)
        r = watch(&s, &result.process, &result.timed_out, err);
    unlink(fifo);
    if (r < 0)
        return r;
    while (s.message_len && isspace((unsigned char)s.message[s.message_len - 1]))
        s.message_len--;
    result.message = arena_strndup(arena, s.message, s.message_len);
    if (!result.process.n_starts && !result.process.failed_execs && !result.timed_out)
        return strace_failed(&result, err);
    *ret_result = result;
    return 0;
}
