#include "base/log.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

/* One write a line, so that lines of several processes do not mix. `priority` is syslog's. */
static void PRINTF(3, 0) log_line(int priority, const char *word, const char *fmt, va_list ap)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char text[2048], prefix[8] = "";

    if (getenv("JOURNAL_STREAM"))
        (void)snprintf(prefix, sizeof(prefix), "<%d>", priority);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    (void)fprintf(stderr, "%sstormlint: %s%s\n", prefix, word, str_sentence(&arena, text));
}

#define DEFINE_LOG(name, priority, word)                                                           \
    void name(const char *fmt, ...)                                                                \
    {                                                                                              \
        va_list ap;                                                                                \
                                                                                                   \
        va_start(ap, fmt);                                                                         \
        log_line(priority, word, fmt, ap);                                                         \
        va_end(ap);                                                                                \
    }

DEFINE_LOG(log_error, 3, "error: ")
DEFINE_LOG(log_warn, 4, "warning: ")
DEFINE_LOG(log_info, 6, "")
