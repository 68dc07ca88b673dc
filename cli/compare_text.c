#include "cli/compare_text.h"
#include "base/str.h"

#include <inttypes.h>
#include <string.h>

void compare_text(const struct compare_view *view, const struct comparison *c, const char *title)
{
    size_t i;

    fprintf(view->to, "%s\n    %-16s %19s %15s %9s %7s%s\n", str_escape(view->arena, title), "",
            "failed opens+stats", "later dlopens", "bytes", "inodes",
            view->probe_us >= 0 ? "     time" : "");
    for (i = 0; i < c->n_rows; i++) {
        const struct comparison_row *row = &c->row[i];

        fprintf(view->to, "  %s %-16s ", compare_is_chosen(c, i) ? ">" : " ", row->name);
        if (row->known)
            fprintf(view->to,
                    "%10" PRIu32 " + %-6" PRIu32 " %8" PRIu32 "+%-6" PRIu32 " %9" PRIu64
                    " %7" PRIu64,
                    row->after.failed_opens, row->after.failed_stats, row->dlopen.failed_opens,
                    row->dlopen.failed_stats, row->bytes, row->inodes);
        else
            fprintf(view->to, "%19s", "-");
        if (row->known && view->probe_us >= 0)
            fprintf(view->to, " %6.1f ms",
                    (double)storm_failed(&row->after) * view->probe_us / 1000);
        fputc('\n', view->to);
    }
    for (i = 0; i < c->n_rows; i++)
        if (*c->row[i].says)
            fprintf(view->to, "    %s: %s\n", c->row[i].name, c->row[i].says);
}

void compare_table(const struct compare_view *view, const struct comparison *c, const char *title)
{
    size_t i, k;

    fprintf(view->to, "%s\n  %-16s", str_escape(view->arena, title), "");
    for (k = 0; k < N_COLUMNS; k++)
        fprintf(view->to, "  %s", compare_columns[k]);
    fputc('\n', view->to);
    for (i = 0; i < c->n_rows; i++) {
        fprintf(view->to, "%s %-16s", compare_is_chosen(c, i) ? ">" : " ", c->row[i].name);
        for (k = 0; k < N_COLUMNS; k++)
            fprintf(view->to, "  %-*s", (int)strlen(compare_columns[k]), c->row[i].answer[k]);
        fputc('\n', view->to);
    }
    for (i = 0; i < c->n_rows; i++)
        if (!c->row[i].known)
            fprintf(view->to, "  %s: %s\n", c->row[i].name, c->row[i].says);
}
