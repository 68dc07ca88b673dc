#include "cli/lint_text.h"

#include "base/str.h"
#include "scanner/origin.h"

#include <stdlib.h>
#include <string.h>

static enum style severity_style(enum severity severity)
{
    static const enum style styles[] = {STYLE_DIM, STYLE_YELLOW, STYLE_RED};

    return styles[severity];
}

static void print_finding(FILE *to, const struct term *term, const struct finding *f)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct arena *arena = &scratch;

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

static int by_attribute(const void *a, const void *b)
{
    const struct origin *x = *(struct origin *const *)a, *y = *(struct origin *const *)b;

    return strcmp(x->attribute, y->attribute);
}

/* Whom to tell of what was found, each package once. */
static void print_origins(FILE *to, const struct lint_report *report)
{
    const struct findings *all = &report->result->findings;
    struct arena *arena = report->arena;
    const struct origin **origin = arena_calloc(arena, all->n + 1, sizeof(*origin));
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        if (all->item[i]->standing == FINDING_OPEN && all->item[i]->origin)
            origin[n++] = all->item[i]->origin;
    qsort(origin, n, sizeof(*origin), by_attribute);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || by_attribute(&origin[i], &origin[i - 1]) != 0)
            fprintf(to, "%s\n", origin_text(origin[i], arena));
}

static void print_summary(FILE *to, const struct lint_result *r)
{
    size_t hidden = 0;

    for (size_t i = 0; i < r->findings.n; i++)
        hidden += r->findings.item[i]->standing != FINDING_OPEN;
    for (size_t s = SEVERITY_ERROR + 1; s-- > 0;) {
        const size_t n = findings_count(&r->findings, (enum severity)s);

        fprintf(to, "%zu %s%s%s", n, severity_name((enum severity)s), str_count(n, "", "s"),
                s ? ", " : "");
    }
    if (hidden)
        fprintf(to, "; %zu more suppressed or in the baseline", hidden);
    fprintf(to, " (%zu object%s, %zu of them %s, in %zu package%s)\n", r->n_objects,
            str_count(r->n_objects, "", "s"), r->n_programs,
            str_count(r->n_programs, "a program", "programs"), r->n_packages,
            str_count(r->n_packages, "", "s"));
}

void lint_text(FILE *to, const struct term *term, const struct lint_report *report)
{
    const struct lint_result *r = report->result;

    for (size_t i = 0; i < r->findings.n; i++)
        if (r->findings.item[i]->standing == FINDING_OPEN)
            print_finding(to, term, r->findings.item[i]);
    print_origins(to, report);
    print_suppressions(to, report);
    print_unasked(to, r);
    print_summary(to, r);
}
