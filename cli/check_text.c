#include "cli/check_text.h"

#include "base/str.h"

#include <string.h>

static const char *const result_names[] = {
    [CHECK_AGREES] = "ok",
    [CHECK_DIFFERS] = "differs",
    [CHECK_NOT_COMPARABLE] = "not comparable",
};

static const enum style result_styles[] = {
    [CHECK_AGREES] = STYLE_GREEN,
    [CHECK_DIFFERS] = STYLE_RED,
    [CHECK_NOT_COMPARABLE] = STYLE_YELLOW,
};

static size_t failed_calls(const struct start_seen *start)
{
    size_t n = 0;

    for (size_t i = 0; i < start->n_calls; i++)
        n += start->call[i].error != 0;
    return n;
}

/* ---- the first difference */

static void print_call(FILE *to, const char *whose, size_t number, const struct call *call)
{
    CLEANUP(arena_release) struct arena arena = {0};

    fprintf(to, "    %-9s %5zu  %-8s %-9s %s\n", whose, number, call_kind_name(call->kind),
            call_result(call), str_escape(&arena, call->path));
}

/* Who asked for what, when a predicted call was made for a request. */
static void print_asker(FILE *to, const struct trace *trace, const struct call *call)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct request *request;
    const char *asker = NULL;

    if (call->request < 0 || (size_t)call->request >= trace->n_requests)
        return;
    request = &trace->request[call->request];
    if (request->asker >= 0 && (size_t)request->asker < trace->n_loaded)
        asker = trace->loaded[request->asker].path;
    fprintf(to, "              (predicted for %s", str_escape(&arena, request->name));
    if (asker)
        fprintf(to, ", asked by %s", str_escape(&arena, asker));
    fprintf(to, ", %s)\n", stage_name(call->stage));
}

/* Calls [from, from + CHECK_CONTEXT] of one side. */
static void print_side(FILE *to, const char *whose, const struct call *call, size_t n, size_t from)
{
    if (from >= n)
        fprintf(to, "    %-9s %5s  (no further call)\n", whose, "");
    for (size_t i = from; i < n && i <= from + CHECK_CONTEXT; i++)
        print_call(to, whose, i + 1, &call[i]);
}

static void print_difference(FILE *to, const struct checked *checked)
{
    const struct trace *trace = &checked->predicted;
    const size_t at = checked->difference.at, n = startup_calls(trace);

    for (size_t i = at > CHECK_CONTEXT ? at - CHECK_CONTEXT : 0; i < at; i++)
        print_call(to, "both", i + 1, &trace->call[i]);
    print_side(to, "predicted", trace->call, n, at);
    if (at < n)
        print_asker(to, trace, &trace->call[at]);
    print_side(to, "measured", checked->measured.call, checked->measured.n_calls, at);
}

/* What was dlopened: a total of its own, and no reason to agree or differ. */
static void print_later(FILE *to, const struct checked *checked)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct storm *s = &checked->predicted.dlopen;

    fprintf(to, "    after the start: %zu libraries opened, %zu of them foreseen",
            checked->n_foreseen + checked->n_unforeseen, checked->n_foreseen);
    fprintf(to, " (%zu dlopens predicted: %u failed opens and %u failed stats, %u objects)\n",
            checked->predicted.n_phases, s->failed_opens, s->failed_stats, s->objects);
    for (size_t i = 0; i < checked->n_unforeseen; i++)
        fprintf(to, "    not foreseen: %s\n", str_escape(&arena, checked->unforeseen[i]));
}

void check_text(FILE *to, const struct term *term, const struct checked *checked)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct hop *hop = checked->hop;

    fprintf(to, "%s%-7s%s %s", term_style(term, result_styles[checked->result]),
            result_names[checked->result], term_style(term, STYLE_PLAIN),
            str_escape(&arena, checked->program));
    if (hop && strcmp(hop->program, checked->program) != 0)
        fprintf(to, " -> %s", str_escape(&arena, hop->program));
    if (checked->result == CHECK_AGREES)
        fprintf(to, "  %zu calls (%zu failed)", checked->measured.n_calls,
                failed_calls(&checked->measured));
    else
        fprintf(to, ": %s", str_escape(&arena, checked->reason));
    if (checked->note)
        fprintf(to, "; %s", checked->note);
    if (checked->has_trace && checked->predicted.profile.assumed)
        fprintf(to, "; %s", str_escape(&arena, checked->predicted.profile.assumed));
    fputc('\n', to);
    if (checked->result == CHECK_DIFFERS && checked->has_trace)
        print_difference(to, checked);
    if (checked->has_later)
        print_later(to, checked);
}

/* ---- JSON */

static json_t *call_json(const struct call *call)
{
    json_t *object = json_object();

    json_put_text(object, "call", call_kind_name(call->kind));
    json_put_text(object, "path", call->path);
    json_put_text(object, "result", call_result(call));
    return object;
}

