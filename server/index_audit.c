#include "server/index_audit.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void index_audit_free(struct index_audit *ia)
{
    if (!ia)
        return;
    arena_release(&ia->arena);
    free(ia);
}

/* ---- what is kept: origins are the snapshot's, closure and world can go */

static const struct origin *origin_kept(const struct snapshot *snap, const char *package)
{
    const struct package_row *p = package ? snapshot_package(snap, package) : NULL;

    return p ? p->origin : NULL;
}

static void keep_origins(const struct snapshot *snap, struct audit *audit)
{
    for (size_t i = 0; i < audit->n_packages; i++)
        audit->package[i].origin = origin_kept(snap, audit->package[i].path);
    for (size_t i = 0; i < audit->n_programs; i++) {
        const struct program_row *row = snapshot_program(snap, audit->program[i].path);

        audit->program[i].origin =
            row && row->package != UINT32_MAX ? snap->package[row->package].origin : NULL;
    }
    for (size_t i = 0; i < audit->n_findings; i++)
        audit->finding[i].origin = origin_kept(snap, audit->finding[i].package);
}

/* ---- making it */

static int make(struct snapshot *snap, struct view *view, struct index_audit *ia, struct err *err)
{
    struct progress progress = {.stop = snap->quit};
    const struct lint_scope scope = {.closure = true, .progress = &progress};
    struct audit_options options = {.name = "index",
                                    .time = str_time(&ia->arena, snap->index_at),
                                    .source = "index",
                                    .lint = {.cwd = "/", .progress = &progress}};
    struct closure closure;
    struct cpu cpu;
    int r = cpu_find(snap->cpu, &cpu, err);

    if (r < 0)
        return r;
    options.lint.cpu = &cpu;
    closure_init(&closure, view_world(view));
    r = closure_index(&closure, view_db(view), &scope, err);
    if (r == 0)
        r = audit_make(&closure, &options, &ia->arena, &ia->audit, err);
    closure_release(&closure);
    if (r == -ECANCELED)
        return err_set(err, EAGAIN, "the service is being stopped");
    if (r == 0)
        keep_origins(snap, &ia->audit);
    return r;
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
