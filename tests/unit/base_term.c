/*
 * Terminals and progress lines: nothing but text where there is no terminal.
 */
#include "base/progress.h"

#include "tests/unit/unit.h"

#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A pseudo terminal: what is written to `to` can be read from `master`. */
struct pty {
    FILE *to;
    int master;
};

static struct pty pty_open(unsigned short columns)
{
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    struct pty pty;
    int slave;

    assert_int_equal(openpty(&pty.master, &slave, NULL, NULL, &size), 0);
    pty.to = fdopen(slave, "w");
    assert_non_null(pty.to);
    return pty;
}

static void pty_close(struct pty *pty)
{
    fclose(pty->to);
    close(pty->master);
}

static void no_terminal_no_styles(void **state UNUSED)
{
    FILE *file = fopen("/dev/null", "w");
    const struct term term = term_of(file);

    assert_false(term.is_terminal);
    assert_int_equal(term.width, 0);
    assert_string_equal(term_style(&term, STYLE_RED), "");
    fclose(file);
}

static void a_terminal_has_styles_unless_told(void **state UNUSED)
{
    static const struct row {
        const char *kind, *no_color;
        bool styled;
    } rows[] =
        {
            {"xterm", NULL, true}, {"xterm", "", true}, {"xterm", "1", false},
            {"dumb", NULL, false}, {NULL, NULL, false},
        },
      *row;
    struct pty pty = pty_open(132);

    for_each (row, rows) {
        struct term term;

        unsetenv("TERM");
        unsetenv("NO_COLOR");
        if (row->kind)
            setenv("TERM", row->kind, 1);
        if (row->no_color)
            setenv("NO_COLOR", row->no_color, 1);
        term = term_of(pty.to);
        assert_true(term.is_terminal);
        assert_int_equal(term.width, 132);
        assert_int_equal(term.styled, row->styled);
        assert_int_equal(*term_style(&term, STYLE_BOLD) != '\0', row->styled);
    }
    unsetenv("NO_COLOR");
    pty_close(&pty);
}

static void columns_are_characters(void **state UNUSED)
{
    assert_int_equal(term_columns(""), 0);
    assert_int_equal(term_columns("libx.so"), 7);
    assert_int_equal(term_columns("\xc3\xa4\xe2\x82\xac"), 2);
}

static void progress_tells_rate_and_share(void **state UNUSED)
{
    char text[80];

    progress_text(text, sizeof(text), "reading", 50, 200, 2000);
    assert_string_equal(text, "reading  50/200  25%  25/s");
    progress_text(text, sizeof(text), "reading", 50, 0, 0);
    assert_string_equal(text, "reading  50  0/s");
}

static void sleep_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static void progress_waits_a_second_and_wipes(void **state UNUSED)
{
    struct pty pty = pty_open(80);
    struct progress_line line = progress_line(pty.to);
    char text[256] = "";

    progress_update(NULL, "nobody listens", 1, 2);
    progress_update(&line.progress, "reading", 1, 10);
    assert_false(line.shown);
    sleep_ms(1050);
    progress_update(&line.progress, "reading", 5, 10);
    assert_true(line.shown);
    progress_line_end(&line);
    assert_false(line.shown);
    while (!strstr(text, "\r\033[K")) { /* what was written may come in parts */
        const ssize_t n = read(pty.master, text + strlen(text), sizeof(text) - strlen(text) - 1);

        assert_true(n > 0);
    }
    assert_non_null(strstr(text, "\rreading  5/10  50%"));
    pty_close(&pty);
}

static void progress_is_silent_in_a_pipe(void **state UNUSED)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = tmpfile();
    struct progress_line line = progress_line(to);

    progress_update(&line.progress, "reading", 1, 10);
    sleep_ms(1050);
    progress_update(&line.progress, "reading", 2, 10);
    progress_line_end(&line);
    rewind(to);
    assert_int_equal(getline(&text, &size, to), -1);
    free(text);
    fclose(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_terminal_no_styles),
        cmocka_unit_test(a_terminal_has_styles_unless_told),
        cmocka_unit_test(columns_are_characters),
        cmocka_unit_test(progress_tells_rate_and_share),
        cmocka_unit_test(progress_waits_a_second_and_wipes),
        cmocka_unit_test(progress_is_silent_in_a_pipe),
    };

    return UNIT_RUN(tests);
}
