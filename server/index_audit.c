#include "server/index_audit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void index_audit_free(struct index_audit *ia)
{
    if (!ia)
        return;
    if (ia->closure.world)
        closure_release(&ia->closure);
    arena_release(&ia->arena);
    free(ia);
}

static const char *time_text(int64_t at, struct arena *arena)
{
    const time_t t = (time_t)at;
    char text[40] = "";
    struct tm tm;

    if (gmtime_r(&t, &tm))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    return arena_strdup(arena, text);
}

static int make(struct snapshot *snap, struct view *view, struct index_audit *ia, struct err *err)
{
    const struct lint_scope scope = {.closure = true};
    struct audit_options options = {.name = "index",
                                    .time = time_text(snap->index_at, &ia->arena),
                                    .source = "index",
                                    .lint = {.cpu = &ia->cpu, .cwd = "/"}};
    int r = cpu_find(snap->cpu, &ia->cpu, err);

    if (r < 0)
        return r;
    closure_init(&ia->closure, view_world(view));
    r = closure_index(&ia->closure, view_db(view), &scope, err);
    return r < 0 ? r : audit_make(&ia->closure, &options, &ia->arena, &ia->audit, err);
}

int snapshot_audit(struct snapshot *snap, const struct audit **ret_audit, struct err *err)
{
    struct index_audit *ia;
    struct view *view;
    int r = 0;

    pthread_mutex_lock(&snap->audit_lock);
    if (!snap->audit) {
        ia = calloc(1, sizeof(*ia));
        if (!ia)
            abort();
        view = snapshot_take(snap);
        r = view ? make(snap, view, ia, err) : err_set(err, EAGAIN, "the index is being read anew");
        if (r == 0)
            snap->audit = ia;
        else
            index_audit_free(ia);
        if (view)
            snapshot_give(snap, view, r == -EIO);
    }
    if (r == 0)
        *ret_audit = &snap->audit->audit;
    pthread_mutex_unlock(&snap->audit_lock);
    return r;
}
