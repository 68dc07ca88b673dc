#include "base/log.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

static const struct level {
    const char *word;
    int priority; /* syslog's */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error: ", 3},
    [LOG_LEVEL_WARN] = {"warning: ", 4},
    [LOG_LEVEL_INFO] = {"", 6},
    [LOG_LEVEL_DEBUG] = {"debug: ", 7},
};

static enum log_level limit = LOG_LEVEL_INFO;

void log_limit(enum log_level level)
{
    limit = level;
}

/* One write a line, so that lines of several processes do not mix. */
static void PRINTF(2, 0) log_line(enum log_level level, const char *fmt, va_list ap)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char text[2048], prefix[8] = "";

    if (level > limit)
        return;
    if (getenv("JOURNAL_STREAM"))
        (void)snprintf(prefix, sizeof(prefix), "<%d>", levels[level].priority);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    (void)fprintf(stderr, "%sstormlint: %s%s\n", prefix, levels[level].word,
                  str_sentence(&arena, text));
}

#define DEFINE_LOG(name, level)                                                                    \
    void name(const char *fmt, ...)                                                                \
    {                                                                                              \
        va_list ap;                                                                                \
                                                                                                   \
        va_start(ap, fmt);                                                                         \
        log_line(level, fmt, ap);                                                                  \
        va_end(ap);                                                                                \
    }

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warn, LOG_LEVEL_WARN)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)
