/*
 * Feed files to a fuzz target, without a fuzzer: replay FILE...
 *
 * A fuzzer watches the time by an alarm that interrupts system calls; so it is here, but often.
 */
#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

enum { ALARM_US = 1000 };

static void on_alarm(int signal)
{
    (void)signal;
}

static void set_alarm(void)
{
    const struct sigaction action = {.sa_handler = on_alarm}; /* nothing is restarted */
    const struct itimerval often = {{0, ALARM_US}, {0, ALARM_US}};

    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char **argv)
{
    set_alarm();
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "re");
        long size;
        uint8_t *data;

        if (!file || fseek(file, 0, SEEK_END) < 0 || (size = ftell(file)) < 0) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        rewind(file);
        data = malloc((size_t)size + !size); /* exactly: asan guards the end */
        if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
            return 1;
        (void)fclose(file);
        (void)LLVMFuzzerTestOneInput(data, (size_t)size);
        free(data);
    }
    return 0;
}
