#include "cli/whole_text.h"
#include "base/log.h"
#include "base/str.h"
#include "planner/plan_json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static int write_one(const struct whole_view *view, const struct whole_package *package,
                     struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    json_t *json = plan_json(&package->plan, &scratch);
    const char *path = NULL;
    FILE *to = view->to;
    int r;

    if (view->output) {
        path = arena_printf(&scratch, "%s/%s.plan.json", view->output, str_base(package->path));
        to = fopen(path, "we");
    }
    if (!to) {
        json_decref(json);
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    }
    r = json_print(json, to, path != NULL, err);
    if (path && fclose(to) != 0 && r == 0)
        r = err_set(err, errno, "'%s': %s", path, strerror(errno));
    json_decref(json);
    return r;
}

static void sum_row(const struct whole_view *view, const struct whole *whole, const char *name,
                    enum whole_column column)
{
    const struct whole_sum sum = whole_sum(whole, column);

    fprintf(view->to, "  %-24s %10" PRIu64 " + %-10" PRIu64 " %8" PRIu32, name, sum.failed_opens,
            sum.failed_stats, sum.median);
    if (view->probe_us >= 0)
        fprintf(view->to, " %12.1f ms",
                (double)(sum.failed_opens + sum.failed_stats) * view->probe_us / 1000);
    fputc('\n', view->to);
}

/* What an operator should look at: programs that stay bad, and any that get worse. */
static void exceptions(const struct whole_view *view, const struct whole *whole)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    size_t i, n_worse = 0;

    for (i = 0; i < whole->n_programs; i++) {
        const struct whole_program *w = &whole->program[i];

        n_worse += whole_is_worse(w);
        if (!whole_is_worse(w) && (w->before.failed_opens <= 100 || w->own.failed_opens < 20))
            continue;
        fprintf(view->to,
                "  %s%s\n      %" PRIu32 " -> %" PRIu32 " -> %" PRIu32 ": %s %s, %s [%s]\n",
                whole_is_worse(w) ? "worse: " : "", str_escape(&scratch, w->path),
                w->before.failed_opens, w->own.failed_opens, w->whole.failed_opens,
                w->object->strategy, w->object->scope, w->object->reason, w->object->rule);
    }
    fprintf(view->to,
            "  %zu of %zu programs fail more calls than as built, declared dlopens counted\n",
            n_worse, whole->n_programs);
}

static const char *method_name(const struct strategy *s)
{
    return s->scope == SCOPE_OWN      ? s->name
           : s->scope == SCOPE_LIFTED ? "... lifted"
                                      : "... closure";
}

static void counts(const struct whole_view *view, const struct whole *whole)
{
    static const char *const kinds[] = {"program", "root", "library"};
    size_t i, k, m;

    fprintf(view->to, "\n  %-10s", "");
    for (m = 0; m < N_METHODS; m++)
        fprintf(view->to, " %15s",
                m == METHOD_NONE ? "none" : method_name(strategy_of((enum method)m)));
    fputc('\n', view->to);
    for (k = 0; k < ARRAY_LEN(kinds); k++) {
        size_t n[N_METHODS] = {0}, j;

        for (i = 0; i < whole->n_packages; i++)
            for (j = 0; j < whole->package[i].plan.n_objects; j++) {
                const struct plan_object *o = &whole->package[i].plan.object[j];

                for (m = 0; m < N_METHODS; m++)
                    n[m] += !strcmp(o->kind, kinds[k]) &&
                            !strcmp(o->strategy, strategy_of((enum method)m)->name) &&
                            !strcmp(o->scope, scope_name(strategy_of((enum method)m)->scope));
            }
        fprintf(view->to, "  %-10s", kinds[k]);
        for (m = 0; m < N_METHODS; m++)
            fprintf(view->to, " %15zu", n[m]);
        fputc('\n', view->to);
    }
}

static void text(const struct whole_view *view, const struct whole *whole)
{
    fprintf(view->to, "%zu packages, %zu programs\n\n", whole->n_packages, whole->n_programs);
    fprintf(view->to, "  %-24s %23s %8s\n", "sums over all starts", "failed opens + stats",
            "median");
    sum_row(view, whole, "as built", WHOLE_BEFORE);
    sum_row(view, whole, "the program planned", WHOLE_ALONE);
    sum_row(view, whole, "own package planned", WHOLE_OWN);
    sum_row(view, whole, "whole closure planned", WHOLE_ALL);
    counts(view, whole);
    fputc('\n', view->to);
    exceptions(view, whole);
}

int whole_show(struct whole_view *view, const struct whole *whole, struct err *err)
{
    size_t i;
    int r = 0;

    if (view->output && mkdir(view->output, 0777) < 0 && errno != EEXIST)
        return err_set(err, errno, "'%s': %s", view->output, strerror(errno));
    for (i = 0; i < whole->n_packages && r == 0; i++) {
        const struct whole_package *package = &whole->package[i];

        if (package->problem) {
            view->n_problems++;
            log_warn("%s, skipping", package->problem);
        } else if (package->plan.n_objects && (view->json || view->output))
            r = write_one(view, package, err);
    }
    if (r == 0 && !view->json)
        text(view, whole);
    return r;
}
