/*
 * stormlint storm [PROGRAM...]: what starts cost, worst first.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/follow.h"
#include "cli/index.h"
#include "cli/storm_text.h"
#include "loader/world_index.h"
#include "planner/cost.h"
#include "scanner/index.h"
#include "scanner/origin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct storm_options {
    struct options common;
    bool has_top;
    size_t top;       /* --top: rows to show */
    const char *cost; /* --probe-cost; NULL: calls are not turned into time */
};

enum { OPT_TOP = 0x200, OPT_COST, TOP_DEFAULT = 20 };

static const struct argp_option rows[] = {
    {"top", OPT_TOP, "N", 0, "Show the N worst of all programs in the index; 0: all of them", 0},
    {"probe-cost", OPT_COST, "local|nfs|US", 0,
     "Tell time, too: what one failed call costs, in microseconds", 0},
    {0},
};

static void set_top(struct storm_options *o, const char *text, const struct argp_state *state)
{
    char *end;

    errno = 0;
    o->top = strtoul(text, &end, 10);
    if (errno || end == text || *end || *text == '-')
        argp_error(state, "--top wants a number, not '%s'", text);
    if (o->top == 0)
        o->top = SIZE_MAX;
    o->has_top = true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct storm_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->common;
        return 0;
    case OPT_TOP:
        set_top(o, arg, state);
        return 0;
    case OPT_COST:
        o->cost = arg;
        if (probe_cost(arg) < 0)
            argp_error(state, "'%s': a probe costs 'local', 'nfs', or microseconds", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&options_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .args_doc = "[PROGRAM...]",
    .doc = "Count the calls that the dynamic loader makes when programs start, and rank the "
           "programs by those that fail.\v"
           "A PROGRAM with a slash is read as it is now; a bare name is looked up in the index. "
           "Without PROGRAM, all programs of the index are ranked and the 20 worst are shown. "
           "Exit code: 0; 1, a named program does not start; 3, something could not be read.",
    .children = children,
};

static size_t rows_shown(const struct storm_options *o)
{
    return o->common.n_args && !o->has_top ? SIZE_MAX : o->top;
}

/* What the command gathers. */
struct gathering {
    struct storm_options *options;
    struct progress_line *line;
    const char *cpu;
    struct arena arena; /* of the rows */
    struct storm_row *row;
    size_t n_rows;
    size_t n_unread;
};

static void skip(struct gathering *g, const char *program, const struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};

    progress_line_end(g->line);
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

    row.program = arena_strdup(&g->arena, program);
    row.exit_text = row.exit_text ? arena_strdup(&g->arena, row.exit_text) : NULL;
    if (row.profile_assumed)
        row.profile_assumed = arena_strdup(&g->arena, row.profile_assumed);
    return row;
}

/* The way to what was started, in the row that was added last. */
static void add_way(struct gathering *g, const struct followed *followed)
{
    struct storm_row *row = &g->row[g->n_rows - 1];
    const struct way *way = &followed->way;

    if (strcmp(followed->start.program, row->program) != 0)
        row->started = arena_strdup(&g->arena, followed->start.program);
    row->set = arena_calloc(&g->arena, followed->n_set + 1, sizeof(*row->set));
    for (size_t i = 0; i < followed->n_set; i++)
        row->set[row->n_set++] = arena_strdup(&g->arena, followed->set[i]);
    row->not_followed = way->stop ? arena_strdup(&g->arena, way->stop) : NULL;
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
    g->row = arena_grow(&g->arena, g->row, g->n_rows, sizeof(*g->row));
    g->row[g->n_rows++] = keep_row(g, program, &trace);
    add_way(g, &followed);
}

static int gather_live(struct gathering *g, struct err *err)
{
    CLEANUP(setting_release) struct setting setting = {0};
    struct options *o = &g->options->common;
    int r = setting_live(o, &setting, err);

    if (r < 0)
        return r;
    g->cpu = arena_strdup(&g->arena, setting.cpu.name);
    for (size_t i = 0; i < o->n_args; i++) {
        if (options_is_live(o, o->arg[i]))
            gather(g, &setting, o->arg[i]);
        progress_update(&g->line->progress, "programs", i + 1, o->n_args);
    }
    return 0;
}

/* ---- from the index */

