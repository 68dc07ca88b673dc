#include "cli/trace_text.h"

#include "base/str.h"

#include <string.h>

/*
 * Requests are linked by asker, in order: `first[asker + 1]` is the asker's first request, `next`
 * the following one of the same asker. An object hangs below the one request that brought it in,
 * so that walking down from the program and from the environment (asker -1) visits each once.
 */
struct tree {
    const struct trace_view *view;
    int *first; /* by asker + 1; -1: none */
    int *last;
    int *next; /* by request; -1: none */
    int phase;
};

enum { DEPTH_SHOWN = 40 }; /* deeper branches keep this indentation */

static struct tree tree_make(const struct trace_view *view)
{
    const struct trace *t = view->trace;
    struct tree tree = {.view = view};

    tree.first = arena_calloc(view->arena, t->n_loaded + 1, sizeof(int));
    tree.last = arena_calloc(view->arena, t->n_loaded + 1, sizeof(int));
    tree.next = arena_calloc(view->arena, t->n_requests + 1, sizeof(int));
    for (size_t i = 0; i <= t->n_loaded; i++)
        tree.first[i] = tree.last[i] = -1;
    for (size_t i = 0; i < t->n_requests; i++) {
        const int slot = t->request[i].asker + 1;

        tree.next[i] = -1;
        if (tree.last[slot] < 0)
            tree.first[slot] = (int)i;
        else
            tree.next[tree.last[slot]] = (int)i;
        tree.last[slot] = (int)i;
    }
    return tree;
}

/* Requests that are answered from memory make no calls: they are counted, not listed. */
static bool is_listed(const struct tree *tree, int request)
{
    const struct request *r = &tree->view->trace->request[request];

    return r->phase == tree->phase && (r->result != RESULT_KNOWN || r->kind == REQUEST_DLOPEN);
}

/* The first listed request from `request` on, along its asker's list; -1: none. */
static int listed_from(const struct tree *tree, int request)
{
    while (request >= 0 && !is_listed(tree, request))
        request = tree->next[request];
    return request;
}

static void tree_known(const struct tree *tree, int asker, struct str *out)
{
    unsigned n = 0;

    for (int r = tree->first[asker + 1]; r >= 0; r = tree->next[r])
        n += tree->view->trace->request[r].phase == tree->phase && !is_listed(tree, r);
    if (n)
        str_printf(out, "%s  (needs %u more, in memory already)%s", trace_on(tree->view, STYLE_DIM),
                   n, trace_off(tree->view));
}

/* What became of a request: " => PATH  (where)", or what went wrong. */
static void request_text(const struct trace_view *view, const struct request *r, struct str *out)
{
    const struct trace *t = view->trace;
    const char *path = r->answer >= 0 ? t->loaded[r->answer].path : "?";

    if (r->answer < 0 && r->n_calls) /* of a dlopen that failed: taken out again */
        path = t->call[r->first_call + r->n_calls - 1].path;
    path = trace_shown(view, view->term.is_terminal ? path_short(view->arena, path) : path);
    str_add(out, trace_shown(view, *r->name ? r->name : "\"\""));
    switch (r->result) {
    case RESULT_FOUND:
        if (strcmp(path, r->name) != 0)
            str_printf(out, " => %s", path);
        str_printf(out, "  (%s)", stage_words(r->stage));
        break;
    case RESULT_KNOWN:
        str_printf(out, " => %s  (in memory already)", path);
        break;
    case RESULT_SAME:
        str_printf(out, " => %s  (%s; the same file as one in memory already)", path,
                   stage_words(r->stage));
        break;
    case RESULT_MISSING:
        str_printf(out, "  %sNOT FOUND%s%s", trace_on(view, STYLE_RED), trace_off(view),
                   request_is_optional(r) ? " (the loader goes on without it)" : "");
        break;
    case RESULT_BAD:
        str_printf(out, "  %sFOUND, BUT UNUSABLE%s%s", trace_on(view, STYLE_RED), trace_off(view),
                   request_is_optional(r) ? " (the loader goes on without it)" : "");
        break;
    case RESULT_SKIPPED:
        str_add(out, "  (not searched: a $TOKEN in it has no value here, or set-id rules forbid)");
        break;
    }
}

