/*
 * The page of a report: one file, styles inside, no script, for screens by day and night and paper.
 */
#include "audit/report.h"

#include "base/str.h"
#include "linter/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROGRAMS = 300, MAX_DETAILS = 150, MAX_FINDINGS = 400, MAX_CHANGES = 50 };

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c2024;--soft:#5d6670;--line:#d8dde2;--page:#fff;"
    "--card:#f5f7f9;--bad:#b3261e;--warn:#8a5a00;--good:#1a7f37;--bar:#3b6fb6}\n"
    "@media screen and "
    "(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#98a2ad;--line:#333a41;"
    "--page:#14171a;--card:#1d2226;--bad:#ff8a80;--warn:#e8b95a;--good:#6fd08c;--bar:#7aa7e8}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);"
    "max-width:76rem;margin:0 auto;padding:1.5rem}\n"
    "h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .5rem}\n"
    "p.sub,caption,td.soft,.soft{color:var(--soft)}caption{text-align:left;padding:.25rem 0}\n"
    "ul.sums{display:grid;grid-template-columns:repeat(auto-fill,minmax(8rem,1fr));gap:.75rem;"
    "list-style:none;padding:0}\n"
    "ul.sums li{background:var(--card);border:1px solid var(--line);border-radius:.4rem;"
    "padding:.6rem .9rem}ul.sums b{display:block;font-size:1.35rem}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92em}\n"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;"
    "border-bottom:1px solid var(--line)}\n"
    "th{font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;"
    "white-space:nowrap}\n"
    "code{font-size:.95em;overflow-wrap:anywhere}\n"
    ".error{color:var(--bad)}.warning{color:var(--warn)}.good{color:var(--good)}\n"
    ".bar{display:block;height:.3rem;background:var(--bar);border-radius:.15rem;min-width:1px}\n"
    "details{border-bottom:1px solid var(--line);padding:.35rem 0}summary{cursor:pointer}\n"
    ".over{border-left:.3rem solid var(--bad);background:var(--card);padding:.6rem .9rem}\n"
    "a{color:var(--bar)}table+table,.scroll+.scroll{margin-top:1rem}\n"
    "@media(max-width:40rem){body{padding:1rem .75rem}th.n{white-space:normal}"
    "td:first-child code{display:block;min-width:9rem}}\n"
    "@media print{body{max-width:none;padding:0;font-size:10pt}details{break-inside:avoid}"
    ".scroll{overflow:visible}a{color:inherit}}\n";

/* ---- small things */

static const char *html(const struct report *r, const char *text)
{
    return str_markup(r->arena, text ? text : "");
}

/* "203,241" */
static const char *number(const struct report *r, uint64_t n)
{
    const char *digits = arena_printf(r->arena, "%llu", (unsigned long long)n);
    struct str out = {.arena = r->arena};

    for (size_t left = strlen(digits); left; left--)
        str_printf(&out, "%c%s", *digits++, left > 1 && left % 3 == 1 ? "," : "");
    return out.text;
}

static void sum(const struct report *r, FILE *to, const char *label, uint64_t n, const char *class)
{
    fprintf(to, "<li><b class=\"%s\">%s</b>%s</li>\n", class, number(r, n), label);
}

static void table_start(const struct report *r, FILE *to, const char *caption, size_t n,
                        size_t n_of, const char *columns)
{
    fputs("<div class=\"scroll\"><table>\n<caption>", to);
    if (n < n_of)
        fprintf(to, "%s: top %s of %s", caption, number(r, n), number(r, n_of));
    else
        fprintf(to, "%s: %s", caption, number(r, n_of));
    fprintf(to, "</caption>\n<thead><tr>%s</tr></thead>\n<tbody>\n", columns);
}

static void table_end(FILE *to)
{
    fputs("</tbody></table></div>\n", to);
}

/* ---- head and totals */

