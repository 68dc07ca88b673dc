#include "check/timing.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

enum { STATISTICS_ROUNDS = 9, MAX_OUTPUT = 1 << 20 };

/* What one run gave. */
struct sample {
    double wall_us;
    struct rusage usage;
    double loader, relocation, load; /* as printed */
    bool has_loader;
};

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* What the loader counts in, a microsecond. */
static double ticks_per_us(void)
{
#if defined(__x86_64__) || defined(__i386__)
    const double start = now_us();
    const uint64_t first = __rdtsc();

    while (now_us() - start < 20000)
        ;
    return (double)(__rdtsc() - first) / (now_us() - start);
#else
    return 1000; /* nanoseconds */
#endif
}

/* ---- one run */

/* What is executed. */
struct command {
    const char *const *argv, *const *env;
    pid_t pid; /* of the last run */
};

static _Noreturn void become(const struct timing *t, const char *program,
                             const struct command *command)
{
    const struct rlimit no_core = {0, 0};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &no_core);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        chdir(t->cwd) < 0)
        _exit(126);
    execve(program, (char *const *)(uintptr_t)command->argv,
           (char *const *)(uintptr_t)command->env);
    _exit(126);
}

static int run_once(const struct timing *t, struct timed *timed, struct command *command,
                    struct sample *ret, struct err *err)
{
    const double start = now_us();
    struct pollfd wait[2];
    pid_t pid = fork();
    bool ended;
    int fd;

    if (pid < 0)
        return err_set(err, errno, "a new process: %s", strerror(errno));
    if (pid == 0)
        become(t, timed->program, command);
    fd = pidfd_open(pid, 0);
    wait[0] = (struct pollfd){.fd = fd, .events = POLLIN};
    wait[1] = (struct pollfd){.fd = t->interrupt, .events = POLLIN};
    ended = fd < 0 || (poll(wait, 2, t->limit_ms ? (int)t->limit_ms : -1) > 0 && wait[0].revents);
    if (!ended)
        (void)kill(-pid, SIGKILL);
    if (fd >= 0)
        (void)close(fd);
    while (wait4(pid, &timed->status, 0, &ret->usage) < 0 && errno == EINTR)
        ;
    ret->wall_us = now_us() - start;
    (void)kill(-pid, SIGKILL); /* what it left running */
    command->pid = pid;
    if (!ended && wait[1].revents)
        return err_set(err, EINTR, "interrupted");
    if (!ended)
        return err_set(err, ETIMEDOUT, "'%s' ran longer than %u ms", timed->program, t->limit_ms);
    if (WIFEXITED(timed->status) && WEXITSTATUS(timed->status) == 126)
        return err_set(err, ENOEXEC, "'%s' cannot be run", timed->program);
    return 0;
}

/* ---- what the loader says */

static bool number_behind(const char *text, const char *label, double *ret)
{
    const char *at = text, *found = NULL;

    while ((at = strstr(at, label))) /* the last one: a wrapper's loader came before */
        found = at += strlen(label);
    if (!found)
        return false;
    *ret = strtod(found, NULL);
    return true;
}

bool timing_parse(const char *text, double *ret_total, double *ret_relocation, double *ret_load)
{
    return number_behind(text, "total startup time in dynamic loader:", ret_total) &&
           number_behind(text, "time needed for relocation:", ret_relocation) &&
           number_behind(text, "time needed to load objects:", ret_load);
}

static void read_statistics(const char *path, struct arena *arena, struct sample *ret)
{
    char *text = arena_alloc(arena, MAX_OUTPUT + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, MAX_OUTPUT);

    if (fd >= 0)
        (void)close(fd);
    if (n <= 0)
        return;
    text[n] = '\0';
    ret->has_loader = timing_parse(text, &ret->loader, &ret->relocation, &ret->load);
}

/* Every process that has a loader writes a file of its own; only ours is looked at. */
static void remove_statistics(const char *scratch, struct arena *arena)
{
    DIR *dir = opendir(scratch);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (str_starts(entry->d_name, "statistics."))
            (void)unlink(str_join(arena, scratch, entry->d_name));
    if (dir)
        (void)closedir(dir);
}

/* ---- medians */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *value, size_t n)
{
    if (n == 0)
        return 0;
    qsort(value, n, sizeof(*value), by_value);
    return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}

static double seconds_us(struct timeval t)
{
    return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}

