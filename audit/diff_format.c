/*
 * Differences as text, JSON and Markdown.
 */
#include "audit/diff.h"

#include "base/str.h"

#include <string.h>

enum { MARKDOWN_ROWS = 10, TEXT_PROGRAMS = 50, TEXT_FINDINGS = 20 };

static const struct audit_program *either(const struct diff_program *p)
{
    return p->after ? p->after : p->before;
}

static const char *calls(const struct audit_program *p, struct arena *arena)
{
    return p ? arena_printf(arena, "%llu", (unsigned long long)storm_failed(&p->storm)) : "-";
}

/* ---- JSON */

static json_t *program_json(const struct diff_program *p)
{
    json_t *out = json_object();

    json_put_text(out, "change", change_name(p->change));
    json_put_text(out, "key", either(p)->key);
    json_put(out, "before", p->before ? storm_json(&p->before->storm) : json_null());
    json_put(out, "after", p->after ? storm_json(&p->after->storm) : json_null());
    json_put_text(out, "exit", p->after ? p->after->exit : NULL);
    origin_put_known(out, either(p)->origin);
    return out;
}

static json_t *findings_json(const struct audit_finding *const *item, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *f = json_object();

        json_put_text(f, "rule", item[i]->rule);
        json_put_text(f, "severity", severity_name(item[i]->severity));
        json_put_text(f, "identity", item[i]->identity);
        json_put_text(f, "message", item[i]->message);
        origin_put_known(f, item[i]->origin);
        json_push(list, f);
    }
    return list;
}

static json_t *packages_json(const struct diff *d)
{
    json_t *list = json_array();

    for (size_t i = 0; i < d->n_packages; i++) {
        const struct diff_package *p = &d->package[i];
        json_t *item = json_object();

        json_put_text(item, "key", p->after ? p->after->key : p->before->key);
        json_put_text(item, "before", p->before ? p->before->version : NULL);
        json_put_text(item, "after", p->after ? p->after->version : NULL);
        origin_put_known(item, p->after ? p->after->origin : p->before->origin);
        json_push(list, item);
    }
    return list;
}

static json_t *side_json(const struct audit *a)
{
    json_t *out = json_object();

    json_put_text(out, "name", a->name);
    json_put_text(out, "time", a->time);
    json_put_text(out, "cpu", a->cpu);
    json_put_int(out, "failed", (int64_t)audit_failed(a));
    json_put_int(out, "packages", (int64_t)a->n_packages);
    json_put_int(out, "programs", (int64_t)a->n_programs);
    json_put_int(out, "errors", (int64_t)audit_count(a, SEVERITY_ERROR));
    json_put_int(out, "warnings", (int64_t)audit_count(a, SEVERITY_WARNING));
    json_put_int(out, "notes", (int64_t)audit_count(a, SEVERITY_NOTE));
    return out;
}

int diff_json(const struct diff *diff, FILE *to, struct err *err)
{
    json_t *out = json_object(), *programs = json_array();
    json_t *counts = json_object();
    int r;

    json_put_text(out, "schema", "stormlint-diff/1");
    if (diff->b->maintainer)
        json_put_text(out, "maintainer", diff->b->maintainer);
    if (diff->b->why_none) {
        json_t *why_none = json_string(diff->b->why_none); /* escaped */

        json_put(out, "why_none", why_none);
    }
    json_put(out, "a", side_json(diff->a));
    json_put(out, "b", side_json(diff->b));
    for (enum change c = 0; c < N_CHANGES; c++)
        json_put_int(counts, change_name(c), (int64_t)diff->count[c]);
    json_put_int(counts, "same", (int64_t)diff->n_same_programs);
    json_put(out, "counts", counts);
    for (size_t i = 0; i < diff->n_programs; i++)
        json_push(programs, program_json(&diff->program[i]));
    json_put(out, "programs", programs);
    json_put(out, "new_findings", findings_json(diff->new_finding, diff->n_new));
    json_put(out, "fixed_findings", findings_json(diff->fixed_finding, diff->n_fixed));
    json_put(out, "packages", packages_json(diff));
    json_put(out, "over", json_texts(diff->over, diff->n_over));
    r = json_print(out, to, true, err);
    json_decref(out);
    return r;
}

/* ---- text */

