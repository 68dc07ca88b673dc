#include "loader/internal.h"

/*
 * docs/loader.md, 16: the caller's paths are searched, the new object has no loader of its own;
 * states, names and identities carry over, and what a failed call loaded is forgotten.
 */
void glibc_dlopen(struct run *run, const struct dlopen_call *call)
{
    struct lib *caller = run_caller(run, call->caller);
    const size_t n = run->base.n, n_loaded = run->trace->n_loaded;
    struct ask ask = {
        .kind = REQUEST_DLOPEN, .space = &run->base, .asker = caller, .shown = caller};
    struct worklist list = {0};
    struct answer answer;

    if (!caller || !caller->image) {
        run_assume(run, "dlopen of '%s': its caller '%s' is not loaded", call->name, call->caller);
        return;
    }
    answer = ask_name(run, &ask, intern(run->names, call->name));
    if (answer.lib && !answer.lib->opened) {
        work_append(run, &list, answer.lib);
        if (work_all(run, &run->base, &list, 0))
            answer.lib->opened = true;
        else
            run_forget(run, &run->base, n, n_loaded);
    }
    if (run->cache == CACHE_MAPPED)
        run->cache = CACHE_UNASKED;
}
