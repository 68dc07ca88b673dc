#include "cli/plan_text.h"
#include "base/str.h"

#include <inttypes.h>
#include <string.h>

enum { NAMES_SHOWN = 4 };

static const char *shown(const struct plan_view *view, const char *text)
{
    return text ? str_escape(view->arena, text) : "-";
}

static void heading(const struct plan_view *view, const char *text)
{
    fprintf(view->to, "\n  %s%s%s\n", term_style(&view->term, STYLE_BOLD), text,
            term_style(&view->term, STYLE_PLAIN));
}

/* "farm lifted", "none" */
static const char *method_text(const struct plan_view *view, const char *strategy,
                               const char *scope)
{
    return strcmp(strategy, "none") ? arena_printf(view->arena, "%s %s", strategy, scope)
                                    : strategy;
}

/* The words of `text`, further lines indented by `indent` columns, where the first one starts. */
static void words(const struct plan_view *view, int indent, const char *text)
{
    const size_t width = view->term.width > 60 ? view->term.width - 1 : 99;
    size_t column = (size_t)indent, len;

    for (text = str_sentence(view->arena, text); *text; text += len + (text[len] == ' ')) {
        len = strcspn(text, " ");
        if (column > (size_t)indent && column + 1 + len > width) {
            fprintf(view->to, "\n%*s", indent, "");
            column = (size_t)indent;
        }
        column +=
            (size_t)fprintf(view->to, "%s%.*s", column > (size_t)indent ? " " : "", (int)len, text);
    }
    fputc('\n', view->to);
}

static void paragraph(const struct plan_view *view, int indent, const char *text)
{
    fprintf(view->to, "%*s", indent, "");
    words(view, indent, text);
}

/* What a strategy does to a program, in a few words. */
static const char *summary(const struct plan_object *object)
{
    const enum method method = method_find(object->strategy, object->scope);

    return method == N_METHODS ? "" : strategy_of(method)->summary;
}

/* ---- numbers */

static void number_row(const struct plan_view *view, const char *mark, const char *name,
                       const struct storm *s, const char *behind)
{
    fprintf(view->to, "  %s %-16s %8" PRIu32 " + %-8" PRIu32 " %8" PRIu32 " %8" PRIu32 "   ", mark,
            name, s->failed_opens, s->failed_stats, s->opens, s->objects);
    if (view->probe_us >= 0)
        fprintf(view->to, "%8.2f ms   ", (double)storm_failed(s) * view->probe_us / 1000);
    fprintf(view->to, "%s\n", behind);
}

static const char *standing_text(const struct plan_option *o)
{
    if (!strcmp(o->standing, "chosen"))
        return "the choice";
    if (!strcmp(o->standing, "failed"))
        return "breaks something";
    if (!strcmp(o->standing, "no-reader"))
        return "with a loader that reads notes";
    return "";
}

static void numbers(const struct plan_view *view, const struct plan_object *object)
{
    const struct plan_level *level;
    size_t i;

    heading(view, arena_printf(view->arena, "One start on %s (%s, %" PRIu32 " libraries)",
                               view->plan->cpu, object->loader, object->n_libraries));
    fprintf(view->to, "    %-16s %19s %8s %8s%s\n", "", "failed opens+stats", "opens", "objects",
            view->probe_us >= 0 ? "   failed calls" : "");
    for (i = 0; i < object->n_options; i++) {
        const struct plan_option *o = &object->option[i];
        bool chosen = !strcmp(o->standing, "chosen");

        if (!(level = plan_level(o, view->plan->cpu)))
            continue;
        if (!strcmp(o->strategy, "none"))
            number_row(view, chosen ? ">" : " ", "as built", &level->before, standing_text(o));
        else
            number_row(view, chosen ? ">" : " ", method_text(view, o->strategy, o->scope),
                       &level->after, standing_text(o));
    }
}

static void other_levels(const struct plan_view *view, const struct plan_object *object)
{
    const struct plan_option *o = plan_chosen(object);
    struct str out = {.arena = view->arena};
    size_t i;

    for (i = 0; i < o->n_levels; i++) {
        const struct storm *b = &o->level[i].before, *a = &o->level[i].after;

        if (strcmp(o->level[i].cpu, view->plan->cpu) != 0)
            str_printf(&out, "%s%s %" PRIu32 "+%" PRIu32 " -> %" PRIu32 "+%" PRIu32,
                       out.len ? "; " : "checked on the other levels, too: ", o->level[i].cpu,
                       b->failed_opens, b->failed_stats, a->failed_opens, a->failed_stats);
    }
    if (out.len)
        paragraph(view, 4, out.text);
}

/* ---- why not the others */

