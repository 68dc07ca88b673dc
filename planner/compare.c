#include "planner/compare.h"
#include "base/str.h"
#include "planner/cache.h"
#include "planner/traits.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { SMALL_BYTES = 64 * 1024 }; /* what counts as small on disk */

const char *const compare_columns[N_COLUMNS] = {
    [COLUMN_NO_GLIBC_FORK] = "no glibc fork",
    [COLUMN_NO_PATCHELF_CHANGE] = "no patchelf change",
    [COLUMN_SMALL] = "small on disk",
    [COLUMN_OVERRIDES] = "overrides kept",
    [COLUMN_DUPLICATES] = "duplicates kept",
    [COLUMN_NO_FLOOR] = "no hwcaps floor",
    [COLUMN_CROSS] = "cross",
    [COLUMN_EASY] = "easy to maintain",
};

static const char *yes(bool is)
{
    return is ? "yes" : "no";
}

static enum verdict verdict_of(const struct verdicts *v, const char *criterion)
{
    size_t i;

    for (i = 0; i < N_CRITERIA; i++)
        if (!strcmp(v->judgement[i].criterion, criterion))
            return v->judgement[i].verdict;
    return VERDICT_NOT_APPLICABLE;
}

/* Failed under no policy: what is only not required is a failure here, too, told as a warning. */
static bool holds(const struct verdicts *v, const char *criterion)
{
    const enum verdict verdict = verdict_of(v, criterion);

    return verdict == VERDICT_PASS || verdict == VERDICT_NOT_APPLICABLE;
}

static void answer(const struct subject *s, struct comparison_row *row, enum method method,
                   const struct edits *edits, const struct verdicts *v)
{
    const struct traits *traits = traits_of(method);
    const struct edits_cost cost = edits_cost(s, edits);

    row->known = true;
    row->breaks = v->fails;
    row->after = v->after[s->policy_level];
    row->dlopen = v->declared_after;
    row->bytes = cost.bytes;
    row->inodes = cost.inodes;
    row->answer[COLUMN_NO_GLIBC_FORK] = yes(!traits->glibc_fork);
    row->answer[COLUMN_NO_PATCHELF_CHANGE] = yes(!traits->patchelf_change);
    row->answer[COLUMN_SMALL] = yes(cost.bytes <= SMALL_BYTES);
    row->answer[COLUMN_OVERRIDES] = yes(holds(v, "ld-library-path") && holds(v, "glvnd-switch"));
    row->answer[COLUMN_DUPLICATES] = yes(holds(v, "duplicate-soname"));
    row->answer[COLUMN_NO_FLOOR] = yes(holds(v, "hwcaps-floor"));
    row->answer[COLUMN_CROSS] = yes(holds(v, "cross"));
    row->answer[COLUMN_EASY] = yes(traits->easy);
}

static struct comparison_row *add_row(struct comparison *c, const char *name)
{
    struct comparison_row *row = &c->row[c->n_rows++];
    size_t i;

    *row = (struct comparison_row){.name = name, .says = ""};
    for (i = 0; i < N_COLUMNS; i++)
        row->answer[i] = "?";
    return row;
}

/* ---- the planner's methods */

static void add_method(struct comparison *c, const struct subject *s, const struct candidate *o)
{
    const bool none = o->method == METHOD_NONE;
    struct comparison_row *row =
        add_row(c, none ? "as built"
                        : arena_printf(s->arena, "%s %s", o->strategy->name,
                                       scope_name(o->strategy->scope)));

    row->says = o->reason;
    if (o->judged)
        answer(s, row, o->method, &o->edits, &o->verdicts);
    if (!none)
        return;
    row->known = true;
    row->after = s->trace->storm;
    row->says = o->standing == STANDING_CHOSEN ? o->reason : "";
    for (size_t i = 0; i < N_COLUMNS; i++)
        row->answer[i] = yes(i != COLUMN_NO_FLOOR);
}