/* The calls from the first difference on, as many as people are shown. */
static json_t *side_json(const struct call *call, size_t n, size_t from)
{
    json_t *array = json_array();

    for (size_t i = from; i < n && i <= from + CHECK_CONTEXT; i++)
        json_push(array, call_json(&call[i]));
    return array;
}

static json_t *difference_json(const struct checked *checked)
{
    const struct trace *trace = &checked->predicted;
    const size_t at = checked->difference.at;
    json_t *object = json_object();

    json_put_int(object, "call", (int64_t)at + 1);
    json_put(object, "predicted", side_json(trace->call, startup_calls(trace), at));
    json_put(object, "measured", side_json(checked->measured.call, checked->measured.n_calls, at));
    return object;
}

json_t *check_json(const struct checked *checked)
{
    json_t *object = json_object();

    json_put_text(object, "program", checked->program);
    json_put_text(object, "result",
                  checked->result == CHECK_NOT_COMPARABLE ? "not-comparable"
                                                          : result_names[checked->result]);
    if (checked->reason)
        json_put_text(object, "reason", checked->reason);
    if (checked->note)
        json_put_text(object, "note", checked->note);
    if (checked->hop)
        json_put_text(object, "compared", checked->hop->program);
    json_put_int(object, "wrappers", checked->n_hops ? (int64_t)checked->n_hops - 1 : 0);
    if (!checked->has_trace)
        return object;
    json_put_text(object, "assumed", checked->predicted.profile.assumed);
    json_put_int(object, "predicted_calls", (int64_t)startup_calls(&checked->predicted));
    json_put_int(object, "measured_calls", (int64_t)checked->measured.n_calls);
    json_put_int(object, "failed_calls", (int64_t)failed_calls(&checked->measured));
    if (checked->result == CHECK_DIFFERS)
        json_put(object, "first_difference", difference_json(checked));
    if (checked->has_later) {
        json_put(object, "dlopen", storm_json(&checked->predicted.dlopen));
        json_put(object, "foreseen", json_texts(checked->foreseen, checked->n_foreseen));
        json_put(object, "unforeseen", json_texts(checked->unforeseen, checked->n_unforeseen));
    }
    return object;
}

/* ---- trees */

static void proctree_numbers(FILE *to, const struct proctree_row *row)
{
    const struct storm *s = &row->storm;

    fprintf(to, "%8u %8u %8u %8u %7zu  ", s->failed_opens, s->failed_stats, s->opens, s->stats,
            row->starts);
}

void proctree_text(FILE *to, const struct term *term, const struct proctree *tree, size_t top)
{
    const size_t shown = top && top < tree->n ? top : tree->n;
    const char *bold = term_style(term, STYLE_BOLD), *plain = term_style(term, STYLE_PLAIN);

    fprintf(to, "%s%8s %8s%s\n", bold, "failed", "failed", plain);
    fprintf(to, "%s%8s %8s %8s %8s %7s  %s%s\n", bold, "opens", "stats", "opens", "stats", "starts",
            "program", plain);
    for (size_t i = 0; i < shown; i++) {
        CLEANUP(arena_release) struct arena arena = {0};

        proctree_numbers(to, &tree->row[i]);
        fprintf(to, "%s\n", str_escape(&arena, tree->row[i].program));
    }
    if (shown < tree->n)
        fprintf(to, "(%zu more programs are not listed; --top 0 lists all)\n", tree->n - shown);
    fputs(bold, to);
    proctree_numbers(to, &tree->sum);
    fprintf(to, "total of %zu programs in %zu processes%s\n", tree->n, tree->processes, plain);
    if (tree->failed_execs)
        fprintf(to, "%zu execve calls failed (names searched in PATH)\n", tree->failed_execs);
    if (tree->sum.failed_starts)
        fprintf(to, "%zu starts did not get to the end of start-up, or have no loader\n",
                tree->sum.failed_starts);
    if (tree->ended)
        fprintf(to, "%s: what came until then is counted\n",
                tree->interrupted ? "interrupted" : "the time limit was reached");
}

static json_t *row_json(const struct proctree_row *row)
{
    const struct storm *s = &row->storm;
    json_t *object = json_object();

    if (row->program)
        json_put_text(object, "program", row->program);
    json_put_int(object, "starts", (int64_t)row->starts);
    json_put_int(object, "failed_starts", (int64_t)row->failed_starts);
    json_put_int(object, "opens", s->opens);
    json_put_int(object, "failed_opens", s->failed_opens);
    json_put_int(object, "stats", s->stats);
    json_put_int(object, "failed_stats", s->failed_stats);
    return object;
}

json_t *proctree_json(const struct proctree *tree)
{
    json_t *object = json_object(), *rows = json_array();

    for (size_t i = 0; i < tree->n; i++)
        json_push(rows, row_json(&tree->row[i]));
    json_put(object, "programs", rows);
    json_put(object, "total", row_json(&tree->sum));
    json_put_int(object, "processes", (int64_t)tree->processes);
    json_put_int(object, "failed_execs", (int64_t)tree->failed_execs);
    json_put(object, "ended_early", json_boolean(tree->ended));
    json_put_int(object, "status", tree->status);
    return object;
}
