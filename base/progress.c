#include "base/progress.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SILENT_MS = 1000, REDRAW_MS = 100, LINE_MS = 250, LINE_MAX_BYTES = 160 };

static uint64_t now_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void progress_text(char *text, size_t size, const char *label, uint64_t done, uint64_t total,
                   uint64_t elapsed_ms)
{
    const uint64_t rate = elapsed_ms ? done * 1000 / elapsed_ms : 0;

    if (total)
        (void)snprintf(text, size, "%s  %" PRIu64 "/%" PRIu64 "  %" PRIu64 "%%  %" PRIu64 "/s",
                       label, done, total, (done < total ? done : total) * 100 / total, rate);
    else
        (void)snprintf(text, size, "%s  %" PRIu64 "  %" PRIu64 "/s", label, done, rate);
}

static void line_draw(struct progress_line *line, uint64_t done, uint64_t total,
                      uint64_t elapsed_ms)
{
    char text[LINE_MAX_BYTES];

    progress_text(text, sizeof(text), line->label, done, total, elapsed_ms);
    (void)fprintf(line->to, "\r%.*s\033[K", (int)line->term.width - 1, text);
    (void)fflush(line->to);
    line->shown = true;
}

static void line_update(struct progress *progress, const char *label, uint64_t done, uint64_t total)
{
    struct progress_line *line = (struct progress_line *)progress;
    const uint64_t now = now_ms();

    if (!line->label || strcmp(line->label, label) != 0) {
        line->label = label;
        line->start_ms = now;
        if (!line->shown)
            line->next_ms = now + SILENT_MS;
    }
    if (now < line->next_ms)
        return;
    line->next_ms = now + REDRAW_MS;
    line_draw(line, done, total, now - line->start_ms);
}

static void line_ignore(struct progress *progress UNUSED, const char *label UNUSED,
                        uint64_t done UNUSED, uint64_t total UNUSED)
{
}

struct progress_line progress_line(FILE *to)
{
    const struct term term = term_of(to);

    return (struct progress_line){
        .progress.update = term.is_terminal ? line_update : line_ignore, .to = to, .term = term};
}

void progress_line_end(struct progress_line *line)
{
    if (line->shown) {
        (void)fputs("\r\033[K", line->to);
        (void)fflush(line->to);
    }
    line->shown = false;
    line->label = NULL;
}

/* Labels are our own words: nothing in them needs escaping. */
static void lines_update(struct progress *progress, const char *label, uint64_t done,
                         uint64_t total)
{
    struct progress_lines *lines = (struct progress_lines *)progress;
    const uint64_t now = now_ms();
    char text[LINE_MAX_BYTES];
    int n;

    if (lines->label && !strcmp(lines->label, label) && now < lines->next_ms && done != total)
        return;
    lines->label = label;
    lines->next_ms = now + LINE_MS;
    n = snprintf(text, sizeof(text),
                 "{\"label\":\"%s\",\"done\":%" PRIu64 ",\"total\":%" PRIu64 "}\n", label, done,
                 total);
    if (n > 0 && (size_t)n < sizeof(text) && write(lines->fd, text, (size_t)n) < 0)
        lines->fd = -1;
}

struct progress_lines progress_lines(int fd)
{
    return (struct progress_lines){.progress.update = lines_update, .fd = fd};
}
