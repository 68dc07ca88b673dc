#include "cli/lint_text.h"

#include "base/str.h"

static enum style severity_style(enum severity severity)
{
    static const enum style styles[] = {STYLE_DIM, STYLE_YELLOW, STYLE_RED};

    return styles[severity];
}

static void print_finding(FILE *to, const struct term *term, const struct finding *f,
                          struct arena *arena)
{
    fprintf(to, "%s: %s%s[%s]%s: %s", str_escape(arena, f->path ? f->path : f->key),
            term_style(term, severity_style(f->severity)), severity_name(f->severity),
            f->rule->code, term_style(term, STYLE_PLAIN), str_escape(arena, f->message));
    if (f->programs > 1)
        fprintf(to, " (%u programs)", f->programs);
    fputc('\n', to);
}

static void print_suppressions(FILE *to, const struct lint_report *report)
{
    const char **told;
    const size_t n = suppressions_told(report->suppressions, report->arena, &told);

    for (size_t i = 0; i < n; i++)
        fprintf(to, "%s: note: %s\n", str_escape(report->arena, report->suppressions->file),
                str_escape(report->arena, told[i]));
}

static void print_unasked(FILE *to, const struct lint_result *r)
{
    if (r->n_unasked == 0)
        return;
    fputs("not checked, since an index does not hold the files:", to);
    for (size_t i = 0; i < r->n_unasked; i++)
        fprintf(to, " %s", r->unasked[i]->id);
    fputc('\n', to);
}

static void print_summary(FILE *to, const struct lint_result *r)
{
    size_t hidden = 0;

    for (size_t i = 0; i < r->findings.n; i++)
        hidden += r->findings.item[i]->standing != FINDING_OPEN;
    fprintf(to, "%zu errors, %zu warnings, %zu notes", findings_count(&r->findings, SEVERITY_ERROR),
            findings_count(&r->findings, SEVERITY_WARNING),
            findings_count(&r->findings, SEVERITY_NOTE));
    if (hidden)
        fprintf(to, "; %zu more suppressed or in the baseline", hidden);
    fprintf(to, " (%zu objects, %zu of them programs, in %zu packages)\n", r->n_objects,
            r->n_programs, r->n_packages);
}

void lint_text(FILE *to, const struct term *term, const struct lint_report *report)
{
    const struct lint_result *r = report->result;

    for (size_t i = 0; i < r->findings.n; i++)
        if (r->findings.item[i]->standing == FINDING_OPEN)
            print_finding(to, term, r->findings.item[i], report->arena);
    print_suppressions(to, report);
    print_unasked(to, r);
    print_summary(to, r);
}
