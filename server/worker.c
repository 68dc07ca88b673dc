#include "server/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NICE = 10, LINE_MAX_BYTES = 4096, FAILED_TO_START = 127 };

struct worker {
    pid_t pid;
    int progress, out, errors;
    bool ended;
    struct worker_end end;
    char line[LINE_MAX_BYTES]; /* of progress, not ended yet */
    size_t n_line;
};

/* Between fork and exec in a process with threads: system calls alone. */
static void become(const char *program, const char *const *argv, pid_t parent, int progress,
                   int out, int errors)
{
    const struct rlimit no_core = {0, 0};
    const int null = open("/dev/null", O_RDONLY);

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || null < 0)
        _exit(FAILED_TO_START);
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0 ||
        dup2(progress, WORKER_PROGRESS_FD) < 0 || close_range(WORKER_PROGRESS_FD + 1, ~0U, 0) < 0)
        _exit(FAILED_TO_START);
    (void)execv(program, (char *const *)(uintptr_t)argv);
    _exit(FAILED_TO_START);
}

/* A copy with a number that no target of dup2() has. */
static int out_of_the_way(int fd)
{
    const int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, WORKER_PROGRESS_FD + 10);

    if (fd >= 0)
        (void)close(fd);
    return high;
}

/* What a worker says is kept in memory: where it works the disk may be full. */
static int open_output(const char *name)
{
    return out_of_the_way(memfd_create(name, MFD_CLOEXEC));
}

static void close_one(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

static void unblock_signals(sigset_t *ret_old)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, ret_old);
}

int worker_start(const char *program, const char *const *argv, struct worker **ret_worker,
                 struct err *err)
{
    const int out = open_output("out"), errors = open_output("errors");
    const pid_t parent = getpid();
    int ends[2] = {-1, -1}, r = 0;
    struct worker *worker;
    sigset_t old;
    pid_t pid = -1;

    if (out < 0 || errors < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        r = errno;
    ends[1] = out_of_the_way(ends[1]);
    if (r == 0) {
        unblock_signals(&old);
        pid = fork();
        if (pid == 0)
            become(program, argv, parent, ends[1], out, errors);
        r = pid < 0 ? errno : 0;
        if (pid > 0)
            (void)setpgid(pid, pid); /* whoever of both comes first */
        (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    close_one(ends[1]);
    if (r) {
        close_one(out);
        close_one(errors);
        close_one(ends[0]);
        return err_set(err, r, "cannot start a worker: %s", strerror(r));
    }
    worker = calloc(1, sizeof(*worker));
    if (!worker)
        abort();
    worker->pid = pid;
    worker->progress = ends[0];
    worker->out = out;
    worker->errors = errors;
    *ret_worker = worker;
    return 0;
}

int worker_out(const struct worker *w)
{
    return w->out;
}

int worker_errors(const struct worker *w)
{
    return w->errors;
}

/* The last whole line among what was read; what follows it stays for later. */
static json_t *last_line(struct worker *w)
{
    char *end = memrchr(w->line, '\n', w->n_line), *from;
    json_t *json;
    size_t used;

    if (!end) {
        if (w->n_line == sizeof(w->line))
            w->n_line = 0;
        return NULL;
    }
    from = end > w->line ? memrchr(w->line, '\n', (size_t)(end - w->line)) : NULL;
    from = from ? from + 1 : w->line;
    json = json_loadb(from, (size_t)(end - from), JSON_REJECT_DUPLICATES, NULL);
    used = (size_t)(end - w->line) + 1;
    w->n_line -= used;
    memmove(w->line, w->line + used, w->n_line);
    if (json && !json_is_object(json)) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

json_t *worker_progress(struct worker *w)
{
    json_t *last = NULL, *line;
    ssize_t n;

    while ((n = read(w->progress, w->line + w->n_line, sizeof(w->line) - w->n_line)) > 0) {
        w->n_line += (size_t)n;
        line = last_line(w);
        if (line) {
            json_decref(last);
            last = line;
        }
    }
    return last;
}

bool worker_ended(struct worker *w, struct worker_end *ret_end)
{
    int status;

    if (!w->ended && waitpid(w->pid, &status, WNOHANG) == w->pid) {
        w->ended = true;
        w->end = (struct worker_end){.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                                     .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    }
    *ret_end = w->end;
    return w->ended;
}

void worker_kill(struct worker *w)
{
    if (w && !w->ended)
        (void)kill(-w->pid, SIGKILL);
}

void worker_free(struct worker *w)
{
    if (!w)
        return;
    if (!w->ended)
        (void)waitpid(w->pid, NULL, 0);
    close_one(w->progress);
    close_one(w->out);
    close_one(w->errors);
    free(w);
}