static int gather_names(struct gathering *g, struct indexed *indexed, struct err *err)
{
    const struct options *o = &g->options->common;

    for (size_t i = 0; i < o->n_args; i++) {
        const char **path;
        size_t n;
        int r;

        if (options_is_live(o, o->arg[i]))
            continue;
        r = indexed_find(indexed, o->arg[i], &g->arena, &path, &n, err);
        if (r == -ENOENT)
            skip(g, o->arg[i], err);
        else if (r < 0)
            return r;
        for (size_t k = 0; r == 0 && k < n; k++)
            gather(g, &indexed->setting, path[k]);
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

/* Storms are a cache: an index that cannot be written, or is being written, stays without. */
static void remember(const struct gathering *g, const struct storm_key *key,
                     const struct indexed_program *program)
{
    CLEANUP(db_closep) struct db *db = NULL;
    struct err err;

    if (db_open(options_db(&g->options->common), DB_WRITE, &db, &err) < 0 ||
        storm_remember(db, key, program, g->row, g->n_rows, &err) < 0)
        log_debug("storms are not kept: %s", err.text);
}

/* Every program of the index, its own file: a wrapper is a program too. */
static void compute_all(struct gathering *g, struct indexed *indexed,
                        const struct indexed_program *program, size_t n)
{
    CLEANUP(arena_release) struct arena scratch = {0};

    g->row = arena_calloc(&g->arena, n, sizeof(*g->row));
    for (size_t i = 0; i < n; i++) {
        const struct start start = options_start(&g->options->common, program[i].path);
        struct trace trace = {0};
        struct err err = {0};

        if (loader_run(indexed->setting.loader, &start, &scratch, &trace, &err) < 0)
            skip(g, program[i].path, &err);
        else
            g->row[g->n_rows++] = keep_row(g, program[i].path, &trace);
        arena_release(&scratch);
        progress_update(&g->line->progress, "programs", i + 1, n);
    }
}

static int gather_all(struct gathering *g, struct indexed *indexed, struct err *err)
{
    struct storm_key key = {.cpu = indexed->setting.cpu.name,
                            .scenario = scenario(&g->arena, &g->options->common)};
    struct indexed_program *program;
    size_t n;
    int r = index_generation(indexed->db, &key.generation, err);

    if (r == 0)
        r = storm_recall(indexed->db, &key, &g->arena, &g->row, &g->n_rows, err);
    if (r < 0 || g->n_rows)
        return r;
    r = storm_programs(indexed->db, &g->arena, &program, &n, err);
    if (r == 0)
        r = world_index_load(indexed->setting.world, err);
    if (r < 0)
        return r;
    compute_all(g, indexed, program, n);
    if (g->n_rows == n)
        remember(g, &key, program);
    return 0;
}

/* Whom to tell about the worst. */
static int find_origins(struct gathering *g, struct db *db, struct err *err)
{
    const size_t top = rows_shown(g->options);
    int r = 0;

    storm_rank(g->row, g->n_rows);
    for (size_t i = 0; i < g->n_rows && i < top && r == 0; i++)
        r = origin_of_path(db, g->row[i].program, &g->arena, &g->row[i].origin, err);
    return r;
}

static int gather_indexed(struct gathering *g, struct err *err)
{
    CLEANUP(indexed_release) struct indexed indexed = {0};
    const struct options *o = &g->options->common;
    int r = indexed_open(&g->options->common, &indexed, err);

    if (r < 0)
        return r;
    g->cpu = arena_strdup(&g->arena, indexed.setting.cpu.name);
    r = o->n_args ? gather_names(g, &indexed, err) : gather_all(g, &indexed, err);
    return r < 0 || !o->json ? r : find_origins(g, indexed.db, err);
}

static int gather_everything(struct gathering *g, struct err *err)
{
    const struct options *o = &g->options->common;
    bool live = false, indexed = o->n_args == 0;
    int r = 0;

    for (size_t i = 0; i < o->n_args; i++) {
        live |= options_is_live(o, o->arg[i]);
        indexed |= !options_is_live(o, o->arg[i]);
    }
    if (indexed)
        r = gather_indexed(g, err);
    if (r == 0 && live)
        r = gather_live(g, err);
    return r;
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
    if (g->options->cost)
        storm_text_time(stdout, g->row, g->n_rows, probe_cost(g->options->cost));
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

static int report(struct gathering *g)
{
    const size_t top = rows_shown(g->options);
    struct err err = {0};

    storm_rank(g->row, g->n_rows);
    if (!g->options->common.json) {
        if (g->n_rows)
            print_text(g, top);
    } else if (print_json(g, top, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_FAILED;
    }
    return exit_code(g);
}

static int run(int argc, char **argv)
{
    struct progress_line line = progress_line(stderr);
    struct storm_options o = {.top = TOP_DEFAULT};
    struct gathering g = {.options = &o, .line = &line};
    struct err err = {0};
    int code, r;

    options_parse(&argp, argc, argv, &o);
    r = gather_everything(&g, &err);
    progress_line_end(&line);
    if (r < 0)
        log_error("%s", err.text);
    code = r < 0 ? setting_failure(r) : report(&g);
    arena_release(&g.arena);
    options_release(&o.common);
    return code;
}

const struct command cmd_storm = {
    .name = "storm",
    .summary = "What starts cost: programs ranked by the loader's failed calls",
    .run = run,
};
