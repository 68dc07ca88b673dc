/*
 * Measure commands against each other: run them in turn, several times, and tell the medians.
 *
 *	measure REPEAT NAME COMMAND -- NAME COMMAND -- ...
 *
 * A command is its words, without a shell. One named "-" prepares the next and is not measured.
 * Prints one line a name: wall and CPU seconds, peak memory in KiB; of the CPU seconds those in the
 * program and those in the kernel. Its output goes nowhere.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMANDS_MAX = 16, REPEAT_MAX = 100 };

struct command {
    char **argv; /* the name first */
    double wall[REPEAT_MAX], cpu[REPEAT_MAX], peak[REPEAT_MAX], user[REPEAT_MAX],
        kernel[REPEAT_MAX];
};

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static void run(struct command *c, int repetition)
{
    const double start = now();
    struct rusage usage;
    int status;
    const pid_t pid = fork();

    if (pid == 0) {
        const int null = open("/dev/null", O_WRONLY);

        if (null >= 0)
            (void)dup2(null, STDOUT_FILENO);
        execvp(c->argv[1], c->argv + 1);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) < 0) {
        perror("measure");
        exit(4);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "measure: '%s' failed\n", c->argv[1]);
        exit(4);
    }
    c->wall[repetition] = now() - start;
    c->user[repetition] = seconds(usage.ru_utime);
    c->kernel[repetition] = seconds(usage.ru_stime);
    c->cpu[repetition] = c->user[repetition] + c->kernel[repetition];
    c->peak[repetition] = (double)usage.ru_maxrss;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(double *value, int n)
{
    qsort(value, (size_t)n, sizeof(*value), compare);
    return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}

int main(int argc, char **argv)
{
    static struct command command[COMMANDS_MAX];
    int n = 0, repeat = argc > 1 ? atoi(argv[1]) : 0;

    for (int i = 2, first = 2; i <= argc && n < COMMANDS_MAX; i++) {
        if (i < argc && strcmp(argv[i], "--") != 0)
            continue;
        argv[i] = NULL;
        if (i - first >= 2)
            command[n++].argv = argv + first;
        first = i + 1;
    }
    if (repeat < 1 || repeat > REPEAT_MAX || n == 0) {
        fprintf(stderr, "usage: measure REPEAT NAME COMMAND -- NAME COMMAND ...\n");
        return 2;
    }
    for (int r = 0; r < repeat; r++)
        for (int i = 0; i < n; i++)
            run(&command[i], r);
    for (int i = 0; i < n; i++)
        if (strcmp(command[i].argv[0], "-") != 0)
            printf("%s %.4f %.4f %.0f %.4f %.4f\n", command[i].argv[0],
                   median(command[i].wall, repeat), median(command[i].cpu, repeat),
                   median(command[i].peak, repeat), median(command[i].user, repeat),
                   median(command[i].kernel, repeat));
    return 0;
}