static double wall_of(const struct sample *s)
{
    return s->wall_us;
}
static double user_of(const struct sample *s)
{
    return seconds_us(s->usage.ru_utime);
}
static double system_of(const struct sample *s)
{
    return seconds_us(s->usage.ru_stime);
}
static double minor_of(const struct sample *s)
{
    return (double)s->usage.ru_minflt;
}
static double major_of(const struct sample *s)
{
    return (double)s->usage.ru_majflt;
}
static double memory_of(const struct sample *s)
{
    return (double)s->usage.ru_maxrss;
}
static double loader_of(const struct sample *s)
{
    return s->loader;
}
static double relocation_of(const struct sample *s)
{
    return s->relocation;
}
static double load_of(const struct sample *s)
{
    return s->load;
}

static double median_of(const struct sample *sample, size_t n, double (*of)(const struct sample *),
                        struct arena *arena)
{
    double *value = arena_calloc(arena, n + 1, sizeof(*value));

    for (size_t i = 0; i < n; i++)
        value[i] = of(&sample[i]);
    return median(value, n);
}

static void sum_up(struct timed *t, const struct sample *sample, size_t n, struct arena *arena)
{
    struct stat st;

    t->wall_us = median_of(sample, n, wall_of, arena);
    t->user_us = median_of(sample, n, user_of, arena);
    t->system_us = median_of(sample, n, system_of, arena);
    t->minor_faults = median_of(sample, n, minor_of, arena);
    t->major_faults = median_of(sample, n, major_of, arena);
    t->memory_kib = median_of(sample, n, memory_of, arena);
    t->file_bytes = stat(t->program, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void sum_up_loader(struct timed *t, const struct sample *sample, size_t n, double per_us,
                          struct arena *arena)
{
    double factor = 10 / per_us;

    t->has_loader = n > 0;
    for (size_t i = 0; i < n; i++)
        t->has_loader &= sample[i].has_loader;
    if (!t->has_loader)
        return;
    if (median_of(sample, n, loader_of, arena) * factor > median_of(sample, n, wall_of, arena))
        factor = 1 / per_us;
    t->loader_us = median_of(sample, n, loader_of, arena) * factor;
    t->relocation_us = median_of(sample, n, relocation_of, arena) * factor;
    t->load_us = median_of(sample, n, load_of, arena) * factor;
}

/* ---- all runs */

static const char *const *words(const char *const *more, const char *first, const char *last,
                                struct arena *arena)
{
    const char **word;
    size_t n = 0, at = 0;

    while (more && more[n])
        n++;
    word = arena_calloc(arena, n + 3, sizeof(*word));
    if (first)
        word[at++] = first;
    for (size_t i = 0; i < n; i++)
        word[at++] = more[i];
    if (last)
        word[at] = last;
    return word;
}

/* Rounds over all programs in turns, every other one backwards. */
static int run_rounds(const struct timing *t, unsigned rounds, bool statistics,
                      struct sample *sample, struct arena *arena, struct err *err)
{
    static const char *const version[] = {"--version", NULL};
    const char *prefix = str_join(arena, t->scratch, "statistics");
    const char *const *env = t->env;
    int r = 0;

    if (statistics)
        env = words(words(t->env, "LD_DEBUG=statistics", NULL, arena),
                    arena_printf(arena, "LD_DEBUG_OUTPUT=%s", prefix), NULL, arena);
    for (unsigned i = 0; i < rounds && r == 0; i++) {
        for (size_t k = 0; k < t->n_timed && r == 0; k++) {
            const size_t which = i % 2 ? t->n_timed - 1 - k : k;
            struct timed *timed = &t->timed[which];
            struct sample *s = &sample[which * rounds + i];
            struct command command = {
                .argv = words(t->args ? t->args : version, timed->program, NULL, arena),
                .env = env,
            };

            r = run_once(t, timed, &command, s, err);
            if (r == 0 && statistics)
                read_statistics(arena_printf(arena, "%s.%d", prefix, (int)command.pid), arena, s);
        }
    }
    if (statistics)
        remove_statistics(t->scratch, arena);
    return r;
}

int timing_run(const struct timing *t, struct arena *arena, struct err *err)
{
    const unsigned extra = t->rounds < STATISTICS_ROUNDS ? t->rounds : STATISTICS_ROUNDS;
    struct sample *sample = arena_calloc(arena, t->n_timed * (t->rounds + 1), sizeof(*sample));
    const double per_us = ticks_per_us();
    /* one round that is not counted: files come into memory */
    int r = run_rounds(t, 1, false, sample, arena, err);

    if (r == 0)
        r = run_rounds(t, t->rounds, false, sample, arena, err);
    for (size_t i = 0; i < t->n_timed && r == 0; i++)
        sum_up(&t->timed[i], &sample[i * t->rounds], t->rounds, arena);
    if (r == 0)
        r = run_rounds(t, extra, true, sample, arena, err);
    for (size_t i = 0; i < t->n_timed && r == 0; i++)
        sum_up_loader(&t->timed[i], &sample[i * extra], extra, per_us, arena);
    return r;
}
