#include "cli/compare_text.h"
#include "base/str.h"

#include <inttypes.h>
#include <string.h>

static bool is_chosen(const struct comparison *c, size_t i)
{
    return i < N_METHODS && c->decision.option[i].standing == STANDING_CHOSEN;
}

void compare_text(const struct compare_view *view, const struct comparison *c, const char *title)
{
    size_t i;

    fprintf(view->to, "%s\n    %-16s %19s %15s %9s %7s%s\n", str_escape(view->arena, title), "",
            "failed opens+stats", "later dlopens", "bytes", "inodes",
            view->probe_us >= 0 ? "     time" : "");
    for (i = 0; i < c->n_rows; i++) {
        const struct comparison_row *row = &c->row[i];

        fprintf(view->to, "  %s %-16s ", is_chosen(c, i) ? ">" : " ", row->name);
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
        fprintf(view->to, "%s %-16s", is_chosen(c, i) ? ">" : " ", c->row[i].name);
        for (k = 0; k < N_COLUMNS; k++)
            fprintf(view->to, "  %-*s", (int)strlen(compare_columns[k]), c->row[i].answer[k]);
        fputc('\n', view->to);
    }
    for (i = 0; i < c->n_rows; i++)
        if (!c->row[i].known)
            fprintf(view->to, "  %s: %s\n", c->row[i].name, c->row[i].says);
}

json_t *compare_json(const struct comparison *c, const char *program)
{
    json_t *out = json_object(), *rows = json_array();
    size_t i, k;

    json_put_text(out, "program", program);
    for (i = 0; i < c->n_rows; i++) {
        const struct comparison_row *r = &c->row[i];
        json_t *row = json_object(), *answers = json_object();

        json_put_text(row, "method", r->name);
        json_put(row, "chosen", json_boolean(is_chosen(c, i)));
        json_put(row, "storm", r->known ? storm_json(&r->after) : json_null());
        json_put(row, "dlopen", r->known ? storm_json(&r->dlopen) : json_null());
        json_put_int(row, "bytes", (json_int_t)r->bytes);
        json_put_int(row, "inodes", (json_int_t)r->inodes);
        for (k = 0; k < N_COLUMNS; k++)
            json_put_text(answers, compare_columns[k], r->answer[k]);
        json_put(row, "answers", answers);
        json_put_text(row, "says", r->says);
        json_push(rows, row);
    }
    json_put(out, "methods", rows);
    return out;
}
