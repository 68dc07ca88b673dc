/*
 * The loader's calls as predicted and as measured: equal, or the first place where they part.
 */
#pragma once

#include "check/process.h"

struct difference {
    bool found;
    size_t at; /* index of the first call that differs; the number of calls when all are equal */
    const char *what; /* one sentence without a full stop; NULL when nothing differs */
};

/*
 * Compare start-up (phase 0) call for call: kind, path, error, and of a stat that succeeded
 * whether it is a directory. Then how both ended. `ret_note` is NULL, or tells what is remarkable
 * though equal ("the loader gave up after loading: exit status 127").
 */
struct difference compare(const struct trace *predicted, const struct start_seen *measured,
                          struct arena *arena, const char **ret_note);

/* Are these two the same call? `cut`: strace showed only the beginning of the measured path. */
bool same_call(const struct call *predicted, const struct call *measured, bool cut);

/* How many of a trace's calls belong to start-up. */
size_t startup_calls(const struct trace *trace);