static void print_head(const struct report *r, FILE *to)
{
    const struct audit *a = r->audit;

    fprintf(to,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<title>stormlint: %s</title>\n<style>\n%s</style>\n</head>\n<body>\n",
            html(r, a->name), style);
    fprintf(to, "<h1>%s</h1>\n<p class=\"sub\">stormlint %s, %s, on %s, from %s", html(r, a->name),
            html(r, a->version), html(r, a->time), html(r, a->cpu), html(r, a->source));
    if (a->policy)
        fprintf(to, ", planned by the policy '%s'", html(r, a->policy));
    for (size_t i = 0; i < a->n_roots; i++)
        fprintf(to, "%s<code>%s</code>", i ? ", " : "; closure of ", html(r, a->root[i]));
    if (a->maintainer)
        fprintf(to, "; only what '%s' maintains", html(r, a->maintainer));
    fputs("</p>\n", to);
    if (a->incomplete)
        fputs("<p class=\"over\">Something could not be read: what follows is not the whole "
              "truth.</p>\n",
              to);
    if (a->why_none)
        fprintf(to, "<p class=\"over\">%s.</p>\n", html(r, a->why_none));
    if (r->n_over) {
        fputs("<div class=\"over\"><b>Over the budget</b><ul>\n", to);
        for (size_t i = 0; i < r->n_over; i++)
            fprintf(to, "<li>%s</li>\n", html(r, r->over[i]));
        fputs("</ul></div>\n", to);
    }
}

static void print_sums(const struct report *r, FILE *to)
{
    const struct audit *a = r->audit;
    size_t offenders = 0, n_planned = 0;

    for (size_t i = 0; i < a->n_programs; i++) {
        offenders += audit_is_offender(a, &a->program[i]);
        n_planned += a->program[i].plan != NULL;
    }
    fputs("<ul class=\"sums\">\n", to);
    sum(r, to, "failed calls, all starts together", audit_failed(a), "");
    if (n_planned)
        sum(r, to, "of them left with the plans below", audit_failed_after(a), "good");
    sum(r, to, "programs", a->n_programs, "");
    sum(r, to, "over the probe budget", offenders, offenders ? "warning" : "");
    sum(r, to, "errors", audit_count(a, SEVERITY_ERROR),
        audit_count(a, SEVERITY_ERROR) ? "error" : "");
    sum(r, to, "warnings", audit_count(a, SEVERITY_WARNING), "");
    sum(r, to, "notes", audit_count(a, SEVERITY_NOTE), "");
    sum(r, to, "packages", a->n_packages, "");
    fputs("</ul>\n", to);
}

/* Where it comes from, and whom to ask; nothing when that is not known. */
static const char *origin_html(const struct report *r, const struct origin *origin)
{
    struct str out = {.arena = r->arena};

    if (!origin)
        return "";
    str_printf(&out, "<br><span class=\"soft\">%s", html(r, origin->attribute));
    for (size_t i = 0; i < origin->n_maintainers; i++)
        str_printf(&out, "%s%s", i ? ", " : "; maintained by ", html(r, origin->maintainer[i]));
    if (origin->position)
        str_printf(&out, "; %s", html(r, origin->position));
    str_add(&out, "</span>");
    return out.text;
}

static const char FINDING_COLUMNS[] = "<th>severity</th><th>rule</th><th>where and what</th>";

static void finding_row(const struct report *r, FILE *to, const struct audit_finding *f)
{
    const bool open = !f->standing || !strcmp(f->standing, "open");

    fprintf(to,
            "<tr><td class=\"%s\">%s%s%s</td><td>%s</td><td><code>%s</code><br>%s%s</td></tr>\n",
            severity_name(f->severity), severity_name(f->severity), open ? "" : ", ",
            open ? "" : html(r, f->standing), html(r, f->rule), html(r, f->identity),
            html(r, f->message), origin_html(r, f->origin));
}

/* ---- since the last audit */

static void print_new_findings(const struct report *r, FILE *to)
{
    const struct diff *d = r->diff;
    const size_t n = d->n_new < MAX_CHANGES ? d->n_new : MAX_CHANGES;

    if (n == 0)
        return;
    table_start(r, to, "New findings, errors first", n, d->n_new, FINDING_COLUMNS);
    for (size_t i = 0; i < n; i++)
        finding_row(r, to, d->new_finding[i]);
    table_end(to);
}

