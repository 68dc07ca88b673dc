/*
 * stormlint storm [PROGRAM...]: what starts cost, worst first.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/str.h"
#include "cli/follow.h"
#include "cli/places.h"
#include "cli/storm_text.h"
#include "cli/whose.h"
#include "scanner/index.h"
#include "scanner/origin.h"

#include <errno.h>
#include <string.h>

struct storm_options {
    struct options common;
    struct maintainer whose;
    bool has_top;
    size_t top;      /* rows to show; 0: all */
    double probe_us; /* of a failed call; -1: calls are not turned into time */
};

enum { TOP_DEFAULT = 20 };

static const struct flag rows[] = {
    {"top", "N", "Show the N worst of all programs in the index; 0: all of them",
     INTO(struct storm_options, top), .given = offsetof(struct storm_options, has_top)},
    {ROWS(struct storm_options, whose, whose_rows)},
    {ROWS(struct storm_options, probe_us, probe_cost_rows)},
    {ROWS(struct storm_options, common, options_rows)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct storm_options *o = into;

    return o->whose.name && o->common.n_args
               ? err_set(err, EINVAL,
                         "--maintainer ranks programs of the index; it takes no "
                         "PROGRAM")
               : 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "[PROGRAM...]",
    .doc = "Count the calls that the dynamic loader makes when programs start, and rank the "
           "programs by those that fail.\v"
           "A PROGRAM with a slash is read as it is now; a bare name is looked up in the index. "
           "Without PROGRAM, all programs of the index are ranked and the 20 worst are shown. "
           "Exit code: 0; 1, a named program does not start; 3, something could not be read, or "
           "nobody of --maintainer's NAME is known.",
};

static size_t rows_shown(const struct storm_options *o)
{
    const bool all = o->has_top ? !o->top : o->common.n_args > 0;

    return all ? SIZE_MAX : o->top;
}

/* What the command gathers. */
struct gathering {
    const struct storm_options *options;
    struct maintainer *whose;
    struct progress_line line;
    const char *cpu;
    struct arena *arena; /* of the rows */
    struct storm_row *row;
    size_t n_rows;
    size_t n_unread;
};

static void skip(struct gathering *g, const char *program, const struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};

    progress_line_end(&g->line);
    if (strstr(err->text, program))
        log_warn("%s, skipping", err->text);
    else
        log_warn("%s, skipping '%s'", err->text, str_escape(&scratch, program));
    g->n_unread++;
}

/* The row of a trace, its texts kept. */
static struct storm_row keep_row(struct gathering *g, const char *program,
                                 const struct trace *trace)
{
    struct storm_row row = storm_row(trace);

    row.program = arena_strdup(g->arena, program);
    row.exit_text = row.exit_text ? arena_strdup(g->arena, row.exit_text) : NULL;
    if (row.profile_assumed)
        row.profile_assumed = arena_strdup(g->arena, row.profile_assumed);
    return row;
}

/* The way to what was started, in the row that was added last. */
static void add_way(struct gathering *g, const struct followed *followed)
{
    struct storm_row *row = &g->row[g->n_rows - 1];
    const struct way *way = &followed->way;

    if (strcmp(followed->start.program, row->program) != 0)
        row->started = arena_strdup(g->arena, followed->start.program);
    row->set = arena_calloc(g->arena, followed->n_set + 1, sizeof(*row->set));
    for (size_t i = 0; i < followed->n_set; i++)
        row->set[row->n_set++] = arena_strdup(g->arena, followed->set[i]);
    row->not_followed = way->stop ? arena_strdup(g->arena, way->stop) : NULL;
    g->n_unread += way->unfollowed;
}

/* One program that was named: wrappers are followed. */
static void gather(struct gathering *g, struct setting *setting, const char *program)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct followed followed;
    struct trace trace = {0};
    struct err err = {0};

    if (follow(&g->options->common, setting, program, &scratch, &followed, &err) < 0 ||
        loader_run(setting->loader, &followed.start, &scratch, &trace, &err) < 0) {
        skip(g, program, &err);
        return;
    }
    g->row = arena_grow(g->arena, g->row, g->n_rows, sizeof(*g->row));
    g->row[g->n_rows++] = keep_row(g, program, &trace);
    add_way(g, &followed);
}

static int gather_live(struct gathering *g, struct places *places, struct err *err)
{
    const struct options *o = places->options;
    int r = places_live(places, err);

    if (r < 0)
        return r;
    g->cpu = places->live.cpu.name;
    for (size_t i = 0; i < o->n_args; i++) {
        if (options_is_live(o, o->arg[i]))
            gather(g, &places->live, o->arg[i]);
        progress_update(&g->line.progress, "programs", i + 1, o->n_args);
    }
    return 0;
}