/* ---- shrink */

/* Is a directory of the run path where one of the program's own names was found? */
static bool answers(const struct subject *s, const char *directory)
{
    struct wanted *wanted;
    size_t n = wanted_list(s, SCOPE_OWN, &wanted), i;

    for (i = 0; i < n; i++)
        if (wanted[i].opened &&
            !strcmp(opened_directory(s->arena, s->trace, wanted[i].opened), directory))
            return true;
    return false;
}

/* What patchelf --shrink-rpath keeps: what answers, and what it cannot look into. */
static const char *shrunk(const struct subject *s)
{
    struct str out = {.arena = s->arena};
    const char **component;
    size_t n = run_path_split(s->arena, old_run_path(s), &component), i;

    str_add(&out, "");
    for (i = 0; i < n; i++)
        if (*component[i] != '/' || answers(s, component[i]))
            str_printf(&out, "%s%s", out.len ? ":" : "", component[i]);
    return out.text;
}

static int add_shrink(struct comparison *c, const struct subject *s, const struct trial *trial,
                      struct err *err)
{
    struct comparison_row *row = add_row(c, "shrink");
    const char *run_path = shrunk(s);
    struct edits edits = {0};
    struct verdicts v;
    size_t i;
    int r;

    if (s->trace->exit != EXIT_OK || !*old_run_path(s) || !*run_path) {
        row->says = "it does not start, or has no run path to shrink";
        return 0;
    }
    edit_run_path(&edits, s->arena, s->path, run_path);
    if ((r = criteria_judge(trial, METHOD_NONE, &edits, &v, err)) < 0)
        return r;
    answer(s, row, METHOD_NONE, &edits, &v);
    row->says = "directories that answer none of its own names go: the baseline";
    for (i = 0; i < N_CRITERIA; i++)
        if (v.judgement[i].verdict == VERDICT_FAIL)
            row->says =
                arena_printf(s->arena, "%s: %s", v.judgement[i].criterion, v.judgement[i].reason);
    return 0;
}

/* ---- cache */

/* What a cache in the package breaks for this program, and for everybody. */
static const char *cache_breaks(const struct subject *s, const struct cache_trial *t)
{
    struct str out = {.arena = s->arena};

    str_printf(&out,
               "%zu names in '%s', simulated under a loader that asks it before run paths; "
               "breaks: profiles (every package has the same etc/ld.so.cache)",
               t->n_names, str_escape(s->arena, t->path));
    if (t->n_clashes)
        str_printf(&out, ", two builds of one soname (%s%s)", str_escape(s->arena, t->clash),
                   t->n_clashes > 1 ? " and more" : "");
    else
        str_add(&out, ", one path a soname for the whole process (no name has two here)");
    if (t->dlmopen)
        str_printf(&out, ", dlmopen (%s): further namespaces get the same files",
                   str_escape(s->arena, str_base(t->dlmopen)));
    if (!t->same)
        str_add(&out, ", the start itself: another file or another order");
    if (!t->overrides)
        str_add(&out, ", LD_LIBRARY_PATH");
    return out.text;
}

static int add_cache(struct comparison *c, const struct subject *s, const struct trial *trial,
                     struct err *err)
{
    struct comparison_row *row = add_row(c, "cache");
    struct cache_trial t;
    int r = s->trace->exit == EXIT_OK ? cache_try(trial, &t, err)
                                      : err_set(err, ENOTSUP, "it does not start");

