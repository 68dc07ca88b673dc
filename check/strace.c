#include "check/strace.h"

#include "base/str.h"
#include "check/spawn.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/*
 * strace at work:
 *
 *	us --fork--> strace --fork--> program
 *	   <--trace_fd-- (a FIFO) --'    |
 *	   <--text_fd--- standard error -'
 */
struct session {
    const struct run *run;
    struct spawned child;
    int trace_fd;
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

/* ---- ending */

/* End everything that is left of the session. */
static void session_done(struct session *s)
{
    if (s->child.pid > 0) {
        kill(-s->child.pid, SIGKILL);
        waitpid(s->child.pid, NULL, 0);
    }
    close_fd(&s->child.pidfd);
    close_fd(&s->trace_fd);
    close_fd(&s->child.text_fd);
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
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)s->child.pid, (int)s->child.pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, pids, sizeof(pids) - 1);
    close_fd(&fd);
    if (n <= 0) {
        kill(-s->child.pid, SIGKILL);
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
        kill(-s->child.pid, SIGCONT);
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
    ssize_t n = read(s->child.text_fd, buffer, sizeof(buffer));
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
            {.fd = s->child.text_fd, .events = POLLIN},
            {.fd = s->child.pidfd, .events = POLLIN},
            {.fd = s->run->interrupt, .events = POLLIN},
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
        if (fds[3].revents)
            return err_set(err, EINTR, "interrupted");
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
    struct session s = {.run = run, .child = {.pidfd = -1, .text_fd = -1}, .trace_fd = -1};
    struct run_result result = {.process.arena = arena};
    int r;

    unlink(fifo);
    if (mkfifo(fifo, 0600) < 0)
        return err_set(err, errno, "'%s': %s", fifo, strerror(errno));
    s.trace_fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (s.trace_fd < 0)
        return err_set(err, errno, "'%s': %s", fifo, strerror(errno));
    s.line = arena_alloc(arena, PARSE_LINE_MAX + 1);
    s.deadline_ms = run->limit_ms ? now_ms() + run->limit_ms : -1;
    r = spawn_strace(run, fifo, false, arena, &s.child, err);
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