static void text_totals(const struct diff *d, FILE *to, struct arena *arena)
{
    fprintf(to, "%s -> %s\n", str_escape(arena, d->a->name), str_escape(arena, d->b->name));
    if (d->b->maintainer)
        fprintf(to, "only what '%s' maintains\n", str_escape(arena, d->b->maintainer));
    if (strcmp(d->a->cpu, d->b->cpu) != 0)
        fprintf(to, "on different CPUs (%s, %s): calls cannot be compared\n",
                str_escape(arena, d->a->cpu), str_escape(arena, d->b->cpu));
    if (d->a->model != d->b->model)
        fprintf(to, "by different loader models (%lld, %lld): calls may differ for that reason\n",
                (long long)d->a->model, (long long)d->b->model);
    fprintf(to, "failed calls of all starts: %llu -> %llu\n",
            (unsigned long long)audit_failed(d->a), (unsigned long long)audit_failed(d->b));
    fprintf(to, "programs: %zu -> %zu; %zu as before", d->a->n_programs, d->b->n_programs,
            d->n_same_programs);
    for (enum change c = 0; c < N_CHANGES; c++)
        if (d->count[c])
            fprintf(to, ", %zu %s", d->count[c], change_words(c, d->count[c]));
    fprintf(to, "\npackages: %zu -> %zu; %zu added, %zu removed, %zu of another version\n",
            d->a->n_packages, d->b->n_packages, d->n_added, d->n_removed, d->n_updated);
    fprintf(to, "findings: %zu new, %zu fixed\n", d->n_new, d->n_fixed);
}

static void text_more(size_t n, size_t shown, FILE *to)
{
    if (n > shown)
        fprintf(to, "  ... and %zu more (--format json has all)\n", n - shown);
}

enum { TEXT_INDENT = 4, TEXT_CALLS = 20 }; /* columns: "  %6s -> %6s  " */

static void text_whom(const struct origin *origin, int indent, FILE *to, struct arena *arena)
{
    if (origin)
        fprintf(to, "%*s%s\n", indent, "", origin_text(origin, arena));
}

/* The largest changes of each kind. */
static void text_programs(const struct diff *d, FILE *to, struct arena *arena)
{
    size_t n = 0; /* of this kind */

    for (size_t i = 0; i < d->n_programs; i++) {
        const struct diff_program *p = &d->program[i];

        if (i == 0 || p->change != p[-1].change) {
            fprintf(to, "\n%s:\n", change_title(p->change));
            n = 0;
        }
        if (++n <= TEXT_PROGRAMS)
            fprintf(to, "  %6s -> %6s  %s%s%s\n", calls(p->before, arena), calls(p->after, arena),
                    str_escape(arena, either(p)->key), p->change == CHANGE_BROKEN ? ": " : "",
                    p->change == CHANGE_BROKEN ? str_escape(arena, p->after->exit) : "");
        if (n <= TEXT_PROGRAMS)
            text_whom(either(p)->origin, TEXT_CALLS, to, arena);
        if (i + 1 == d->n_programs || p[1].change != p->change)
            text_more(n, TEXT_PROGRAMS, to);
    }
}

static bool same_kind(const struct audit_finding *a, const struct audit_finding *b)
{
    return a->severity == b->severity && !strcmp(a->code, b->code);
}

/* Some of each rule. */
static void text_findings(const char *word, const struct audit_finding *const *item, size_t n_items,
                          FILE *to, struct arena *arena)
{
    size_t n = 0; /* of this rule */

    for (size_t i = 0; i < n_items; i++) {
        const struct audit_finding *f = item[i];

        n = i && same_kind(f, item[i - 1]) ? n + 1 : 1;
        if (n <= TEXT_FINDINGS)
            fprintf(to, "  %s %s[%s] %s: %s\n", word, severity_name(f->severity),
                    str_escape(arena, f->code), str_escape(arena, f->identity),
                    str_escape(arena, f->message));
        if (n <= TEXT_FINDINGS)
            text_whom(f->origin, TEXT_INDENT, to, arena);
        if (i + 1 == n_items || !same_kind(f, item[i + 1]))
            text_more(n, TEXT_FINDINGS, to);
    }
}

void diff_text(const struct diff *diff, FILE *to, struct arena *arena)
{
    text_totals(diff, to, arena);
    text_programs(diff, to, arena);
    if (diff->n_new || diff->n_fixed)
        fputs("\nFindings:\n", to);
    text_findings("new", diff->new_finding, diff->n_new, to, arena);
    text_findings("fixed", diff->fixed_finding, diff->n_fixed, to, arena);
    for (size_t i = 0; i < diff->n_packages; i++) {
        const struct diff_package *p = &diff->package[i];

        fprintf(to, "%s  %s %s -> %s\n", i ? "" : "\nPackages:\n",
                str_escape(arena, p->after ? p->after->key : p->before->key),
                p->before ? str_escape(arena, p->before->version) : "-",
                p->after ? str_escape(arena, p->after->version) : "-");
    }
    for (size_t i = 0; i < diff->n_over; i++)
        fprintf(to, "%sover the budget: %s\n", i ? "" : "\n", diff->over[i]);
}

