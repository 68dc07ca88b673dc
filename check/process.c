#include "check/process.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

/* The heaviest start-up known makes about 20,000 calls. */
enum { MAX_CALLS = 1 << 20, MAX_STARTS = 1 << 16, MAX_LATER = 2000 };

static struct start_seen *current(struct process *process)
{
    return process->n_starts ? &process->start[process->n_starts - 1] : NULL;
}

static void end_startup(struct process *process, enum startup_end end, const struct line *line)
{
    struct start_seen *start = current(process);

    if (!start || start->end != STARTUP_OPEN)
        return;
    start->end = end;
    start->status = line->status;
    start->signal = end == STARTUP_KILLED ? arena_strdup(process->arena, line->path) : NULL;
    process->n_done++;
}

/* libx.so, libx.so.1, module.so; not ld.so.cache and its like. */
static bool is_library_name(const char *path)
{
    const char *name = str_base(path), *mark = strstr(name, ".so");

    while (mark && mark[3] && mark[3] != '.')
        mark = strstr(mark + 1, ".so");
    return mark && !str_starts(name, "ld.so.");
}

/* After start-up: a library that was dlopened. Those beyond MAX_LATER are not kept. */
static void add_later(struct process *process, struct start_seen *start, const struct line *line)
{
    if (line->call.kind != CALL_OPEN || line->call.error || line->cut ||
        start->n_later == MAX_LATER || !is_library_name(line->call.path))
        return;
    for (size_t i = 0; i < start->n_later; i++)
        if (strcmp(start->later[i], line->call.path) == 0)
            return;
    start->later = arena_grow(process->arena, start->later, start->n_later, sizeof(*start->later));
    start->later[start->n_later++] = arena_strdup(process->arena, line->call.path);
}

static int add_call(struct process *process, const struct line *line, struct err *err)
{
    struct start_seen *start = current(process);

    if (start && start->end == STARTUP_DONE)
        add_later(process, start, line);
    if (!start || start->end != STARTUP_OPEN)
        return 0;
    if (start->n_calls == MAX_CALLS)
        return err_set(err, E2BIG, "'%s': more than %d calls before the end of start-up",
                       start->program, MAX_CALLS);
    start->call = arena_grow(process->arena, start->call, start->n_calls, sizeof(*start->call));
    start->cut = arena_grow(process->arena, start->cut, start->n_calls, sizeof(*start->cut));
    start->call[start->n_calls] = line->call;
    start->call[start->n_calls].path = arena_strdup(process->arena, line->call.path);
    start->cut[start->n_calls++] = line->cut;
    return 0;
}

static int add_exec(struct process *process, const struct line *line, struct err *err)
{
    if (line->error) {
        process->failed_execs++;
        process->exec_error = line->error;
        return 0;
    }
    end_startup(process, STARTUP_EXEC, line);
    if (process->n_starts == MAX_STARTS)
        return err_set(err, E2BIG, "one process ran more than %d programs", MAX_STARTS);
    process->start =
        arena_grow(process->arena, process->start, process->n_starts, sizeof(*process->start));
    process->start[process->n_starts++] =
        (struct start_seen){.program = arena_strdup(process->arena, line->path)};
    return 0;
}

/* Origins are asked for (readlink) before anything is searched, and before audit modules. */
static bool has_searched(const struct start_seen *start)
{
    for (size_t i = 0; i < start->n_calls; i++)
        if (start->call[i].kind != CALL_READLINK)
            return true;
    return false;
}

int process_line(struct process *process, const char *text, size_t len, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0}; /* most lines leave nothing behind */
    const struct start_seen *start = current(process);
    struct line line;
    int r = parse_line(text, len, &scratch, &line, err);

    if (r < 0)
        return r;
    process->stopped = line.kind == LINE_STOPPED;
    switch (line.kind) {
    case LINE_CALL:
        return add_call(process, &line, err);
    case LINE_EXEC:
        return add_exec(process, &line, err);
    case LINE_THREAD_POINTER:
        if (start && has_searched(start))
            end_startup(process, STARTUP_DONE, &line);
        return 0;
    case LINE_SEAL:
        end_startup(process, STARTUP_DONE, &line);
        return 0;
    case LINE_EXITED:
        end_startup(process, STARTUP_EXITED, &line);
        process->gone = true;
        return 0;
    case LINE_KILLED:
        end_startup(process, STARTUP_KILLED, &line);
        process->gone = true;
        return 0;
    case LINE_STOPPED:
    case LINE_OTHER:
        break;
    }
    return 0;
}
