#include "server/index_audit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void index_audit_free(struct index_audit *ia)
{
    if (!ia)
        return;
    intern_free(ia->texts);
    arena_release(&ia->arena);
    free(ia);
}

/* ---- what is kept: the audit alone, equal texts once; closure, world and the rest can go */

static const char *text_kept(struct index_audit *ia, const char *text)
{
    return text ? intern(ia->texts, text)->text : NULL;
}

static const char **texts_kept(struct index_audit *ia, const char *const *text, size_t n)
{
    const char **kept = arena_calloc(&ia->arena, n + 1, sizeof(*kept));

    for (size_t i = 0; i < n; i++)
        kept[i] = text_kept(ia, text[i]);
    return kept;
}

static const struct origin *origin_kept(const struct snapshot *snap, const char *package)
{
    const struct package_row *p = package ? snapshot_package(snap, package) : NULL;

    return p ? p->origin : NULL;
}

static void keep_packages(struct index_audit *ia, const struct snapshot *snap,
                          const struct audit *from)
{
    struct audit *to = &ia->audit;

    to->package = arena_calloc(&ia->arena, from->n_packages + 1, sizeof(*to->package));
    for (size_t i = 0; i < from->n_packages; i++) {
        const struct audit_package *p = &from->package[i];

        to->package[i] = (struct audit_package){text_kept(ia, p->key), text_kept(ia, p->version),
                                                text_kept(ia, p->path), origin_kept(snap, p->path)};
    }
}

static void keep_programs(struct index_audit *ia, const struct snapshot *snap,
                          const struct audit *from)
{
    struct audit *to = &ia->audit;

    to->program = arena_calloc(&ia->arena, from->n_programs + 1, sizeof(*to->program));
    for (size_t i = 0; i < from->n_programs; i++) {
        const struct program_row *row = snapshot_program(snap, from->program[i].path);
        struct audit_program *p = &to->program[i];

        *p = from->program[i];
        p->key = text_kept(ia, p->key);
        p->version = text_kept(ia, p->version);
        p->path = text_kept(ia, p->path);
        p->loader = text_kept(ia, p->loader);
        p->exit = text_kept(ia, p->exit);
        p->plan = NULL;
        p->origin = row && row->package != UINT32_MAX ? snap->package[row->package].origin : NULL;
    }
}

static void keep_findings(struct index_audit *ia, const struct snapshot *snap,
                          const struct audit *from)
{
    struct audit *to = &ia->audit;

    to->finding = arena_calloc(&ia->arena, from->n_findings + 1, sizeof(*to->finding));
    for (size_t i = 0; i < from->n_findings; i++) {
        struct audit_finding *f = &to->finding[i];

        *f = from->finding[i]; /* rule and other words of tables stay where they are */
        f->identity = text_kept(ia, f->identity);
        f->message = text_kept(ia, f->message);
        f->path = text_kept(ia, f->path);
        f->package = text_kept(ia, f->package);
        f->evidence = texts_kept(ia, f->evidence, f->n_evidence);
        f->origin = origin_kept(snap, f->package);
    }
}

static void keep(struct index_audit *ia, const struct snapshot *snap, const struct audit *from)
{
    struct audit *to = &ia->audit;

    *to = *from;
    to->time = text_kept(ia, from->time);
    to->cpu = text_kept(ia, from->cpu);
    to->root = texts_kept(ia, from->root, from->n_roots);
    to->unasked = texts_kept(ia, from->unasked, from->n_unasked);
    to->plan = NULL;
    to->n_plans = 0;
    keep_packages(ia, snap, from);
    keep_programs(ia, snap, from);
    keep_findings(ia, snap, from);
}

/* ---- making it */

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
    CLEANUP(arena_release) struct arena scratch = {0};
    const struct lint_scope scope = {.closure = true};
    struct audit_options options = {.name = "index",
                                    .time = time_text(snap->index_at, &scratch),
                                    .source = "index",
                                    .lint = {.cwd = "/"}};
    struct closure closure;
    struct audit audit;
    struct cpu cpu;
    int r = cpu_find(snap->cpu, &cpu, err);

    if (r < 0)
        return r;
    options.lint.cpu = &cpu;
    closure_init(&closure, view_world(view));
    r = closure_index(&closure, view_db(view), &scope, err);
    if (r == 0)
        r = audit_make(&closure, &options, &scratch, &audit, err);
    if (r == 0)
        keep(ia, snap, &audit);
    closure_release(&closure);
    return r < 0 ? r : view_empty(view, err);
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
        ia->texts = intern_new();
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
