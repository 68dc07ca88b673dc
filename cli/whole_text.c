#include "cli/whole_text.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int write_text(const struct whole_view *view, const char *text, size_t len, struct err *err)
{
    if (fwrite(text, 1, len, view->to) == len)
        return 0;
    return err_set(err, errno, "cannot write the plans: %s", strerror(errno));
}

static const char *slice_name(struct arena *arena, const struct whole_package *package)
{
    return arena_printf(arena, "%s" SLICE_SUFFIX, str_base(package->path));
}

/* Called for each plan, in the order of paths. */
static int write_one(void *data, const struct whole_package *package, const char *text, size_t len,
                     struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const struct whole_view *view = data;

    if (!view->output)
        return write_text(view, text, len, err);
    return slices_write(view->slices, slice_name(&scratch, package), text, len, err);
}

/*
 * One file a package. What one maintainer's run does not look at is not gone, nor is what could not
 * be planned this time.
 */
static int write_slices(struct whole_view *view, struct whole *whole, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct slices slices;
    int r = slices_open(view->output, &arena, &slices, err);

    if (r < 0)
        return r;
    if (view->whose->name)
        slices_expect_all(&slices);
    for (size_t i = 0; i < whole->n_packages; i++)
        if (whole->package[i].len)
            slices_expect(&slices, slice_name(&arena, &whole->package[i]));
        else if (whole->package[i].problem)
            slices_stay(&slices, slice_name(&arena, &whole->package[i]));
    view->slices = &slices;
    r = slices_begin(&slices, err);
    if (r == 0)
        r = whole_tell(whole, write_one, view, err);
    if (r == 0)
        r = slices_end(&slices, err);
    view->slices = NULL;
    for (size_t i = 0; i < slices.n_kept; i++)
        log_warn("'%s': its package is gone, but it is not as it was written, and stays",
                 slices.kept[i]);
    if (slices.removed)
        log_info("'%s': removed %zu plan%s of packages that are gone", view->output, slices.removed,
                 str_count(slices.removed, "", "s"));
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

static void exception(const struct whole_view *view, const struct whole_program *w, bool is_worse)
{
    CLEANUP(arena_release) struct arena scratch = {0};

    fprintf(view->to, "  %s%s\n      %" PRIu32 " -> %" PRIu32 " -> %" PRIu32 ": %s %s, %s [%s]\n",
            is_worse ? "worse: " : "", str_escape(&scratch, w->path), w->before.failed_opens,
            w->own.failed_opens, w->whole.failed_opens, w->strategy, w->scope, w->reason, w->rule);
}

/* What an operator should look at: programs that stay bad, and any that get worse. */
static void exceptions(const struct whole_view *view, const struct whole *whole)
{
    size_t n_worse = 0;

    for (size_t i = 0; i < whole->n_packages; i++)
        for (size_t k = 0; k < whole->package[i].n_programs; k++) {
            const struct whole_program *w = &whole->package[i].program[k];
            const bool is_worse = whole_is_worse(w);

            n_worse += is_worse;
            if (is_worse || (w->before.failed_opens > 100 && w->own.failed_opens >= 20))
                exception(view, w, is_worse);
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
    fprintf(view->to, "\n  %-10s", "");
    for (size_t m = 0; m < N_METHODS; m++)
        fprintf(view->to, " %15s",
                m == METHOD_NONE ? "none" : method_name(strategy_of((enum method)m)));
    fputc('\n', view->to);
    for (size_t kind = 0; kind < N_SUBJECT_KINDS; kind++) {
        fprintf(view->to, "  %-10s", subject_kind_name((enum subject_kind)kind));
        for (size_t m = 0; m < N_METHODS; m++)
            fprintf(view->to, " %15zu", whole->n_objects[kind][m]);
        fputc('\n', view->to);
    }
}

static void text(const struct whole_view *view, const struct whole *whole)
{
    const char *whose = view->whose->name;

    fprintf(view->to, "%zu packages, %zu programs", whole->n_packages, whole->n_programs);
    if (whose)
        fprintf(view->to, ", of those that '%s' maintains", str_escape(view->whose->arena, whose));
    fputs("\n\n", view->to);
    fprintf(view->to, "  %-24s %23s %8s\n", "sums over all starts", "failed opens + stats",
            "median");
    sum_row(view, whole, "as built", WHOLE_BEFORE);
    sum_row(view, whole, "the program planned", WHOLE_ALONE);
    sum_row(view, whole, "own package planned", WHOLE_OWN);
    sum_row(view, whole, whose ? "all of these planned" : "whole closure planned", WHOLE_ALL);
    counts(view, whole);
    fputc('\n', view->to);
    exceptions(view, whole);
}

int whole_show(struct whole_view *view, struct whole *whole, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < whole->n_packages; i++)
        if (whole->package[i].problem) {
            view->n_problems++;
            log_warn("%s, skipping", whole->package[i].problem);
        }
    if (view->output)
        r = write_slices(view, whole, err);
    else if (view->json)
        r = whole_tell(whole, write_one, view, err);
    if (r == 0 && !view->json)
        text(view, whole);
    return r;
}
