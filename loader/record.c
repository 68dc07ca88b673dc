#include "loader/internal.h"

#include <string.h>

enum {
    ASSUMPTIONS_MAX = 64,
    STEPS_MAX = 1 << 18,    /* calls and requests; the heaviest start known makes 20,000 calls */
    EFFORT_MAX = 128 << 20, /* bytes of paths; the same one has 2 million */
};

void run_call(struct run *run, struct call call)
{
    struct trace *t = run->trace;

    run_count(run, call.kind, call.error);
    if (!run->start->record)
        return;
    call.phase = run->phase;
    call.request = run->request;
    t->call = arena_grow(run->arena, t->call, t->n_calls, sizeof(*t->call));
    t->call[t->n_calls++] = call;
}

const char *run_path(struct run *run, const char *a, const char *b, const char *c)
{
    char *path;

    if (!run->start->record)
        return "";
    path = arena_alloc(run->arena, strlen(a) + strlen(b) + strlen(c) + 1);
    (void)stpcpy(stpcpy(stpcpy(path, a), b), c); /* thousands of times a trace: no printf */
    return path;
}

void run_ask(struct run *run, enum request_kind kind, const struct lib *asker, const char *name)
{
    struct trace *t = run->trace;

    run->n_asked++;
    if (!run->start->record)
        return;
    t->request = arena_grow(run->arena, t->request, t->n_requests, sizeof(*t->request));
    run->request = (int)t->n_requests;
    t->request[t->n_requests++] = (struct request){
        .kind = kind,
        .result = RESULT_MISSING,
        .phase = run->phase,
        .asker = asker ? asker->index : -1,
        .answer = -1,
        .name = name,
        .first_call = t->n_calls,
    };
}

void run_answer(struct run *run, enum request_result result, enum stage stage,
                const struct lib *answer)
{
    struct trace *t = run->trace;
    struct request *request;

    if (!run->start->record || run->request < 0)
        return;
    request = &t->request[run->request];
    request->result = result;
    request->stage = stage;
    request->answer = answer ? answer->index : -1;
    request->n_calls = t->n_calls - request->first_call;
    run->request = -1;
    if (request->n_calls == 0)
        return;
    if (result == RESULT_SAME)
        t->call[t->n_calls - 1].outcome = OUTCOME_SAME_FILE;
    if (result == RESULT_BAD && t->call[t->n_calls - 1].error == 0)
        t->call[t->n_calls - 1].outcome = OUTCOME_FATAL;
}

void run_exit(struct run *run, enum trace_exit exit, const char *fmt, ...)
{
    va_list ap;

    if (run->trace->exit != EXIT_OK)
        return;
    va_start(ap, fmt);
    run->trace->exit = exit;
    run->trace->exit_text = arena_vprintf(run->arena, fmt, ap);
    va_end(ap);
}

bool run_too_large(struct run *run)
{
    const struct storm *s = &run->trace->storm, *d = &run->trace->dlopen;
    const uint32_t steps = run->n_asked + s->opens + s->stats + s->others + d->opens + d->stats;

    if (steps < STEPS_MAX && run->effort < EFFORT_MAX)
        return false;
    run_exit(run, EXIT_TOO_LARGE,
             "too large: it is not predicted beyond %d calls and requests, or %d MiB of paths",
             STEPS_MAX, EFFORT_MAX >> 20);
    return true;
}

void run_assume(struct run *run, const char *fmt, ...)
{
    struct trace *t = run->trace;
    const char *text;
    va_list ap;

    va_start(ap, fmt);
    text = arena_vprintf(run->arena, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < t->n_assumptions; i++)
        if (strcmp(t->assumption[i], text) == 0)
            return;
    if (t->n_assumptions >= ASSUMPTIONS_MAX)
        return;
    t->assumption = arena_grow(run->arena, t->assumption, t->n_assumptions, sizeof(*t->assumption));
    t->assumption[t->n_assumptions++] = text;
}
