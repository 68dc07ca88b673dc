/*
 * stormlint compare PROGRAM...: all methods side by side, and totals.
 */
#include "base/str.h"
#include "cli/compare_text.h"
#include "cli/compare_times.h"
#include "cli/places.h"
#include "loader/world_index.h"
#include "planner/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct compare_options {
    struct options common;
    const char *policy, *variant, *times;
    double probe_us;
    bool article, all;
};

static const struct flag rows[] = {
    {"policy", "NAME|FILE", "The policy that chooses", INTO(struct compare_options, policy)},
    {ROWS(struct compare_options, probe_us, probe_cost_rows)},
    {"article", NULL,
     "Two synthetic closures with the shapes that the article of June 2026 measured; beside real "
     "programs, or --all of an index",
     INTO(struct compare_options, article)},
    {"all", NULL, "Totals over every program of the index", INTO(struct compare_options, all)},
    {"static", "FILE", "A static build of PROGRAM to be held against it",
     INTO(struct compare_options, variant)},
    {"times", "JSON",
     "How long both take, as 'stormlint check --time N --json --before PROGRAM FILE' measured",
     INTO(struct compare_options, times)},
    {ROWS(struct compare_options, common, options_rows)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct compare_options *o = into;

    if (!o->common.n_args && !o->article && !o->all)
        return err_set(err, EINVAL, "which program?");
    if (o->times && !o->variant)
        return err_set(err, EINVAL, "--times is about the static build: --static FILE");
    if (o->common.n_args && o->all)
        return err_set(err, EINVAL, "--all takes no programs");
    return 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "PROGRAM...\n--all\n--article",
    .doc = "Put all methods side by side: what a start costs with each, what each takes on disk, "
           "what became of it, and beside them shrinking the run path, a cache in the package and "
           "a static build. Nothing is run. Of several programs totals are told, too: what breaks "
           "something counts "
           "as built.",
};

/* What all programs share. */
struct comparing {
    const struct compare_options *options;
    const struct policy *policy;
    struct compare_view view;
    struct storm total[MAX_COMPARISON_ROWS];
    const char *name[MAX_COMPARISON_ROWS];
    struct storm chosen;
    size_t n, n_rows;
    struct arena *arena;
    bool quiet, printed;
    int code; /* of the first program that could not be compared; EXIT_FINE */
};

/* Add to the totals; a method that is not possible leaves the program as built. */
static void add_totals(struct comparing *c, const struct comparison *one)
{
    const struct storm *built = &one->row[0].after;
    size_t i;

    for (i = 0; i < one->n_rows; i++) {
        const struct comparison_row *row = &one->row[i];

        c->name[i] = row->name ? arena_strdup(c->arena, row->name) : "";
        storm_add(&c->total[i], row->known && !row->breaks ? &row->after : built);
        if (i < N_METHODS && one->decision.option[i].standing == STANDING_CHOSEN)
            storm_add(&c->chosen, &row->after);
    }
    c->n_rows = one->n_rows;
    c->n++;
}

static void print_totals(const struct comparing *c)
{
    size_t i;

    fprintf(c->view.to, "%zu programs; what breaks something counts as built\n    %-16s %23s\n",
            c->n, "", "failed opens + stats");
    for (i = 0; i < c->n_rows; i++)
        fprintf(c->view.to, "    %-16s %10" PRIu32 " + %-10" PRIu32 "\n", c->name[i],
                c->total[i].failed_opens, c->total[i].failed_stats);
    fprintf(c->view.to, "  > %-16s %10" PRIu32 " + %-10" PRIu32 "\n", "as planned",
            c->chosen.failed_opens, c->chosen.failed_stats);
}

static int print_one(struct comparing *c, const struct comparison *one, const char *program,
                     struct err *err)
{
    json_t *json;
    int r;

    if (c->quiet)
        return 0;
    if (!c->options->common.json) {
        if (c->n || c->printed)
            fputc('\n', c->view.to);
        c->printed = true;
        compare_text(&c->view, one, program);
        return 0;
    }
    json = compare_json(one, program);
    r = json_print(json, c->view.to, false, err);
    json_decref(json);
    return r;
}

static const char *absolute(const struct subject_query *query, struct arena *arena,
                            const char *path)
{
    return *path == '/' ? path : str_join(arena, query->cwd ? query->cwd : "/", path);
}

static int find_times(const struct compare_options *o, const struct subject_query *query,
                      const char *program, struct static_variant *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct world *world = query->world;
    struct check_times times;
    int r = check_times_read(o->times, &scratch, &times, err);

    if (r < 0)
        return r;
    ret->wall_us = check_times_of(&times, world, ret->path);
    ret->dynamic_wall_us = check_times_of(&times, world, absolute(query, &scratch, program));
    ret->runs = times.runs;
    if (ret->wall_us < 0 || ret->dynamic_wall_us < 0)
        return err_set(err, EINVAL,
                       "'%s' has no time of '%s'; measure both in turns: stormlint check --time 9 "
                       "--json --before %s %s",
                       o->times, ret->wall_us < 0 ? o->variant : program, program, o->variant);
    return 0;
}

static int find_variant(const struct compare_options *o, const struct subject_query *query,
                        const char *program, struct arena *arena, struct static_variant *ret,
                        struct err *err)
{
    const char *path = absolute(query, arena, o->variant);
    struct place at = world_walk(query->world, NULL, path);
    const struct object *object = at.error ? NULL : world_object(query->world, at.node);

    if (!object)
        return err_set(err, at.error ? at.error : ENOEXEC, "'%s': %s", o->variant,
                       at.error ? strerror(at.error) : "not an ELF file");
    *ret =
        (struct static_variant){.path = path, .size = object->size, .is_static = !object->interp};
    return o->times ? find_times(o, query, program, ret, err) : 0;
}

static int compare_one(struct comparing *c, struct subject_query *query, const char *path,
                       struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct static_variant variant;
    struct comparison one;
    struct subject subject;
    int r = subject_follow(&subject, query, path, &arena, err);

    if (r < 0)
        return r;
    if (c->options->variant)
        r = find_variant(c->options, query, query->program, &arena, &variant, err);
    if (r == 0)
        r = compare_methods(&subject, c->options->variant ? &variant : NULL, !c->quiet, &one, err);
    c->view.arena = &arena;
    if (r == 0 && (r = print_one(c, &one, path, err)) == 0)
        add_totals(c, &one);
    c->view.arena = NULL;
    subject_release(&subject);
    return r;
}

/* One that cannot be compared leaves the others their answers. */
static void compare_next(struct comparing *c, struct subject_query *query, const char *path)
{
    struct err err;
    int r = compare_one(c, query, path, &err), code;

    if (r == 0)
        return;
    code = command_failed(command_code(r), &err);
    if (c->code == EXIT_FINE)
        c->code = code;
}

/* ---- the article */

static int compare_article(struct comparing *c, struct err *err)
{
    const struct article *a;
    int r = 0;

    for (a = articles(); a->name && r == 0; a++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct subject_query query = {.policy = c->policy, .cpu = c->options->common.cpu};
        const char *program;

        if ((r = article_world(a, &arena, &query.world, &program, err)) < 0)
            return r;
        r = compare_one(c, &query, program, err);
        if (r == 0 && !c->options->common.json)
            fprintf(c->view.to,
                    "    the article, of a program of this shape (%zu libraries, %zu directories): "
                    "%u failed opens as built, %u with a farm for the program%s\n",
                    a->n_libraries, a->n_directories, a->built, a->leaf_farm,
                    a->whole_farm ? arena_printf(&arena, ", %u with farms for all", a->whole_farm)
                                  : "");
        article_close(query.world);
    }
    return r;
}

/* ---- programs */

struct paths {
    struct arena *arena;
    const char **path;
    size_t n;
};

static void add_path(void *data, const char *path)
{
    struct paths *paths = data;

    paths->path = arena_grow(paths->arena, paths->path, paths->n, sizeof(*paths->path));
    paths->path[paths->n++] = arena_strdup(paths->arena, path);
}

/* Every program of the index. */
static int compare_index(struct comparing *c, struct places *places, struct err *err)
{
    struct paths all = {.arena = c->arena};
    int r = places_index(places, err);

    if (r == 0)
        r = index_programs(places->db, add_path, &all, err);
    for (size_t i = 0; i < all.n && r == 0; i++) {
        struct subject_query query = places_query(places, &places->index, c->policy);

        compare_next(c, &query, all.path[i]);
    }
    return r;
}

/* Those that are named, and are files as they are now, or of the index. */
static int compare_named(struct comparing *c, struct places *places, bool live, struct err *err)
{
    const struct options *o = places->options;
    int r = 0;

    for (size_t i = 0; i < o->n_args && r == 0; i++) {
        struct found found = {0};

        if (options_is_live(o, o->arg[i]) == live)
            r = places_find(places, o->arg[i], c->arena, &found, err);
        for (size_t k = 0; k < found.n && r == 0; k++) {
            struct subject_query query = places_query(places, found.setting, c->policy);

            compare_next(c, &query, found.path[k]);
        }
    }
    return r;
}

static int compare_all(struct comparing *c, struct err *err)
{
    CLEANUP(places_release)
    struct places places = {.options = &c->options->common, .everything = true};
    int r = 0;

    if (c->options->article && (r = compare_article(c, err)) < 0)
        return r;
    if (c->options->article) { /* totals are those of real programs */
        c->n = c->n_rows = 0;
        memset(c->total, 0, sizeof(c->total));
        c->chosen = (struct storm){0};
    }
    c->quiet = c->options->all;
    if (c->options->all)
        return compare_index(c, &places, err);
    r = compare_named(c, &places, false, err);
    return r == 0 ? compare_named(c, &places, true, err) : r;
}

static int compare(void *into, struct arena *arena, struct err *err)
{
    struct compare_options *o = into;
    struct policy policy = *policy_default();
    struct comparing c = {.options = o,
                          .policy = &policy,
                          .view = {.to = stdout, .probe_us = o->probe_us},
                          .arena = arena};
    int r;

    options_place(&o->common, arena);
    if (o->policy && policy_read(o->policy, arena, &policy, err) < 0)
        return command_failed(EXIT_USAGE, err);
    if ((r = compare_all(&c, err)) < 0)
        return r;
    if (c.n > 1 && !o->common.json) {
        if (!c.quiet || o->article)
            putchar('\n');
        print_totals(&c);
    }
    return c.code;
}

const struct command cmd_compare = {
    .name = "compare",
    .summary = "all methods side by side, for programs and in total",
    .flags = &flags,
    WORK(compare, struct compare_options, .probe_us = -1),
};
