/*
 * JUnit XML, and the annotations that GitHub's workflows show.
 */
#include "linter/format.h"

#include "base/str.h"
#include "scanner/origin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int written(FILE *to, struct err *err)
{
    return ferror(to) ? err_set(err, EIO, "cannot write") : 0;
}

/* ---- JUnit: a suite a package, a case a finding, so that a fixed one is gone */

static int by_package(const void *a, const void *b)
{
    const struct finding *x = *(struct finding *const *)a, *y = *(struct finding *const *)b;
    int r = strcmp(x->package ? x->package : "", y->package ? y->package : "");

    if (r == 0)
        r = strcmp(x->key, y->key);
    if (r == 0)
        r = strcmp(x->rule->code, y->rule->code);
    return r ? r : strcmp(x->subject ? x->subject : "", y->subject ? y->subject : "");
}

static bool fails(const struct lint_report *report, const struct finding *f)
{
    return f->standing == FINDING_OPEN && f->severity >= report->fail_on;
}

static void print_case(const struct lint_report *report, const struct finding *f, FILE *to)
{
    struct arena *a = report->arena;

    fprintf(to, "    <testcase classname=\"%s\" name=\"%s\">\n", f->rule->id,
            str_markup(a, finding_identity(f, a)));
    if (f->standing != FINDING_OPEN)
        fprintf(to, "      <skipped message=\"%s\"/>\n",
                str_markup(a, f->reason ? f->reason : "the baseline has it"));
    else if (fails(report, f))
        fprintf(to, "      <failure type=\"%s\" message=\"%s\">%s\nTo do: %s.%s%s</failure>\n",
                f->rule->code, str_markup(a, f->message), str_markup(a, f->path ? f->path : f->key),
                str_markup(a, f->rule->fix), f->origin ? "\n" : "",
                f->origin ? str_markup(a, origin_public(f->origin, a)) : "");
    else
        fprintf(to, "      <system-out>%s: %s</system-out>\n", severity_name(f->severity),
                str_markup(a, f->message));
    fputs("    </testcase>\n", to);
}

/* Whom to tell, for the whole package. */
static void print_origin(const struct lint_report *report, const struct origin *origin, FILE *to)
{
    struct arena *a = report->arena;

    if (!origin)
        return;
    fprintf(to, "    <properties>\n      <property name=\"attribute\" value=\"%s\"/>\n",
            str_markup(a, origin->attribute));
    for (size_t i = 0; i < origin->n_maintainers; i++)
        fprintf(to, "      <property name=\"maintainer\" value=\"%s\"/>\n",
                str_markup(a, origin->maintainer[i]));
    if (origin->position)
        fprintf(to, "      <property name=\"position\" value=\"%s\"/>\n",
                str_markup(a, origin->position));
    fputs("    </properties>\n", to);
}

static void print_suite(const struct lint_report *all, struct finding *const *item, size_t n,
                        FILE *to)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct lint_report own = *all; /* what is escaped for one suite is not needed for the next */
    const struct lint_report *report = &own;
    const char *package = item[0]->package ? str_base(item[0]->package) : "files in no package";
    size_t n_failed = 0, n_skipped = 0;

    own.arena = &scratch;
    for (size_t i = 0; i < n; i++) {
        n_failed += fails(report, item[i]);
        n_skipped += item[i]->standing != FINDING_OPEN;
    }
    fprintf(to, "  <testsuite name=\"%s\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n",
            str_markup(report->arena, package), n, n_failed, n_skipped);
    print_origin(report, item[0]->origin, to);
    for (size_t i = 0; i < n; i++)
        print_case(report, item[i], to);
    fputs("  </testsuite>\n", to);
}

/* Suppressions that do nothing are cases of their own. */
static void print_told(const struct lint_report *report, FILE *to)
{
    const bool fails = report->fail_on == SEVERITY_NOTE;
    const char **told;
    const size_t n = suppressions_told(report->suppressions, report->arena, &told);

    if (n == 0)
        return;
    fprintf(to,
            "  <testsuite name=\"suppressions\" tests=\"%zu\" failures=\"%zu\" skipped=\"0\">\n", n,
            fails ? n : 0);
    for (size_t i = 0; i < n; i++) {
        const char *text = str_markup(report->arena, told[i]);

        fprintf(to, "    <testcase classname=\"suppression\" name=\"%s\">\n", text);
        if (fails)
            fprintf(to, "      <failure type=\"suppression\" message=\"%s\"/>\n", text);
        else
            fprintf(to, "      <system-out>note: %s</system-out>\n", text);
        fputs("    </testcase>\n", to);
    }
    fputs("  </testsuite>\n", to);
}

int format_junit(const struct lint_report *report, FILE *to, struct err *err)
{
    const struct findings *all = &report->result->findings;
    struct finding **item = arena_memdup(report->arena, all->n ? all->item : (void *)&item,
                                         all->n ? all->n * sizeof(struct finding *) : 1);

    if (all->n > 1)
        qsort(item, all->n, sizeof(struct finding *), by_package);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"stormlint\">\n", to);
    for (size_t i = 0, end; i < all->n; i = end) {
        for (end = i + 1; end < all->n && str_same(item[end]->package, item[i]->package); end++)
            ;
        print_suite(report, item + i, end - i, to);
    }
    print_told(report, to);
    fputs("</testsuites>\n", to);
    return written(to, err);
}

/* ---- GitHub: ten errors and ten warnings of a step are shown, the rest is counted */

enum { SHOWN = 10 };

static const char *percent(struct arena *arena, const char *text, bool property)
{
    struct str out = {.arena = arena};

    str_add(&out, "");
    for (text = str_escape(arena, text); *text; text++)
        if (*text == '%' || *text == '\r' || *text == '\n' ||
            (property && (*text == ':' || *text == ',')))
            str_printf(&out, "%%%02X", (unsigned char)*text);
        else
            str_add_n(&out, text, 1);
    return out.text;
}

int format_github(const struct lint_report *report, FILE *to, struct err *err)
{
    static const char *const words[] = {"notice", "warning", "error"};
    const struct findings *all = &report->result->findings;
    struct arena *a = report->arena;
    const char **told;
    const size_t n_told = suppressions_told(report->suppressions, a, &told);
    size_t n[3] = {0};

    for (size_t i = 0; i < all->n; i++) {
        const struct finding *f = all->item[i];

        if (f->standing != FINDING_OPEN || n[f->severity]++ >= SHOWN)
            continue;
        fprintf(to, "::%s title=%s::%s: %s\n", words[f->severity],
                percent(a, arena_printf(a, "%s %s", f->rule->code, f->rule->id), true),
                percent(a, f->key, false), percent(a, finding_told(f, a), false));
    }
    for (size_t i = 0; i < n_told; i++)
        if (n[SEVERITY_NOTE]++ < SHOWN)
            fprintf(to, "::notice title=stormlint::%s\n", percent(a, told[i], false));
    for (size_t s = 3; s-- > 0;)
        if (n[s] > SHOWN)
            fprintf(to, "::%s title=stormlint::%zu more of this kind\n", words[s], n[s] - SHOWN);
    return written(to, err);
}