static void losers(const struct plan_view *view, const struct plan_object *object)
{
    size_t i;

    heading(view, "Why not");
    for (i = 0; i < object->n_options; i++) {
        const struct plan_option *o = &object->option[i];

        if (!strcmp(o->standing, "chosen"))
            continue;
        paragraph(view, 4,
                  arena_printf(view->arena, "%s: %s [%s]", method_text(view, o->strategy, o->scope),
                               o->reason, o->rule));
    }
}

/* ---- criteria */

static enum style verdict_style(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_FAIL:
        return STYLE_RED;
    case VERDICT_WARN:
        return STYLE_YELLOW;
    case VERDICT_PASS:
        return STYLE_GREEN;
    case VERDICT_NOT_APPLICABLE:
        break;
    }
    return STYLE_DIM;
}

static void evidence(const struct plan_view *view, const struct evidence *e)
{
    struct str out = {.arena = view->arena};

    if (e->soname)
        str_printf(&out, "%s", shown(view, e->soname));
    if (e->object)
        str_printf(&out, "%s%s", out.len ? " of " : "", shown(view, e->object));
    if (e->before)
        str_printf(&out, "%s%s -> %s", out.len ? ": " : "", shown(view, e->before),
                   shown(view, e->after));
    if (e->note)
        str_printf(&out, "%s(%s)", out.len ? " " : "", shown(view, e->note));
    fprintf(view->to, "          %s\n", out.len ? out.text : "");
}

static void judgements(const struct plan_view *view, const struct plan_option *o, bool all)
{
    size_t i, k;

    for (i = 0; i < o->n_judgements; i++) {
        const struct plan_judgement *j = &o->judgement[i];

        fprintf(view->to, "    %s%-15s%s%-17s", term_style(&view->term, verdict_style(j->verdict)),
                verdict_name(j->verdict), term_style(&view->term, STYLE_PLAIN), j->criterion);
        words(view, 36, j->reason);
        if (all && j->scenario)
            fprintf(view->to, "          simulated: %s\n", j->scenario);
        for (k = 0; all && k < j->n_evidence; k++)
            evidence(view, &j->evidence[k]);
        if (all && j->left_out)
            fprintf(view->to, "          and %" PRIu32 " more\n", j->left_out);
    }
}

/* One cell: "pass", "FAIL", "warn", "-" (does not apply), "" (not looked at). */
static const char *cell(const struct plan_option *o, const char *criterion)
{
    static const char *const cells[] = {
        [VERDICT_PASS] = "pass",
        [VERDICT_FAIL] = "FAIL",
        [VERDICT_WARN] = "warn",
        [VERDICT_NOT_APPLICABLE] = "-",
    };
    size_t i;

    for (i = 0; i < o->n_judgements; i++)
        if (!strcmp(o->judgement[i].criterion, criterion))
            return cells[o->judgement[i].verdict];
    return "";
}

/* Criteria down, strategies across. What a gate settled stands alone in its column. */
static void matrix(const struct plan_view *view, const struct plan_object *object)
{
    size_t i, k;

    heading(view, "Criteria and strategies");
    fprintf(view->to, "    %-17s", "");
    for (k = 0; k < object->n_options; k++)
        if (strcmp(object->option[k].strategy, "none") != 0)
            fprintf(view->to, " %-15s",
                    method_text(view, object->option[k].strategy, object->option[k].scope));
    fputc('\n', view->to);
    for (i = 0; i < N_CRITERIA; i++) {
        fprintf(view->to, "    %-17s", criteria()[i].id);
        for (k = 0; k < object->n_options; k++)
            if (strcmp(object->option[k].strategy, "none") != 0)
                fprintf(view->to, " %-15s", cell(&object->option[k], criteria()[i].id));
        fputc('\n', view->to);
    }
}

static void rulings(const struct plan_view *view, const struct plan_object *object)
{
    size_t i;

    if (object->n_rulings == 0)
        return;
    heading(view, "Rules that fired (absolute, farm, note)");
    for (i = 0; i < object->n_rulings; i++) {
        const struct plan_ruling *r = &object->ruling[i];

        fprintf(view->to, "    %-16s %-6s %-6s %-6s on %s %s\n", r->rule, r->absolute, r->farm,
                r->note, r->on, shown(view, r->what));
    }
}

static void explain_others(const struct plan_view *view, const struct plan_object *object)
{
    size_t i;

    for (i = 0; i < object->n_options; i++) {
        const struct plan_option *o = &object->option[i];

        if (!strcmp(o->standing, "chosen") || o->n_judgements == 0)
            continue;
        heading(view,
                arena_printf(view->arena, "Checked: %s", method_text(view, o->strategy, o->scope)));
        judgements(view, o, true);
    }
}

/* ---- edits */