/* ---- Markdown */

/* As code, in a table, too: no bars, no back-quotes. */
static const char *code(const char *text, struct arena *arena)
{
    char *out = arena_strdup(arena, str_escape(arena, text));

    for (char *at = out; *at; at++)
        if (*at == '|' || *at == '`')
            *at = '\'';
    return out;
}

/* Who maintains it, as code: nobody is called by a comment that a machine writes, and no address told. */
static const char *whom(const struct origin *origin, struct arena *arena)
{
    struct str out = {.arena = arena};

    str_add(&out, "");
    for (size_t i = 0; origin && i < origin->n_maintainers; i++)
        str_printf(&out, "%s`%s`", i ? ", " : " of ",
                   code(maintainer_name(origin->maintainer[i], arena), arena));
    return out.text;
}

/* As a sentence: no markup, links, images or people called are made of what names hold. */
static const char *prose(const char *text, struct arena *arena)
{
    struct str out = {.arena = arena};

    if (strchr(text, '@')) /* a backslash keeps nobody from being called */
        return arena_printf(arena, "`%s`", code(text, arena));
    str_add(&out, "");
    for (text = str_escape(arena, text); *text; text++) {
        if (strchr("\\`*_[]<>!|#~&", *text))
            str_add(&out, "\\");
        str_add_n(&out, text, 1);
    }
    return out.text;
}

static void markdown_programs(const struct diff *d, FILE *to, struct arena *arena)
{
    size_t n = 0, n_of = 0;

    for (size_t i = 0; i < d->n_programs; i++)
        n_of += d->program[i].change < CHANGE_ADDED;
    if (n_of == 0)
        return;
    fputs("\n| program | failed calls | |\n|---|---:|---|\n", to);
    for (size_t i = 0; i < d->n_programs && n < MARKDOWN_ROWS; i++) {
        const struct diff_program *p = &d->program[i];

        if (p->change >= CHANGE_ADDED)
            continue;
        n++;
        fprintf(to, "| `%s`%s | %s → %s | %s |\n", code(either(p)->key, arena),
                whom(either(p)->origin, arena), calls(p->before, arena), calls(p->after, arena),
                change_name(p->change));
    }
    if (n_of > n)
        fprintf(to, "\n%zu of %zu are shown.\n", n, n_of);
}

static void markdown_findings(const struct diff *d, FILE *to, struct arena *arena)
{
    const size_t n = d->n_new < MARKDOWN_ROWS ? d->n_new : MARKDOWN_ROWS;

    if (n)
        fputs("\nNew findings:\n\n", to);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "- **%s** %s `%s`%s: %s\n", severity_name(d->new_finding[i]->severity),
                prose(d->new_finding[i]->rule, arena), code(d->new_finding[i]->identity, arena),
                whom(d->new_finding[i]->origin, arena), prose(d->new_finding[i]->message, arena));
    if (d->n_new > n)
        fprintf(to, "\n%zu of %zu are shown.\n", n, d->n_new);
}

void diff_markdown(const struct diff *diff, FILE *to, struct arena *arena)
{
    const uint64_t before = audit_failed(diff->a), after = audit_failed(diff->b);

    fprintf(to, "**stormlint**: failed calls at start %llu → %llu (%+lld), in %zu programs",
            (unsigned long long)before, (unsigned long long)after,
            (long long)after - (long long)before, diff->b->n_programs);
    if (diff->b->maintainer)
        fprintf(to, " that `%s` maintains", code(diff->b->maintainer, arena));
    for (enum change c = 0; c < CHANGE_ADDED; c++)
        if (diff->count[c])
            fprintf(to, "; %zu %s", diff->count[c], change_words(c, diff->count[c]));
    fprintf(to, ". Findings: %zu new, %zu fixed. Packages: +%zu −%zu, %zu updated.\n", diff->n_new,
            diff->n_fixed, diff->n_added, diff->n_removed, diff->n_updated);
    if (diff->b->why_none)
        fprintf(to, "\n- %s.\n", prose(diff->b->why_none, arena));
    markdown_programs(diff, to, arena);
    markdown_findings(diff, to, arena);
    for (size_t i = 0; i < diff->n_over; i++)
        fprintf(to, "%s- Over the budget: %s.\n", i ? "" : "\n", diff->over[i]);
}