    if (r < 0) {
        row->says = arena_strdup(s->arena, err->text);
        return r == -ENOTSUP ? 0 : r;
    }
    row->known = true;
    row->breaks = !t.same || (s->policy->overrides && !t.overrides);
    row->after = t.after;
    row->dlopen = t.dlopen;
    row->bytes = t.bytes;
    row->inodes = 1;
    row->answer[COLUMN_NO_GLIBC_FORK] = "no";
    row->answer[COLUMN_NO_PATCHELF_CHANGE] = "yes";
    row->answer[COLUMN_SMALL] = yes(t.bytes <= SMALL_BYTES);
    row->answer[COLUMN_OVERRIDES] = yes(t.overrides);
    row->answer[COLUMN_DUPLICATES] = yes(t.n_clashes == 0);
    row->answer[COLUMN_NO_FLOOR] = yes(t.after.failed_stats == 0);
    row->answer[COLUMN_CROSS] = "no"; /* as it is made: by ldconfig, on the target */
    row->answer[COLUMN_EASY] = "no";
    row->says = cache_breaks(s, &t);
    return 0;
}

/* ---- static */

static const char *start_up(const struct subject *s, const struct static_variant *v)
{
    if (v->wall_us <= 0)
        return "its start-up was not measured";
    return arena_printf(s->arena,
                        "from start to end %.2f ms instead of %.2f ms (medians of %u runs, as "
                        "measured by check)",
                        v->wall_us / 1000, v->dynamic_wall_us / 1000, v->runs);
}

static void add_static(struct comparison *c, const struct subject *s,
                       const struct static_variant *variant)
{
    struct comparison_row *row = add_row(c, "static");
    const bool opens = s->object->imports & (IMPORT_DLOPEN | IMPORT_DLMOPEN);

    if (!variant) {
        row->says = "no static build is given";
        return;
    }
    if (!variant->is_static) {
        row->says = arena_printf(s->arena, "'%s' has an interpreter: it is not static",
                                 str_escape(s->arena, variant->path));
        return;
    }
    row->known = true;
    row->after.objects = 1;
    row->bytes = variant->size;
    row->inodes = 1;
    row->answer[COLUMN_NO_GLIBC_FORK] = "yes";
    row->answer[COLUMN_NO_PATCHELF_CHANGE] = "yes";
    row->answer[COLUMN_SMALL] = yes(variant->size <= SMALL_BYTES);
    row->answer[COLUMN_OVERRIDES] = "no";
    row->answer[COLUMN_DUPLICATES] = "no";
    row->answer[COLUMN_NO_FLOOR] = "yes";
    row->answer[COLUMN_CROSS] = "yes";
    row->answer[COLUMN_EASY] = "no";
    row->says = arena_printf(
        s->arena,
        "%" PRIu64 " bytes instead of %" PRIu64 "; %s; lost: LD_LIBRARY_PATH, LD_PRELOAD, %s%sname "
        "service modules, one copy of each library in memory, security fixes without a rebuild",
        variant->size, s->object->size, start_up(s, variant), opens ? "what it dlopens, " : "",
        subject_driver_loader(s) ? "drivers of the machine, " : "");
}

/* ---- farms for all */

/* A farm that several share is counted as often: no more than this is taken. */
static void add_cost(struct comparison_row *row, const struct subject *s, const struct edits *edits)
{
    const struct edits_cost cost = edits_cost(s, edits);

    row->bytes += cost.bytes;
    row->inodes += cost.inodes;
}

/* A farm for one library, where one is possible; what cannot have one stays as built. */
static int lay_farm(const struct subject *s, const char *path, struct rig *rig, struct arena *arena,
                    struct comparison_row *row, size_t *n, struct err *err)
{
    const struct subject_query query = {.world = s->base,
                                        .policy = s->policy,
                                        .program = path,
                                        .cwd = s->cwd,
                                        .cpu = s->level[s->policy_level].cpu.name,
                                        .kind = SUBJECT_LIBRARY};
    struct subject library;
    struct edits edits = {0};
    const char *why_not = NULL;
    struct err ignored; /* no loader lies in its run path, say */
    int r;