/* ---- from the index */

static int gather_names(struct gathering *g, struct places *places, struct err *err)
{
    const struct options *o = places->options;

    for (size_t i = 0; i < o->n_args; i++) {
        struct found found = {0};
        struct err why;
        int r = 0;

        if (!options_is_live(o, o->arg[i]))
            r = places_find(places, o->arg[i], g->arena, &found, &why);
        if (r == -ENOENT) {
            skip(g, o->arg[i], &why);
        } else if (r < 0) {
            *err = why;
            return r;
        }
        for (size_t k = 0; k < found.n; k++)
            gather(g, found.setting, found.path[k]);
    }
    return 0;
}

/* What was set besides the plain start, one thing a line: part of a storm's key. */
static const char *scenario(struct arena *arena, const struct options *o)
{
    struct str text = {.arena = arena};

    str_add(&text, "");
    for (size_t i = 0; i < o->n_env; i++)
        str_printf(&text, "%s\n", o->env[i]);
    if (o->cwd)
        str_printf(&text, "cwd %s\n", o->cwd);
    for (size_t i = 0; i < o->n_dlopens; i++)
        str_printf(&text, "dlopen %s %s\n", o->dlopens[i].name,
                   o->dlopens[i].caller ? o->dlopens[i].caller : "");
    if (o->declared)
        str_add(&text, "dlopen declared\n");
    return text.text;
}

/*
 * Storms are a cache: an index that cannot be written, or is being written, stays without. Before
 * the world is closed it would be us who hold it, where there is no write-ahead log (merge).
 */
static void remember(const struct gathering *g, struct places *places, const struct storm_key *key,
                     const struct indexed_program *program)
{
    CLEANUP(db_closep) struct db *db = NULL;
    struct err ignored;
    int r;

    setting_release(&places->index);
    r = db_open(options_db(&g->options->common, g->arena), DB_TRY, &db, &ignored);

    if (r == 0)
        r = storm_remember(db, key, program, g->row, g->n_rows, &ignored);
    (void)r;
}

/* Every program of the index, its own file: a wrapper is a program too. */
static int compute_all(struct gathering *g, struct places *places,
                       const struct indexed_program *program, size_t n, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    int r = 0;

    g->row = arena_calloc(g->arena, n, sizeof(*g->row));
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct start start = options_start(&g->options->common, program[i].path);
        struct trace trace = {0};
        struct err why = {0};

        if (loader_run(places->index.loader, &start, &scratch, &trace, &why) < 0)
            skip(g, program[i].path, &why);
        else
            g->row[g->n_rows++] = keep_row(g, program[i].path, &trace);
        arena_release(&scratch);
        progress_update(&g->line.progress, "programs", i + 1, n);
        r = setting_trim(&places->index, err);
    }
    return r;
}

/* Of the storms that were known, those of --maintainer. */
static void keep_own_rows(struct gathering *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n_rows; i++)
        if (maintainer_has(g->whose, g->row[i].program))
            g->row[n++] = g->row[i];
    g->n_rows = n;
}

static size_t keep_own_programs(const struct gathering *g, struct indexed_program *program,
                                size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (maintainer_has(g->whose, program[i].path))
            program[kept++] = program[i];
    return kept;
}

/* Of some programs only, storms are not kept. */
static int compute(struct gathering *g, struct places *places, const struct storm_key *key,
                   struct err *err)
{
    struct indexed_program *program;
    size_t n_all, n;
    int r = storm_programs(places->db, g->arena, &program, &n_all, err);

    if (r < 0)
        return r;
    n = keep_own_programs(g, program, n_all);
    r = compute_all(g, places, program, n, err);
    if (r == 0 && g->n_rows == n_all)
        remember(g, places, key, program);
    return r;
}

static int gather_all(struct gathering *g, struct places *places, struct err *err)
{
    struct storm_key key = {.cpu = places->index.cpu.name,
                            .scenario = scenario(g->arena, &g->options->common)};
    int r = index_generation(places->db, &key.generation, err);

    if (r == 0 && g->whose->name)
        r = maintainer_index(places->db, g->whose, err);
    if (r == 0)
        r = storm_recall(places->db, &key, g->arena, &g->row, &g->n_rows, err);
    if (r < 0)
        return r;
    if (!g->n_rows)
        return compute(g, places, &key, err);
    if (g->whose->name)
        keep_own_rows(g);
    return 0;
}

