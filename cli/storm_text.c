#include "cli/storm_text.h"

#include "base/str.h"
#include "cli/trace_text.h"
#include "scanner/origin.h"

#include <string.h>

static void storm_numbers(FILE *to, const struct storm *s)
{
    fprintf(to, "%7u %7u %7u %7u %7u %7u  ", s->failed_opens, s->failed_stats, s->opens, s->stats,
            s->objects, s->directories);
}

enum { NUMBERS_WIDTH = 6 * 8 + 1 };

/* What was started in fact, and what the way there set. */
static void row_way(FILE *to, const struct term *term, const struct storm_row *row)
{
    CLEANUP(arena_release) struct arena arena = {0};

    if (row->started || row->n_set) {
        fprintf(to, "%*s", NUMBERS_WIDTH + 1, "");
        if (row->started)
            fprintf(to, "-> %s", str_escape(&arena, row->started));
        for (size_t i = 0; i < row->n_set; i++)
            fprintf(to, " %s", str_escape(&arena, row->set[i]));
        fputc('\n', to);
    }
    if (row->not_followed)
        fprintf(to, "%*s%sits interpreter's start alone: %s%s\n", NUMBERS_WIDTH + 1, "",
                term_style(term, STYLE_YELLOW), str_escape(&arena, row->not_followed),
                term_style(term, STYLE_PLAIN));
}

static void row_print(FILE *to, const struct term *term, const struct storm_row *row)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *path = str_escape(&arena, row->program);

    if (term->width && NUMBERS_WIDTH + term_columns(path) > term->width)
        path = path_short(&arena, path);
    storm_numbers(to, &row->storm);
    fputs(path, to);
    if (row->exit != EXIT_OK)
        fprintf(to, "  %s(%s)%s", term_style(term, STYLE_YELLOW),
                str_escape(&arena, row->exit_text ? row->exit_text : "?"),
                term_style(term, STYLE_PLAIN));
    fputc('\n', to);
    row_way(to, term, row);
    if (row->origin)
        fprintf(to, "%*s%s\n", NUMBERS_WIDTH + 1, "", origin_text(row->origin, &arena));
    if (row->profile_assumed)
        fprintf(to, "%*s%s%s%s\n", NUMBERS_WIDTH + 1, "", term_style(term, STYLE_YELLOW),
                str_escape(&arena, row->profile_assumed), term_style(term, STYLE_PLAIN));
    if (row->dlopen.opens || row->dlopen.stats) {
        storm_numbers(to, &row->dlopen);
        fputs("  its dlopens after the start\n", to);
    }
}

void storm_text_time(FILE *to, const struct storm_row *row, size_t n, double probe_us)
{
    struct storm sum = {0};

    for (size_t i = 0; i < n; i++)
        storm_add(&sum, &row[i].storm);
    if (n == 0)
        return;
    fprintf(to, "at %.2f us a failed call: %.2f ms of the first one's start, %.2f ms of all\n",
            probe_us, (double)storm_failed(&row[0].storm) * probe_us / 1000,
            (double)storm_failed(&sum) * probe_us / 1000);
}

void storm_text_table(FILE *to, const struct storm_row *row, size_t n, size_t top)
{
    const struct term term = term_of(to);
    struct storm sum = {0}, dlopens = {0};
    const size_t shown = n < top ? n : top;

    fprintf(to, "%s%7s %7s%s\n", term_style(&term, STYLE_BOLD), "failed", "failed",
            term_style(&term, STYLE_PLAIN));
    fprintf(to, "%s%7s %7s %7s %7s %7s %7s  %s%s\n", term_style(&term, STYLE_BOLD), "opens",
            "stats", "opens", "stats", "objects", "dirs", "program",
            term_style(&term, STYLE_PLAIN));
    for (size_t i = 0; i < shown; i++)
        row_print(to, &term, &row[i]);
    for (size_t i = 0; i < n; i++) {
        storm_add(&sum, &row[i].storm);
        storm_add(&dlopens, &row[i].dlopen);
    }
    if (n < 2)
        return;
    fputs(term_style(&term, STYLE_BOLD), to);
    storm_numbers(to, &sum);
    fprintf(to, "total of %zu programs%s\n", n, term_style(&term, STYLE_PLAIN));
    if (dlopens.opens || dlopens.stats) {
        storm_numbers(to, &dlopens);
        fputs("their dlopens after the start\n", to);
    }
    if (shown < n)
        fprintf(to, "(%zu more programs are not listed; --top 0 lists all)\n", n - shown);
}