static void print_changed_programs(const struct report *r, FILE *to)
{
    const struct diff *d = r->diff;
    const size_t n = d->n_programs < MAX_CHANGES ? d->n_programs : MAX_CHANGES;

    if (n == 0)
        return;
    table_start(r, to, "Programs that changed", n, d->n_programs,
                "<th>program</th><th>what</th><th class=\"n\">before</th>"
                "<th class=\"n\">now</th>");
    for (size_t i = 0; i < n; i++) {
        const struct diff_program *p = &d->program[i];

        fprintf(to, "<tr><td><code>%s</code></td><td>%s</td>",
                html(r, (p->after ? p->after : p->before)->key), change_name(p->change));
        if (p->before)
            fprintf(to, "<td class=\"n\">%s</td>", number(r, storm_failed(&p->before->storm)));
        else
            fputs("<td class=\"n\">-</td>", to);
        if (p->after)
            fprintf(to, "<td class=\"n\">%s</td></tr>\n",
                    number(r, storm_failed(&p->after->storm)));
        else
            fputs("<td class=\"n\">-</td></tr>\n", to);
    }
    table_end(to);
}

static void print_changes(const struct report *r, FILE *to)
{
    const struct diff *d = r->diff;

    fprintf(to,
            "<h2>Since %s</h2>\n<p>Failed calls: %s before, %s now. Findings: %s new, %s "
            "fixed. Packages: %s added, %s removed, %s of another version.</p>\n",
            html(r, d->a->name), number(r, audit_failed(d->a)), number(r, audit_failed(d->b)),
            number(r, d->n_new), number(r, d->n_fixed), number(r, d->n_added),
            number(r, d->n_removed), number(r, d->n_updated));
    print_changed_programs(r, to);
    print_new_findings(r, to);
}

/* ---- programs */

static int by_storm(const void *a, const void *b)
{
    const struct audit_program *x = *(const struct audit_program *const *)a;
    const struct audit_program *y = *(const struct audit_program *const *)b;
    const uint64_t fx = storm_failed(&x->storm), fy = storm_failed(&y->storm);

    return fx != fy ? (fx < fy ? 1 : -1) : strcmp(x->key, y->key);
}

static const struct audit_program **ranked(const struct report *r)
{
    const struct audit *a = r->audit;
    const struct audit_program **list =
        arena_calloc(r->arena, a->n_programs + 1, sizeof(const struct audit_program *));

    for (size_t i = 0; i < a->n_programs; i++)
        list[i] = &a->program[i];
    if (a->n_programs > 1)
        qsort(list, a->n_programs, sizeof(const struct audit_program *), by_storm);
    return list;
}

static void program_row(const struct report *r, FILE *to, const struct audit_program *p,
                        uint64_t worst)
{
    const uint64_t failed = storm_failed(&p->storm);

    fprintf(
        to,
        "<tr><td><code>%s</code>%s%s%s%s<span class=\"bar\" style=\"width:%.1f%%\"></span></td>",
        html(r, p->key), strcmp(p->exit, "ok") != 0 ? " <span class=\"error\">" : "",
        strcmp(p->exit, "ok") != 0 ? html(r, p->exit) : "",
        strcmp(p->exit, "ok") != 0 ? "</span>" : "", origin_html(r, p->origin),
        worst ? 100.0 * (double)failed / (double)worst : 0.0);
    fprintf(to, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>",
            number(r, p->storm.failed_opens), number(r, p->storm.failed_stats),
            number(r, p->storm.objects));
    if (p->plan)
        fprintf(to, "<td>%s %s</td><td class=\"n\">%s</td></tr>\n", html(r, p->plan->strategy),
                strcmp(p->plan->strategy, "none") != 0 ? html(r, p->plan->scope) : "",
                number(r, storm_failed(&p->plan->after)));
    else
        fputs("<td class=\"soft\">not planned</td><td class=\"n\"></td></tr>\n", to);
}

static void program_details(const struct report *r, FILE *to, const struct audit_program *p)
{
    const struct audit_plan *plan = p->plan;

    fprintf(to,
            "<details><summary><code>%s</code>: %s %s, %s failed calls become "
            "%s</summary>\n<p>%s <span class=\"soft\">[%s]</span></p>\n",
            html(r, p->key), html(r, plan->strategy),
            strcmp(plan->strategy, "none") != 0 ? html(r, plan->scope) : "",
            number(r, storm_failed(&p->storm)), number(r, storm_failed(&plan->after)),
            html(r, plan->reason), html(r, plan->rule));
    if (plan->n_lost) {
        table_start(r, to, "Why not the others", plan->n_lost, plan->n_lost,
                    "<th>strategy</th><th>standing</th><th>by</th><th>reason</th>");
        for (size_t i = 0; i < plan->n_lost; i++)
            fprintf(to, "<tr><td>%s %s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                    html(r, plan->lost[i].strategy), html(r, plan->lost[i].scope),
                    html(r, plan->lost[i].standing), html(r, plan->lost[i].rule),
                    html(r, plan->lost[i].reason));
        table_end(to);
    }
    fprintf(to, "<p class=\"soft\">%s; <code>%s</code></p></details>\n", html(r, p->loader),
            html(r, p->path));
}

