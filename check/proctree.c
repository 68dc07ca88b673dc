#include "check/proctree.h"

#include "base/str.h"
#include "check/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_PROCESSES = 1 << 17,
    KILL_ROUNDS = 50, /* each looks at all traced processes and waits 100 ms */
};

/* strace writes one file per process: "PREFIX.PID". */
static const char prefix[] = "process.";

/* ---- adding up */

static struct proctree_row *row_of(struct proctree *tree, const char *program, struct arena *arena)
{
    for (size_t i = 0; i < tree->n; i++)
        if (!strcmp(tree->row[i].program, program))
            return &tree->row[i];
    tree->row = arena_grow(arena, tree->row, tree->n, sizeof(*tree->row));
    tree->row[tree->n] = (struct proctree_row){.program = arena_strdup(arena, program)};
    return &tree->row[tree->n++];
}

static void add_call(struct storm *storm, const struct call *call)
{
    bool failed = call->error != 0;

    switch (call->kind) {
    case CALL_OPEN:
        storm->opens++;
        storm->failed_opens += failed;
        break;
    case CALL_STAT:
        storm->stats++;
        storm->failed_stats += failed;
        break;
    case CALL_ACCESS:
    case CALL_READLINK:
        storm->others++;
        storm->failed_others += failed;
        break;
    }
}

void proctree_add(struct proctree *tree, const struct process *process, struct arena *arena)
{
    tree->processes++;
    tree->failed_execs += process->failed_execs;
    for (size_t i = 0; i < process->n_starts; i++) {
        const struct start_seen *start = &process->start[i];
        struct proctree_row *row = row_of(tree, start->program, arena);

        row->starts++;
        row->failed_starts += start->end != STARTUP_DONE;
        for (size_t c = 0; c < start->n_calls; c++)
            add_call(&row->storm, &start->call[c]);
    }
}

static uint64_t failed(const struct proctree_row *row)
{
    return (uint64_t)row->storm.failed_opens + row->storm.failed_stats + row->storm.failed_others;
}

static int by_failed(const void *left, const void *right)
{
    const struct proctree_row *a = left, *b = right;

    if (failed(a) != failed(b))
        return failed(a) < failed(b) ? 1 : -1;
    return strcmp(a->program, b->program);
}

void proctree_finish(struct proctree *tree)
{
    if (tree->n)
        qsort(tree->row, tree->n, sizeof(*tree->row), by_failed);
    tree->sum = (struct proctree_row){0};
    for (size_t i = 0; i < tree->n; i++) {
        const struct proctree_row *row = &tree->row[i];
        struct storm *sum = &tree->sum.storm;

        tree->sum.starts += row->starts;
        tree->sum.failed_starts += row->failed_starts;
        sum->opens += row->storm.opens;
        sum->failed_opens += row->storm.failed_opens;
        sum->stats += row->storm.stats;
        sum->failed_stats += row->storm.failed_stats;
        sum->others += row->storm.others;
        sum->failed_others += row->storm.failed_others;
    }
}

/* ---- strace's files */

static int process_of(const struct dirent *entry)
{
    const char *digits = entry->d_name + sizeof(prefix) - 1;
    char *end;
    long pid;

    if (!str_starts(entry->d_name, prefix))
        return 0;
    pid = strtol(digits, &end, 10);
    return *end || pid <= 0 || pid > INT32_MAX ? 0 : (int)pid;
}

static int is_process(const struct dirent *entry)
{
    return process_of(entry) > 0;
}

static int by_number(const struct dirent **left, const struct dirent **right)
{
    return process_of(*left) - process_of(*right);
}

static void free_entries(struct dirent **entry, int n)
{
    for (int i = 0; i < n; i++)
        free(entry[i]);
    free(entry);
}

static int read_lines(FILE *from, const char *path, struct process *process, struct err *err)
{
    char *line = NULL;
    size_t size = 0, number = 0;
    ssize_t len;
    int r = 0;

    while (r == 0 && (len = getline(&line, &size, from)) >= 0) {
        struct err why;

        number++;
        if (len == 0 || line[len - 1] != '\n')
            break; /* cut off when it was killed */
        r = process_line(process, line, (size_t)len - 1, &why);
        if (r < 0)
            r = err_set(err, -r, "'%s', line %zu: %s", path, number, why.text);
    }
    free(line);
    return r;
}