/* One line of the tree. `more[d]`: another branch follows at depth d. */
static void tree_line(const struct tree *tree, int request, const bool *more, size_t depth)
{
    const struct trace_view *view = tree->view;
    const struct request *r = &view->trace->request[request];
    const struct cost cost = trace_cost(view->trace, r);
    struct str text = {.arena = view->arena}, line = {.arena = view->arena};

    for (size_t d = 1; d < depth && d < DEPTH_SHOWN; d++)
        str_add(&line, more[d] ? "|  " : "   ");
    str_add(&line, more[depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN] ? "|- " : "`- ");
    request_text(view, r, &text);
    str_add(&line, text.text);
    if (r->result == RESULT_FOUND && r->answer >= 0)
        tree_known(tree, r->answer, &line);
    if (cost.failed_opens || cost.failed_stats)
        fprintf(view->to, "%7u %7u %s\n", cost.failed_opens, cost.failed_stats, line.text);
    else
        fprintf(view->to, "%7s %7s %s\n", "-", "-", line.text);
}

/* Everything below `asker`, depth first, without recursion: graphs may be deep. */
static void tree_below(const struct tree *tree, int asker)
{
    const struct trace *t = tree->view->trace;
    int *stack = arena_calloc(tree->view->arena, t->n_requests + 2, sizeof(int));
    bool more[DEPTH_SHOWN + 1] = {false};
    size_t depth = 1;

    stack[depth] = listed_from(tree, tree->first[asker + 1]);
    while (depth > 0) {
        const int request = stack[depth];
        const struct request *r;

        if (request < 0) {
            depth--;
            continue;
        }
        r = &t->request[request];
        stack[depth] = listed_from(tree, tree->next[request]);
        more[depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN] = stack[depth] >= 0;
        tree_line(tree, request, more, depth);
        if (r->result == RESULT_FOUND && r->answer > 0 && depth <= t->n_requests)
            stack[++depth] = listed_from(tree, tree->first[r->answer + 1]);
    }
}

static void tree_head(const struct trace_view *view)
{
    fprintf(view->to, "%s%7s %7s%s\n", trace_on(view, STYLE_DIM), "failed", "failed",
            trace_off(view));
    fprintf(view->to, "%s%7s %7s %s%s\n", trace_on(view, STYLE_DIM), "opens", "stats",
            "what was asked for, and where it was found", trace_off(view));
}

/* What a dlopen had loaded when it failed is forgotten: why it failed is still told. */
static void tree_failed(const struct tree *tree, size_t from)
{
    const struct trace *t = tree->view->trace;

    for (size_t i = from; i < t->n_requests && t->request[i].phase == tree->phase; i++)
        if (t->request[i].result == RESULT_MISSING || t->request[i].result == RESULT_BAD)
            tree_line(tree, (int)i, (const bool[]){false, false, false}, 2);
    fprintf(tree->view->to, "%7s %7s    so it fails, and what it had loaded is taken out again\n",
            "", "");
}

/* One dlopen after the start: who, why we know of it, and what it pulls in. */
static void tree_phase(struct tree *tree, size_t phase)
{
    const struct trace_view *view = tree->view;
    const struct trace *t = view->trace;

    const char *words = phase_words(view, phase);

    tree->phase = (int)phase + 1;
    if (phase == 0 || strcmp(words, phase_words(view, phase - 1)) != 0)
        fprintf(view->to, "%7s %7s %s\n", "", "", words);
    for (size_t i = 0; i < t->n_requests; i++) {
        const struct request *r = &t->request[i];

        if (r->phase != tree->phase || r->kind != REQUEST_DLOPEN)
            continue;
        tree_line(tree, (int)i, (const bool[]){false, false}, 1);
        if (r->result == RESULT_FOUND && r->answer > 0)
            tree_below(tree, r->answer);
        if (r->result == RESULT_FOUND && !t->phase[phase].succeeds)
            tree_failed(tree, i + 1);
    }
}

void trace_text_tree(const struct trace_view *view)
{
    const struct trace *t = view->trace;
    struct tree tree = tree_make(view);
    struct str line = {.arena = view->arena};
    trace_heading(view, "Who pulled in whom, and what each search cost");
    if (view->term.is_terminal)
        fprintf(view->to, "%s(hashes of store paths are left out on a terminal)%s\n",
                trace_on(view, STYLE_DIM), trace_off(view));
    tree_head(view);
    if (listed_from(&tree, tree.first[0]) >= 0) {
        fprintf(view->to, "%7s %7s %s\n", "", "", "asked for before the program's own needs");
        tree_below(&tree, -1);
    }
    if (t->n_loaded) {
        str_add(&line, trace_object(view, 0));
        tree_known(&tree, 0, &line);
        fprintf(view->to, "%7s %7s %s\n", "", "", line.text);
        tree_below(&tree, 0);
    }
    for (size_t i = 0; i < t->n_phases; i++)
        tree_phase(&tree, i);
}
