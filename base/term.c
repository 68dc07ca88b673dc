#include "base/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 80, WIDTH_MIN = 20 };

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value && *value;
}

static unsigned width_of(int fd)
{
    struct winsize size = {0};
    const char *columns = getenv("COLUMNS");
    unsigned long width = 0;

    if (ioctl(fd, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (width == 0 && columns)
        width = strtoul(columns, NULL, 10);
    if (width == 0 || width > UINT16_MAX)
        return WIDTH_DEFAULT;
    return width < WIDTH_MIN ? WIDTH_MIN : (unsigned)width;
}

struct term term_of(FILE *to)
{
    const int fd = fileno(to);
    const char *kind = getenv("TERM");
    struct term term = {0};

    if (fd < 0 || !isatty(fd))
        return term;
    term.is_terminal = true;
    term.width = width_of(fd);
    term.styled = kind && *kind && strcmp(kind, "dumb") != 0 && !is_set("NO_COLOR");
    return term;
}

const char *term_style(const struct term *term, enum style style)
{
    static const char *const bytes[] = {
        [STYLE_PLAIN] = "\033[0m", [STYLE_BOLD] = "\033[1m",   [STYLE_DIM] = "\033[2m",
        [STYLE_RED] = "\033[31m",  [STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m",
    };

    return term->styled ? bytes[style] : "";
}

size_t term_columns(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}