static int read_process(const char *path, struct process *process, struct err *err)
{
    FILE *from = fopen(path, "re");
    int r;

    if (!from)
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    r = read_lines(from, path, process, err);
    (void)fclose(from);
    return r;
}

/* Every process of the tree, in order of process number. */
static int read_all(const struct run *run, struct arena *arena, struct proctree *tree,
                    struct err *err)
{
    struct dirent **entry;
    int n = scandir(run->scratch, &entry, is_process, by_number), r = 0;

    if (n < 0)
        return err_set(err, errno, "'%s': %s", run->scratch, strerror(errno));
    if (n > MAX_PROCESSES)
        r = err_set(err, E2BIG, "more than %d processes", MAX_PROCESSES);
    for (int i = 0; i < n && r == 0; i++) {
        CLEANUP(arena_release) struct arena one = {0};
        struct process process = {.arena = &one};

        r = read_process(str_join(&one, run->scratch, entry[i]->d_name), &process, err);
        if (r == 0)
            proctree_add(tree, &process, arena);
    }
    free_entries(entry, n);
    return r;
}

/* ---- the time limit */

/* Is this process still traced by `tracer`? Numbers are reused: only that makes it ours. */
static bool traced_by(int pid, pid_t tracer)
{
    char path[64], line[128];
    bool ours = false;
    FILE *from;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
    from = fopen(path, "re");
    if (!from)
        return false;
    while (fgets(line, sizeof(line), from))
        if (str_starts(line, "TracerPid:"))
            ours = strtol(line + strlen("TracerPid:"), NULL, 10) == tracer;
    (void)fclose(from);
    return ours;
}

/* Wait until strace ends, or `ms` (-1: for ever) are over, or `interrupt` can be read. */
static bool gone_within(const struct spawned *s, int ms, int interrupt)
{
    struct pollfd fd[] = {
        {.fd = s->pidfd, .events = POLLIN},
        {.fd = interrupt, .events = POLLIN},
    };

    return poll(fd, ARRAY_LEN(fd), ms) > 0 && fd[0].revents;
}

/* Kill all processes of the tree, wherever they have gone; strace ends after the last one. */
static void kill_tree(const struct run *run, const struct spawned *s)
{
    for (int round = 0; round < KILL_ROUNDS && !gone_within(s, round ? 100 : 0, -1); round++) {
        struct dirent **entry;
        int n = scandir(run->scratch, &entry, is_process, by_number);

        for (int i = 0; i < n; i++)
            if (traced_by(process_of(entry[i]), s->pid))
                kill(process_of(entry[i]), SIGKILL);
        if (n >= 0)
            free_entries(entry, n);
    }
}

/* Run it, until it ends or is ended. -errno: it could not be run. */
static int run_tree(const struct run *run, struct arena *arena, struct proctree *tree,
                    struct err *err)
{
    const char *output =
        arena_printf(arena, "%s/%.*s", run->scratch, (int)sizeof(prefix) - 2, prefix);
    struct spawned s = {.pidfd = -1, .text_fd = -1};
    int status = 0;
    int r = spawn_strace(run, output, true, arena, &s, err);

    if (r == 0 && !gone_within(&s, run->limit_ms ? (int)run->limit_ms : -1, run->interrupt)) {
        tree->ended = true;
        kill_tree(run, &s);
    }
    if (s.pid > 0) {
        if (r < 0 || tree->ended)
            kill(-s.pid, SIGKILL);
        waitpid(s.pid, &status, 0);
    }
    if (s.pidfd >= 0)
        close(s.pidfd);
    tree->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return r;
}

int proctree_run(const struct run *run, struct arena *arena, struct proctree *ret_tree,
                 struct err *err)
{
    struct pollfd interrupt = {.fd = run->interrupt, .events = POLLIN};
    struct proctree tree = {0};
    int r = run_tree(run, arena, &tree, err);

    tree.interrupted = tree.ended && poll(&interrupt, 1, 0) > 0;
    if (r == 0)
        r = read_all(run, arena, &tree, err);
    if (r < 0)
        return r;
    proctree_finish(&tree);
    if (!tree.processes)
        return err_set(err, EIO, "strace could not run anything");
    *ret_tree = tree;
    return 0;
}