static void print_programs(const struct report *r, FILE *to)
{
    const struct audit *a = r->audit;
    const struct audit_program **list = ranked(r);
    const size_t n = a->n_programs < MAX_PROGRAMS ? a->n_programs : MAX_PROGRAMS;
    size_t n_planned = 0, n_shown = 0;

    fputs("<h2>What starts cost</h2>\n", to);
    table_start(r, to, "Programs by failed calls before main", n, a->n_programs,
                "<th>program</th><th class=\"n\">failed opens</th><th class=\"n\">failed stats</th>"
                "<th class=\"n\">objects</th><th>to do</th><th class=\"n\">left</th>");
    for (size_t i = 0; i < n; i++)
        program_row(r, to, list[i], storm_failed(&list[0]->storm));
    table_end(to);
    for (size_t i = 0; i < a->n_programs; i++)
        n_planned += list[i]->plan != NULL;
    if (n_planned == 0)
        return;
    n_shown = n_planned < MAX_DETAILS ? n_planned : MAX_DETAILS;
    fputs("<h2>What to do, and why not something else</h2>\n", to);
    if (n_shown < n_planned)
        fprintf(to, "<p class=\"sub\">top %s of %s; plan.json has all</p>\n", number(r, n_shown),
                number(r, n_planned));
    for (size_t i = 0; i < a->n_programs && n_shown; i++)
        if (list[i]->plan) {
            program_details(r, to, list[i]);
            n_shown--;
        }
}

/* ---- findings */

static void print_rules(const struct report *r, FILE *to)
{
    const struct audit *a = r->audit;
    size_t count[N_RULES] = {0}, n = 0;

    for (size_t i = 0; i < a->n_findings; i++) {
        const struct rule *rule = rule_find(a->finding[i].rule);

        if (rule)
            n += count[rule - rules()]++ == 0;
    }
    if (n == 0)
        return;
    table_start(r, to, "Findings by rule", n, n,
                "<th>rule</th><th class=\"n\">findings</th><th>what is wrong</th><th>to do</th>");
    for (size_t i = 0; i < N_RULES; i++)
        if (count[i])
            fprintf(to,
                    "<tr><td><a href=\"%s\">%s</a></td><td class=\"n\">%s</td><td>%s</td>"
                    "<td>%s</td></tr>\n",
                    html(r, rule_url(&rules()[i], r->arena)), rules()[i].id, number(r, count[i]),
                    html(r, rules()[i].summary), html(r, rules()[i].fix));
    table_end(to);
}

static void print_findings(const struct report *r, FILE *to)
{
    const struct audit *a = r->audit;
    const size_t n = a->n_findings < MAX_FINDINGS ? a->n_findings : MAX_FINDINGS;

    fputs("<h2>Findings</h2>\n", to);
    print_rules(r, to);
    if (n) {
        table_start(r, to, "All findings, errors first", n, a->n_findings, FINDING_COLUMNS);
        for (size_t i = 0; i < n; i++)
            finding_row(r, to, &a->finding[i]);
        table_end(to);
    }
    for (size_t i = 0; i < a->n_unasked; i++)
        fprintf(to, "%s<code>%s</code>%s",
                i ? ", " : "<p class=\"sub\">Not checked, since an index does not hold the files: ",
                html(r, a->unasked[i]), i + 1 == a->n_unasked ? "</p>\n" : "");
}

int report_html(const struct report *report, FILE *to, struct err *err)
{
    print_head(report, to);
    print_sums(report, to);
    if (report->diff)
        print_changes(report, to);
    print_programs(report, to);
    print_findings(report, to);
    fputs(
        "<p class=\"sub\">Beside this page: <a href=\"audit.ndjson\">audit.ndjson</a>, <a "
        "href=\"audit.sarif.json\">audit.sarif.json</a>, <a href=\"plan.json\">plan.json</a>.</p>\n"
        "</body>\n</html>\n",
        to);
    return ferror(to) ? err_set(err, EIO, "the page cannot be written") : 0;
}