static void list_needed(const struct plan_view *view, const struct edit *e,
                        const struct plan_object *object)
{
    size_t i, n = view->explain || e->n_needed <= NAMES_SHOWN ? e->n_needed : NAMES_SHOWN;
    struct str out = {.arena = view->arena};

    fprintf(view->to, "    needed     %zu names become %zu, in load order\n",
            object->expect.n_needed, e->n_needed);
    for (i = 0; i < n; i++)
        str_printf(&out, "%s%s", i ? " " : "", shown(view, e->needed[i]));
    if (n < e->n_needed)
        str_printf(&out, " ... (--explain shows all)");
    if (out.len)
        paragraph(view, 15, out.text);
}

static void list_links(const struct plan_view *view, const struct edit *e)
{
    size_t i;

    fprintf(view->to, "    farm       %s: %zu links\n", shown(view, e->path), e->n_links);
    for (i = 0; view->explain && i < e->n_links; i++)
        fprintf(view->to, "               %s -> %s\n", shown(view, e->link[i].name),
                shown(view, e->link[i].target));
}

static void list_run_path(const struct plan_view *view, const struct edit *e)
{
    const char **component;
    size_t n = run_path_split(view->arena, e->run_path, &component), i;

    fprintf(view->to, "    run path   %zu director%s, the old ones last and complete:\n", n,
            str_count(n, "y", "ies"));
    for (i = 0; i < n && (view->explain || i < NAMES_SHOWN); i++)
        fprintf(view->to, "               %s\n", shown(view, component[i]));
    if (i < n)
        fprintf(view->to, "               ... (--explain shows all)\n");
}

static void edits(const struct plan_view *view, const struct plan_object *object)
{
    size_t i;

    if (object->edits.n == 0)
        return;
    heading(view, "Edits");
    for (i = 0; i < object->edits.n; i++) {
        const struct edit *e = &object->edits.item[i];

        switch (e->kind) {
        case EDIT_FARM:
            list_links(view, e);
            break;
        case EDIT_NEEDED:
            list_needed(view, e, object);
            break;
        case EDIT_RUN_PATH:
            list_run_path(view, e);
            break;
        case EDIT_VERNEED:
            fprintf(view->to, "    versions   %zu file names renamed with their needed names\n",
                    e->n_renames);
            break;
        case EDIT_NOTE:
            fprintf(view->to, "    note       %" PRIu32 " bytes\n", e->note.size);
            break;
        case EDIT_CLOSURE:
            fprintf(view->to, "    closure    a note of %" PRIu32 " bytes, read by '%s'\n",
                    e->note.size, e->audit);
            break;
        case N_EDIT_KINDS:
            break;
        }
    }
}

/* ---- one object */

static void notes(const struct plan_view *view, const struct plan_object *object)
{
    size_t i;

    if (object->n_notes == 0)
        return;
    heading(view, "To know");
    for (i = 0; i < object->n_notes; i++)
        paragraph(view, 4, object->note[i]);
}

static bool is_told_briefly(const struct plan_view *view, const struct plan_object *object)
{
    return view->brief && (!object->expect.interp || object->edits.n == 0);
}

static void print_object(const struct plan_view *view, const struct plan_object *object)
{
    fprintf(view->to, "%s%s: %s%s\n", term_style(&view->term, STYLE_BOLD),
            shown(view, object->path), method_text(view, object->strategy, object->scope),
            term_style(&view->term, STYLE_PLAIN));
    if (!is_told_briefly(view, object))
        paragraph(view, 2, summary(object));
    paragraph(view, 2, arena_printf(view->arena, "because: %s [%s]", object->reason, object->rule));
    if (is_told_briefly(view, object))
        return;
    numbers(view, object);
    other_levels(view, object);
    losers(view, object);
    if (view->explain) {
        matrix(view, object);
        rulings(view, object);
    }
    if (plan_chosen(object)->n_judgements) {
        heading(view, arena_printf(view->arena, "Checked: %s",
                                   method_text(view, object->strategy, object->scope)));
        judgements(view, plan_chosen(object), view->explain);
    }
    if (view->explain)
        explain_others(view, object);
    edits(view, object);
    notes(view, object);
}

void plan_text(const struct plan_view *view)
{
    const struct plan_key *key = &view->plan->key;
    size_t i;

    fprintf(view->to, "%s%s%s, output %s, %s\n\n", shown(view, key->pname), key->version ? " " : "",
            key->version ? shown(view, key->version) : "", shown(view, key->output), key->system);
    for (i = 0; i < view->plan->n_objects; i++) {
        if (i && !is_told_briefly(view, &view->plan->object[i]))
            fputc('\n', view->to);
        print_object(view, &view->plan->object[i]);
    }
    if (view->plan->n_objects == 0)
        fprintf(view->to, "no programs here: nothing to plan\n");
}
