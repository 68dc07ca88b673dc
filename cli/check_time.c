#include "cli/check_time.h"

#include "base/str.h"

#include <string.h>

int check_time(const struct time_options *o, struct arena *arena, struct times *ret_times,
               struct err *err)
{
    const struct check_options *check = o->check;
    const char **env = arena_calloc(arena, check->n_env + 4, sizeof(*env));
    struct checker *checker;
    struct times times = {.rounds = o->rounds, .alone = o->before ? NULL : o->alone};
    struct timing timing = {.timed = times.timed, .rounds = o->rounds, .env = env};
    size_t n = 0;
    int r = checker_new(check, &checker, err);

    if (r < 0)
        return r;
    timing.scratch = checker_scratch(checker);
    timing.cwd = check->cwd ? check->cwd : timing.scratch;
    timing.limit_ms = check->limit_ms;
    timing.interrupt = check->interrupt;
    if (check->args) {
        const char **args = arena_calloc(arena, check->n_args + 1, sizeof(*args));

        if (check->n_args)
            memcpy(args, check->args, check->n_args * sizeof(*args));
        timing.args = args;
    }
    env[n++] = arena_printf(arena, "HOME=%s", timing.scratch);
    env[n++] = "PATH=/usr/bin:/bin";
    env[n++] = "LC_ALL=C";
    for (size_t i = 0; i < check->n_env; i++)
        env[n++] = check->env[i];
    times.timed[times.n++] = (struct timed){.program = o->program};
    if (o->before)
        times.timed[times.n++] = (struct timed){.program = o->before};
    timing.n_timed = times.n;
    r = timing_run(&timing, arena, err);
    checker_free(checker);
    if (r == 0)
        *ret_times = times;
    return r;
}

/* ---- the rows, for people and for programs */

static double wall(const struct timed *t)
{
    return t->wall_us;
}
static double user(const struct timed *t)
{
    return t->user_us;
}
static double system_time(const struct timed *t)
{
    return t->system_us;
}
static double loader(const struct timed *t)
{
    return t->loader_us;
}
static double load(const struct timed *t)
{
    return t->load_us;
}
static double relocation(const struct timed *t)
{
    return t->relocation_us;
}
static double minor_faults(const struct timed *t)
{
    return t->minor_faults;
}
static double major_faults(const struct timed *t)
{
    return t->major_faults;
}
static double memory(const struct timed *t)
{
    return t->memory_kib;
}
static double file_size(const struct timed *t)
{
    return (double)t->file_bytes;
}

static const struct row {
    const char *key, *label;
    bool loader; /* only when the loader printed statistics */
    int decimals;
    double unit; /* divided by this for people */
    double (*of)(const struct timed *);
} rows[] = {
    {"wall_us", "wall, ms", false, 2, 1000, wall},
    {"user_us", "user, ms", false, 2, 1000, user},
    {"system_us", "system, ms", false, 2, 1000, system_time},
    {"loader_us", "loader, ms", true, 2, 1000, loader},
    {"load_us", "  loading objects", true, 2, 1000, load},
    {"relocation_us", "  relocation", true, 2, 1000, relocation},
    {"minor_faults", "page faults", false, 0, 1, minor_faults},
    {"major_faults", "  from disk", false, 0, 1, major_faults},
    {"memory_kib", "memory, KiB", false, 0, 1, memory},
    {"file_bytes", "file, bytes", false, 0, 1, file_size},
};

static bool has_row(const struct row *row, const struct timed *timed, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (row->loader && !timed[i].has_loader)
            return false;
    return true;
}

void check_time_text(FILE *to, const struct times *times)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct timed *timed = times->timed;
    const size_t n = times->n;
    const struct row *row;

    if (times->failed) {
        fprintf(to, "    not timed: %s\n", str_sentence(&arena, times->failed));
        return;
    }
    fprintf(to, "    medians of %u runs", times->rounds);
    if (n > 1)
        fprintf(to, ", in turns with the unedited '%s'\n", str_escape(&arena, timed[1].program));
    else
        fprintf(to, "; compared with none: %s\n", str_sentence(&arena, times->alone));
    fprintf(to, "    %-20s %12s", "", n > 1 ? "unedited" : "");
    fputs(n > 1 ? "       edited   change\n" : "\n", to);
    for_each (row, rows) {
        const double now = row->of(&timed[0]), before = n > 1 ? row->of(&timed[1]) : 0;

        if (!has_row(row, timed, n))
            continue;
        fprintf(to, "    %-20s", row->label);
        if (n > 1)
            fprintf(to, " %12.*f", row->decimals, before / row->unit);
        fprintf(to, " %12.*f", row->decimals, now / row->unit);
        if (n > 1 && before > 0)
            fprintf(to, " %+7.1f %%", (now - before) / before * 100);
        fputc('\n', to);
    }
}

static json_t *timed_json(const struct timed *timed)
{
    json_t *out = json_object();
    const struct row *row;

    json_put_text(out, "program", timed->program);
    for_each (row, rows)
        if (has_row(row, timed, 1))
            json_put(out, row->key, json_real(row->of(timed)));
    return out;
}

json_t *check_time_json(const struct times *times)
{
    json_t *out = json_object();

    json_put_int(out, "runs", times->rounds);
    json_put(out, "edited", times->n ? timed_json(&times->timed[0]) : json_null());
    json_put(out, "unedited", times->n > 1 ? timed_json(&times->timed[1]) : json_null());
    if (times->n == 1)
        json_put_text(out, "alone", times->alone);
    if (times->failed)
        json_put_text(out, "failed", times->failed);
    return out;
}
