#include "tests/lines.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { CONTEXT = 3 };

void lines_add(struct lines *lines, const char *line)
{
    lines->line = arena_grow(lines->arena, lines->line, lines->n, sizeof(*lines->line));
    lines->line[lines->n++] = line;
}

void lines_of_trace(struct lines *lines, const struct trace *trace,
                    const struct dlopen_call *dlopens, size_t n_dlopens)
{
    size_t phase = 0;

    for (size_t i = 0; i < trace->n_calls; i++) {
        const struct call *call = &trace->call[i];

        for (; phase < n_dlopens && phase < (size_t)call->phase; phase++)
            lines_add(lines, arena_printf(lines->arena, "-- dlopen %s", dlopens[phase].name));
        lines_add(lines, arena_printf(lines->arena, "%-8s %s = %s", call_kind_name(call->kind),
                                      str_escape(lines->arena, call->path), call_result(call)));
    }
    for (; phase < n_dlopens; phase++)
        lines_add(lines, arena_printf(lines->arena, "-- dlopen %s", dlopens[phase].name));
    lines_add(lines, trace->exit == EXIT_OK ? "-- starts" : "-- fails");
}

bool lines_same(const struct lines *a, const struct lines *b, size_t *ret_at)
{
    size_t at = 0;

    while (at < a->n && at < b->n && !strcmp(a->line[at], b->line[at]))
        at++;
    *ret_at = at;
    return at == a->n && at == b->n;
}

void lines_print(const struct lines *expected, const struct lines *predicted, size_t at)
{
    for (size_t i = at > CONTEXT ? at - CONTEXT : 0; i < at; i++)
        printf("      %s\n", expected->line[i]);
    for (size_t i = at; i < expected->n && i < at + CONTEXT; i++)
        printf("    - %s\n", expected->line[i]);
    for (size_t i = at; i < predicted->n && i < at + CONTEXT; i++)
        printf("    + %s\n", predicted->line[i]);
}