    if (subject_init(&library, &query, arena, &ignored) < 0)
        return 0;
    r = gate_shut(&library, METHOD_FARM_OWN, &why_not)
            ? 0
            : strategy_propose(strategy_of(METHOD_FARM_OWN), &library, &edits, &why_not, err);
    if (r == 0 && !why_not && edits.n) {
        add_cost(row, &library, &edits);
        r = edits_apply(&edits, rig->world, arena, err);
        ++*n;
    }
    subject_release(&library);
    return r;
}

static int add_farms(struct comparison *c, const struct subject *s, struct err *err)
{
    struct comparison_row *row = add_row(c, "farms for all");
    const struct candidate *own = &c->decision.option[METHOD_FARM_OWN];
    const struct scenario as_is = {.name = "as it is", .declared = true};
    CLEANUP(arena_release) struct arena scratch = {0};
    CLEANUP(run_close) struct run run = {0};
    struct rig rig;
    size_t i, n = 0;
    int r = rig_open(s, own->judged ? &own->edits : NULL, false, &rig, err);

    if (r < 0)
        return r;
    if (own->judged)
        add_cost(row, s, &own->edits);
    for (i = 1; i < s->trace->n_loaded && r == 0; i++)
        if (s->trace->loaded[i].node && !s->trace->loaded[i].object->ldso)
            r = lay_farm(s, world_path(&scratch, s->trace->loaded[i].node), &rig, &scratch, row, &n,
                         err);
    if (r == 0)
        r = rig_start(&rig, &as_is, s->policy_level, &run, err);
    if (r == 0) {
        row->known = first_load_difference(s->trace, &run.trace) >= s->trace->n_loaded;
        row->after = run.trace.storm;
        row->dlopen = run.trace.dlopen;
        row->says = arena_printf(s->arena, "scope own on the program and on %zu of its libraries%s",
                                 n, row->known ? "" : ": another file or another order");
    }
    rig_close(&rig);
    return r;
}

int compare_methods(const struct subject *s, const struct static_variant *variant,
                    bool farms_for_all, struct comparison *ret, struct err *err)
{
    struct comparison c = {0};
    struct trial trial;
    size_t i;
    int r = decide(s, &c.decision, err);

    if (r < 0 || (r = trial_init(&trial, s, err)) < 0)
        return r;
    for (i = 0; i < N_METHODS; i++)
        add_method(&c, s, &c.decision.option[i]);
    c.row[0].dlopen = trial.baseline[BASELINE_DECLARED].run.trace.dlopen;
    r = add_shrink(&c, s, &trial, err);
    if (r == 0)
        r = add_cache(&c, s, &trial, err);
    trial_release(&trial);
    if (r < 0)
        return r;
    add_static(&c, s, variant);
    if (farms_for_all && (r = add_farms(&c, s, err)) < 0)
        return r;
    *ret = c;
    return 0;
}

bool compare_is_chosen(const struct comparison *c, size_t row)
{
    return row < N_METHODS && c->decision.option[row].standing == STANDING_CHOSEN;
}

json_t *compare_json(const struct comparison *c, const char *program)
{
    json_t *out = json_object(), *rows = json_array();
    size_t i, k;

    json_put_text(out, "program", program);
    for (i = 0; i < c->n_rows; i++) {
        const struct comparison_row *r = &c->row[i];
        json_t *row = json_object(), *answers = json_object();

        json_put_text(row, "method", r->name);
        json_put(row, "chosen", json_boolean(compare_is_chosen(c, i)));
        json_put(row, "storm", r->known ? storm_json(&r->after) : json_null());
        json_put(row, "dlopen", r->known ? storm_json(&r->dlopen) : json_null());
        json_put_int(row, "bytes", (json_int_t)r->bytes);
        json_put_int(row, "inodes", (json_int_t)r->inodes);
        for (k = 0; k < N_COLUMNS; k++)
            json_put_text(answers, compare_columns[k], r->answer[k]);
        json_put(row, "answers", answers);
        json_put_text(row, "says", r->says);
        json_push(rows, row);
    }
    json_put(out, "methods", rows);
    return out;
}
