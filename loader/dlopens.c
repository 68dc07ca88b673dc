#include "loader/internal.h"

/* Phases of one run: a hostile tree cannot make it endless. */
enum { PHASES_MAX = 2000 };

/*
 * docs/loader.md, 16: the caller's paths are searched, the new object has no loader of its own;
 * states, names and identities carry over, and what a failed call loaded is forgotten.
 */
static bool glibc_dlopen(struct run *run, struct lib *caller, const char *name)
{
    const size_t n = run->base.n, n_loaded = run->trace->n_loaded;
    struct ask ask = {
        .kind = REQUEST_DLOPEN, .space = &run->base, .asker = caller, .shown = caller};
    struct worklist list = {0};
    struct answer answer = ask_name(run, &ask, intern(run->names, name));
    bool done = answer.lib != NULL;

    if (answer.lib && !answer.lib->opened) {
        work_append(run, &list, answer.lib);
        done = work_all(run, &run->base, &list, 0);
        if (done)
            answer.lib->opened = true;
        else if (run->base.broken && run->trace->loaded[answer.lib->index].phase > 0)
            run_exit(run, EXIT_ABORT,
                     "abort: closing '%s', the loader asserts that it finds all "
                     "objects, and a filter has made it lose some",
                     name);
        else
            run_forget(run, &run->base, n, n_loaded);
    }
    if (run->cache == CACHE_MAPPED)
        run->cache = CACHE_UNASKED;
    return done;
}

static struct storm storm_since(const struct storm *now, const struct storm *then)
{
    return (struct storm){
        .opens = now->opens - then->opens,
        .failed_opens = now->failed_opens - then->failed_opens,
        .stats = now->stats - then->stats,
        .failed_stats = now->failed_stats - then->failed_stats,
        .others = now->others - then->others,
        .failed_others = now->failed_others - then->failed_others,
        .objects = now->objects - then->objects,
        .directories = now->directories - then->directories,
    };
}

/* One dlopen, a phase of its own. True: it succeeds. */
static bool one_phase(struct run *run, struct lib *caller, const struct phase *like)
{
    struct trace *t = run->trace;
    const struct storm before = t->dlopen;
    struct phase phase = *like;

    run->phase = (int)t->n_phases + 1;
    run->storm = &t->dlopen;
    phase.caller = caller ? caller->index : -1;
    if (caller && run->setup->profile.libc == LIBC_MUSL)
        phase.succeeds = musl_dlopen(run, phase.name);
    else if (caller)
        phase.succeeds = glibc_dlopen(run, caller, phase.name);
    phase.storm = storm_since(&t->dlopen, &before);
    t->phase = arena_grow(run->arena, t->phase, t->n_phases, sizeof(*t->phase));
    t->phase[t->n_phases++] = phase;
    return phase.succeeds;
}

/* ---- dlopens that were asked for */

static void asked_dlopens(struct run *run)
{
    const struct start *start = run->start;

    for (size_t i = 0; run->trace->exit == EXIT_OK && i < start->n_dlopens; i++) {
        const struct dlopen_call *call = &start->dlopens[i];
        struct lib *caller = run_caller(run, call->caller);

        if (!caller || !caller->image) {
            run_assume(run, "dlopen of '%s': its caller '%s' is not loaded", call->name,
                       call->caller);
            caller = NULL;
        }
        (void)one_phase(run, caller, &(struct phase){.source = DLOPEN_ASKED, .name = call->name});
    }
}

/* ---- dlopens that loaded objects declare (docs/dlopen.md) */

/* The object of the program's namespace that stands at `index` of what is loaded; NULL: none. */
static struct lib *lib_at(const struct run *run, int index)
{
    for (size_t i = 0; i < run->base.n; i++)
        if (run->base.lib[i]->index == index)
            return run->base.lib[i];
    return NULL;
}

/* Alternatives in order of preference, up to the first that succeeds. False: too many phases. */
static bool one_declared(struct run *run, struct lib *lib, const struct declared *declared)
{
    for (size_t i = 0; i < declared->n_names && run->trace->exit == EXIT_OK; i++) {
        const struct phase like = {.source = declared->source,
                                   .name = declared->name[i],
                                   .priority = declared->priority,
                                   .feature = declared->feature,
                                   .alternative = (unsigned)i,
                                   .n_alternatives = (unsigned)declared->n_names};

        if (run->trace->n_phases >= PHASES_MAX) {
            run_assume(run, "more than %d dlopens: the rest is left out", PHASES_MAX);
            return false;
        }
        if (one_phase(run, lib, &like))
            break;
    }
    return true;
}

/*
 * In load order, each object once. What a declared dlopen loads is appended and has its turn
 * later; what one that fails had loaded is gone before its turn comes.
 */
static void declared_dlopens(struct run *run)
{
    for (int at = 0; at < (int)run->trace->n_loaded && run->trace->exit == EXIT_OK; at++) {
        struct lib *lib = lib_at(run, at);
        struct declared_list list;

        if (!lib || !lib->image || !lib->image->object || lib->is_self)
            continue;
        declared_read(run->arena, lib->image->object, &list);
        for (size_t i = 0; i < list.n_problems; i++)
            run_assume(run, "dlopen notes of '%s': %s", lib->image->path->text, list.problem[i]);
        for (size_t i = 0; i < list.n; i++)
            if (!one_declared(run, lib, &list.item[i]))
                return;
    }
}

void run_dlopens(struct run *run)
{
    asked_dlopens(run);
    if (run->start->declared)
        declared_dlopens(run);
}
