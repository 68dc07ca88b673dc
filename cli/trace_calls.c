#include "cli/trace_text.h"

/* "magick needs libx.so.1", "the environment preloads ...": who asked for what. */
static const char *request_words(const struct trace_view *view, const struct request *request)
{
    static const char *const verbs[] = {
        [REQUEST_NEEDED] = "needs",
        [REQUEST_AUXILIARY] = "has the optional companion",
        [REQUEST_FILTER] = "is a filter for",
        [REQUEST_PRELOAD] = "loads first",
        [REQUEST_PRELOAD_FILE] = "loads first",
        [REQUEST_AUDIT] = "asks for the audit module",
        [REQUEST_DLOPEN] = "dlopens",
        [REQUEST_PROGRAM] = "starts",
    };
    static const char *const nobody[] = {
        [REQUEST_NEEDED] = "the program",
        [REQUEST_AUXILIARY] = "the program",
        [REQUEST_FILTER] = "the program",
        [REQUEST_PRELOAD] = "LD_PRELOAD",
        [REQUEST_PRELOAD_FILE] = "the preload file",
        [REQUEST_AUDIT] = "the environment",
        [REQUEST_DLOPEN] = "the program",
        [REQUEST_PROGRAM] = "the command line",
    };
    const char *who =
        request->asker < 0 ? nobody[request->kind] : trace_object(view, request->asker);

    return arena_printf(view->arena, "%s %s %s", who, verbs[request->kind],
                        *request->name ? trace_shown(view, request->name) : "\"\"");
}

/* How a request without a call was answered. */
static const char *silent_words(const struct trace_view *view, const struct request *request)
{
    const struct trace *t = view->trace;

    switch (request->result) {
    case RESULT_KNOWN:
        return request->answer < 0
                   ? "in memory already"
                   : arena_printf(view->arena, "in memory already: %s",
                                  trace_shown(view, t->loaded[request->answer].path));
    case RESULT_SKIPPED:
        return "not searched: a $TOKEN in it has no value here, or set-id rules forbid";
    case RESULT_MISSING:
        return "nowhere: no directory to look into";
    case RESULT_FOUND:
    case RESULT_SAME:
    case RESULT_BAD:
        break;
    }
    return "answered without a call";
}

static enum style call_style(const struct call *call)
{
    if (call->outcome == OUTCOME_HIT || call->outcome == OUTCOME_SAME_FILE)
        return STYLE_GREEN;
    if (call->outcome == OUTCOME_REJECTED || call->outcome == OUTCOME_FATAL)
        return STYLE_RED;
    return call->error ? STYLE_DIM : STYLE_PLAIN;
}

static void call_line(const struct trace_view *view, const struct call *call)
{
    fprintf(view->to, "    %s%-8s %-9s %s  (%s)%s\n", trace_on(view, call_style(call)),
            call_kind_name(call->kind), call_result(call), trace_shown(view, call->path),
            call_words(view->trace, call, view->arena), trace_off(view));
}

static void stage_line(const struct trace_view *view, const struct request *request,
                       enum stage stage)
{
    const char *asker = request->asker < 0 ? NULL : trace_object(view, request->asker);

    if (stage == STAGE_DIRECT)
        fprintf(view->to, "  by its path: a name with a slash is not searched\n");
    else if (asker && stage == STAGE_RUNPATH)
        fprintf(view->to, "  in the RUNPATH of %s\n", asker);
    else if (asker && stage == STAGE_RPATH)
        fprintf(view->to, "  in the RPATH of %s and of those that loaded it\n", asker);
    else
        fprintf(view->to, "  %s%s\n",
                stage == STAGE_CACHE || stage == STAGE_NOTE ? "by the " : "in ",
                stage_words(stage));
}

/* The calls for one request, with a line where the search enters its next stage. */
static void request_calls(const struct trace_view *view, const struct request *request)
{
    const struct call *call = &view->trace->call[request->first_call];

    for (size_t i = 0; i < request->n_calls; i++) {
        if (i == 0 || call[i].stage != call[i - 1].stage)
            stage_line(view, request, call[i].stage);
        call_line(view, &call[i]);
    }
}

static void own_calls(const struct trace_view *view, size_t from, size_t to)
{
    if (from >= to)
        return;
    fprintf(view->to, "the loader, for itself\n");
    for (size_t i = from; i < to; i++)
        call_line(view, &view->trace->call[i]);
}

void trace_text_calls(const struct trace_view *view)
{
    const struct trace *t = view->trace;
    size_t at = 0;
    int phase = 0;

    trace_heading(view, "Every call, in order");
    for (size_t i = 0; i < t->n_requests; i++) {
        const struct request *r = &t->request[i];

        own_calls(view, at, r->first_call);
        for (; phase < r->phase; phase++)
            fprintf(view->to, "-- %s\n", phase_words(view, (size_t)phase));
        if (r->n_calls == 0)
            fprintf(view->to, "%s%s: %s%s\n", trace_on(view, STYLE_DIM), request_words(view, r),
                    silent_words(view, r), trace_off(view));
        else
            fprintf(view->to, "%s\n", request_words(view, r));
        request_calls(view, r);
        at = r->first_call + r->n_calls > at ? r->first_call + r->n_calls : at;
    }
    own_calls(view, at, t->n_calls);
}

void trace_text_missing(const struct trace_view *view)
{
    const struct trace *t = view->trace;

    for (size_t i = 0; i < t->n_requests; i++) {
        const struct request *r = &t->request[i];

        if ((r->result != RESULT_MISSING && r->result != RESULT_BAD) ||
            !phase_is_asked(t, r->phase))
            continue;
        fprintf(view->to, "\n%s%s: %s%s%s\n", trace_on(view, STYLE_RED), request_words(view, r),
                r->result == RESULT_MISSING ? "found nowhere" : "found, but unusable",
                request_is_optional(r) ? "; the loader goes on without it" : "", trace_off(view));
        if (r->asker >= 0)
            fprintf(view->to, "  (%s is %s)\n", trace_object(view, r->asker),
                    trace_shown(view, t->loaded[r->asker].path));
        fprintf(view->to, r->n_calls ? "  tried, in this order:\n" : "  nothing was tried\n");
        request_calls(view, r);
    }
}
