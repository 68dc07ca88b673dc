#include "cli/trace_text.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

enum { TOP_ASKERS = 5, TOP_DIRECTORIES = 10, TOP_DLOPENS = 5 };

/* A row of a ranking: failed calls of one asker, or in one directory. */
struct rank {
    const char *name;
    uint32_t failed;
    size_t order; /* of first appearance, for equal costs */
};

static int rank_compare(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;

    if (x->failed != y->failed)
        return x->failed < y->failed ? 1 : -1;
    return x->order > y->order ? 1 : x->order < y->order ? -1 : 0;
}

static void ranking(const struct trace_view *view, const char *title, struct rank *rank, size_t n,
                    size_t top)
{
    qsort(rank, n, sizeof(*rank), rank_compare);
    if (n == 0 || rank[0].failed == 0)
        return;
    trace_heading(view, title);
    for (size_t i = 0; i < n && i < top && rank[i].failed; i++)
        fprintf(view->to, "%7u %s\n", rank[i].failed, trace_shown(view, rank[i].name));
}

static void rank_askers(const struct trace_view *view)
{
    const struct trace *t = view->trace;
    struct rank *rank = arena_calloc(view->arena, t->n_loaded + 1, sizeof(*rank));

    for (size_t i = 0; i < t->n_loaded; i++)
        rank[i + 1] = (struct rank){.name = t->loaded[i].path, .order = i + 1};
    rank[0].name = "(the environment)";
    for (size_t i = 0; i < t->n_requests; i++) {
        const struct cost cost = trace_cost(t, &t->request[i]);

        if (t->request[i].phase > 0)
            continue;
        rank[t->request[i].asker + 1].failed += cost.failed_opens + cost.failed_stats;
    }
    ranking(view, "Whose searches cost most (failed calls)", rank, t->n_loaded + 1, TOP_ASKERS);
}

/* The listed directory that a call looked into: without file name and sub-directories for CPUs. */
static const char *call_directory(const struct trace_view *view, const struct call *call)
{
    const struct profile *p = &view->trace->profile;
    const char *slash = strrchr(call->path, '/');
    char *dir;

    if (call->kind == CALL_STAT)
        dir = arena_printf(view->arena, "%s%s", call->path, slash && !slash[1] ? "" : "/");
    else
        dir = arena_strndup(view->arena, call->path, slash ? (size_t)(slash + 1 - call->path) : 0);
    for (size_t i = 0; i < p->n_caps; i++) {
        const size_t len = strlen(dir), cap = strlen(p->caps[i]);

        if (cap && len > cap && dir[len - cap - 1] == '/' && str_ends(dir, p->caps[i])) {
            dir[len - cap] = '\0';
            break;
        }
    }
    return dir;
}

static int by_name(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    const int c = strcmp(x->name, y->name);

    return c ? c : x->order > y->order ? 1 : -1;
}

static void rank_directories(const struct trace_view *view)
{
    const struct trace *t = view->trace;
    struct rank *rank = arena_calloc(view->arena, t->n_calls + 1, sizeof(*rank));
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < t->n_calls; i++) {
        const struct call *call = &t->call[i];

        if (call->phase == 0 && call->error && (call->kind == CALL_OPEN || call->kind == CALL_STAT))
            rank[n++] = (struct rank){call_directory(view, call), 1, i};
    }
    qsort(rank, n, sizeof(*rank), by_name);
    for (size_t i = 0; i < n; i++) {
        if (kept && !strcmp(rank[kept - 1].name, rank[i].name))
            rank[kept - 1].failed++;
        else
            rank[kept++] = rank[i];
    }
    for (size_t i = 0; i < kept; i++)
        if (!*rank[i].name)
            rank[i].name = "(working directory)";
    ranking(view, "Where the loader looked in vain most (failed calls)", rank, kept,
            TOP_DIRECTORIES);
}

static void rank_dlopens(const struct trace_view *view)
{
    const struct trace *t = view->trace;
    struct rank *rank = arena_calloc(view->arena, t->n_phases + 1, sizeof(*rank));

    for (size_t i = 0; i < t->n_phases; i++) {
        const struct phase *p = &t->phase[i];

        rank[i] = (struct rank){
            .name = arena_printf(view->arena, "%s, by %s", p->name,
                                 p->caller < 0 ? "?" : str_base(t->loaded[p->caller].path)),
            .failed = p->storm.failed_opens + p->storm.failed_stats,
            .order = i,
        };
    }
    ranking(view, "Which dlopens cost most (failed calls)", rank, t->n_phases, TOP_DLOPENS);
}

static void storm_line(const struct trace_view *view, const char *label, const struct storm *s)
{
    fprintf(view->to, "%s%s%s: %s%u failed opens and %u failed stats%s, of %u opens and %u stats\n",
            trace_on(view, STYLE_BOLD), label, trace_off(view), trace_on(view, STYLE_BOLD),
            s->failed_opens, s->failed_stats, trace_off(view), s->opens, s->stats);
}

/* A total of its own: what is dlopened is no part of the start. */
static void dlopens_line(const struct trace_view *view)
{
    const struct trace *t = view->trace;
    size_t succeed = 0;

    if (t->n_phases == 0)
        return;
    for (size_t i = 0; i < t->n_phases; i++)
        succeed += t->phase[i].succeeds;
    storm_line(view, "dlopens after it", &t->dlopen);
    fprintf(view->to, "%zu of %zu dlopens succeed, and bring %u more objects\n", succeed,
            t->n_phases, t->dlopen.objects);
}

static void exit_line(const struct trace_view *view)
{
    const struct trace *t = view->trace;
    const char *text = trace_shown(view, t->exit_text ? t->exit_text : "?");

    switch (t->exit) {
    case EXIT_OK:
        fprintf(view->to, "The program starts: every library it needs was found.\n");
        return;
    case EXIT_NOT_DYNAMIC:
        fprintf(view->to, "The program names no loader: it is linked statically and makes none of "
                          "these calls.\n");
        return;
    case EXIT_TOO_LARGE:
        fprintf(view->to, "%sThis is not all of it: %s%s\n", trace_on(view, STYLE_RED), text,
                trace_off(view));
        return;
    case EXIT_NO_LOADER:
    case EXIT_MISSING:
    case EXIT_BAD:
    case EXIT_ABORT:
        break;
    }
    fprintf(view->to, "%sThe program does not start: %s%s\n", trace_on(view, STYLE_RED), text,
            trace_off(view));
}

void trace_text_summary(const struct trace_view *view)
{
    const struct trace *t = view->trace;

    rank_askers(view);
    rank_directories(view);
    rank_dlopens(view);
    fputc('\n', view->to);
    if (t->exit != EXIT_NOT_DYNAMIC && t->exit != EXIT_NO_LOADER) {
        storm_line(view, "Start-up", &t->storm);
        fprintf(view->to, "%u object%s in memory, %u director%s visited\n", t->storm.objects,
                str_count(t->storm.objects, "", "s"), t->storm.directories,
                str_count(t->storm.directories, "y", "ies"));
    }
    dlopens_line(view);
    exit_line(view);
}