/* Whom to tell about the worst. */
static int find_origins(struct gathering *g, struct db *db, struct err *err)
{
    const size_t top = rows_shown(g->options);
    int r = 0;

    storm_rank(g->row, g->n_rows);
    for (size_t i = 0; i < g->n_rows && i < top && r == 0; i++)
        r = origin_of_path(db, g->row[i].program, g->arena, &g->row[i].origin, err);
    return r;
}

static int gather_indexed(struct gathering *g, struct places *places, struct err *err)
{
    int r = places_index(places, err);

    if (r < 0)
        return r;
    g->cpu = places->index.cpu.name;
    r = places->options->n_args ? gather_names(g, places, err) : gather_all(g, places, err);
    return r < 0 ? r : find_origins(g, places->db, err);
}

static int gather_everything(struct gathering *g, struct places *places, struct err *err)
{
    const struct options *o = places->options;
    bool live = false, indexed = o->n_args == 0;
    int r = 0;

    for (size_t i = 0; i < o->n_args; i++) {
        live |= options_is_live(o, o->arg[i]);
        indexed |= !options_is_live(o, o->arg[i]);
    }
    if (indexed)
        r = gather_indexed(g, places, err);
    return r == 0 && live ? gather_live(g, places, err) : r;
}

/* ---- the answer */

static int print_row(const struct storm_row *row, const char *cpu, struct err *err)
{
    struct json_line line __attribute__((uninitialized));

    json_line_begin(&line, stdout);
    json_line_text(&line, "program", row->program);
    json_line_text(&line, "cpu", cpu);
    storm_json_line(&line, "storm", &row->storm);
    storm_json_line(&line, "dlopen", &row->dlopen);
    json_line_text(&line, "exit", row->exit_text);
    json_line_text(&line, "started", row->started);
    json_line_texts(&line, "set", row->set, row->n_set);
    json_line_text(&line, "not_followed", row->not_followed);
    json_line_bool(&line, "assumed", row->assumed);
    json_line_text(&line, "profile_assumed", row->profile_assumed);
    if (row->origin) {
        json_line_text(&line, "attribute", row->origin->attribute);
        json_line_texts(&line, "maintainers", row->origin->maintainer, row->origin->n_maintainers);
        json_line_text(&line, "position", row->origin->position);
    }
    return json_line_end(&line, err);
}

static int print_json(const struct gathering *g, size_t top, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < g->n_rows && i < top; i++)
        r = print_row(&g->row[i], g->cpu, err);
    return r;
}

static void print_text(const struct gathering *g, size_t top)
{
    const struct options *o = &g->options->common;
    CLEANUP(arena_release) struct arena arena = {0};

    printf("on %s, environment:", g->cpu);
    for (size_t i = 0; i < o->n_env; i++)
        printf(" %s", str_escape(&arena, o->env[i]));
    printf("%s\n\n", o->n_env ? "" : " empty");
    storm_text_table(stdout, g->row, g->n_rows, top);
    if (g->options->probe_us >= 0)
        storm_text_time(stdout, g->row, g->n_rows, g->options->probe_us);
}

/* A ranking of everything tells no findings; named programs that do not start are some. */
static int exit_code(const struct gathering *g)
{
    if (g->n_unread)
        return EXIT_INCOMPLETE;
    for (size_t i = 0; i < g->n_rows && g->options->common.n_args; i++)
        if (g->row[i].exit != EXIT_OK && g->row[i].exit != EXIT_NOT_DYNAMIC)
            return EXIT_FINDINGS;
    return EXIT_FINE;
}

static int report(struct gathering *g, struct err *err)
{
    const size_t top = rows_shown(g->options);

    storm_rank(g->row, g->n_rows);
    if (g->options->common.json) {
        if (print_json(g, top, err) < 0)
            return command_failed(EXIT_FAILED, err);
    } else if (g->n_rows) {
        print_text(g, top);
    }
    return whose_code(g->whose, g->n_rows, exit_code(g));
}

static int storm(void *into, struct arena *arena, struct err *err)
{
    struct storm_options *o = into;
    CLEANUP(places_release) struct places places = {.options = &o->common};
    struct gathering g = {
        .options = o, .whose = &o->whose, .line = progress_line(stderr), .arena = arena};
    int r;

    o->whose.arena = arena;
    r = gather_everything(&g, &places, err);
    progress_line_end(&g.line);
    return r < 0 ? r : report(&g, err);
}

const struct command cmd_storm = {
    .name = "storm",
    .summary = "What starts cost: programs ranked by the loader's failed calls",
    .flags = &flags,
    WORK(storm, struct storm_options, .top = TOP_DEFAULT, .probe_us = -1),
};
