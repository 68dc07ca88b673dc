#include "check/compare.h"

#include "base/str.h"

#include <string.h>

bool same_call(const struct call *predicted, const struct call *measured, bool cut)
{
    if (predicted->kind != measured->kind || predicted->error != measured->error)
        return false;
    if (predicted->kind == CALL_STAT && predicted->error == 0 &&
        predicted->is_dir != measured->is_dir)
        return false;
    return cut ? str_starts(predicted->path, measured->path)
               : !strcmp(predicted->path, measured->path);
}

size_t startup_calls(const struct trace *trace)
{
    size_t n = 0;

    while (n < trace->n_calls && trace->call[n].phase == 0)
        n++;
    return n;
}

/* How the measured start ended, for people. */
static const char *ending(const struct start_seen *measured, struct arena *arena)
{
    switch (measured->end) {
    case STARTUP_EXITED:
        return arena_printf(arena, "exit status %d", measured->status);
    case STARTUP_KILLED:
        return arena_printf(arena, "killed by %s", measured->signal);
    case STARTUP_EXEC:
        return "another program was run";
    case STARTUP_OPEN:
        return "nothing more was seen";
    case STARTUP_DONE:
        break;
    }
    return "everything was loaded";
}

/* A start that is predicted to fail must fail, one that is predicted to work must work. */
static const char *compare_ends(const struct trace *predicted, const struct start_seen *measured,
                                struct arena *arena, const char **ret_note)
{
    const char *text = ending(measured, arena);
    bool fails = predicted->exit != EXIT_OK;

    if (measured->end == STARTUP_DONE) {
        /* musl goes on loading and relocating, and gives up only then */
        if (!fails || predicted->profile.libc == LIBC_MUSL)
            return NULL;
        return arena_printf(arena, "predicted to fail (%s), but everything was loaded",
                            predicted->exit_text);
    }
    if (fails)
        return measured->end == STARTUP_OPEN ? "the end of start-up was not seen" : NULL;
    if (measured->end == STARTUP_EXITED) {
        /* a symbol version is missing: found after the last call, and no call tells */
        *ret_note = arena_printf(arena, "the loader gave up after loading: %s", text);
        return NULL;
    }
    return arena_printf(arena, "the end of start-up was not seen: %s", text);
}

struct difference compare(const struct trace *predicted, const struct start_seen *measured,
                          struct arena *arena, const char **ret_note)
{
    size_t n = startup_calls(predicted);
    struct difference d = {0};

    *ret_note = NULL;
    while (d.at < n && d.at < measured->n_calls &&
           same_call(&predicted->call[d.at], &measured->call[d.at], measured->cut[d.at]))
        d.at++;
    if (d.at < n && d.at < measured->n_calls)
        d.what = arena_printf(arena, "call %zu differs", d.at + 1);
    else if (d.at < n)
        d.what = arena_printf(arena, "%zu predicted calls were not made: %s", n - d.at,
                              ending(measured, arena));
    else if (d.at < measured->n_calls)
        d.what = arena_printf(arena, "%zu calls were not predicted", measured->n_calls - d.at);
    else
        d.what = compare_ends(predicted, measured, arena, ret_note);
    d.found = d.what != NULL;
    return d;
}
