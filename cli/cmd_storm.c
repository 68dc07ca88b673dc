/*
 * stormlint storm [PROGRAM...]: what starts cost, worst first.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/follow.h"
#include "cli/storm_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct storm_options {
    struct options common;
    bool has_top;
    size_t top; /* --top: rows to show */
};

enum { OPT_TOP = 0x200, TOP_DEFAULT = 20 };

static const struct argp_option rows[] = {
    {"top", OPT_TOP, "N", 0, "Show the N worst of all programs in the index; 0: all of them", 0},
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

static void gather(struct gathering *g, struct setting *setting, const char *program)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct followed followed;
    struct trace trace = {0};
    struct err err = {0};
    struct storm_row row;

    if (follow(&g->options->common, setting, program, &scratch, &followed, &err) < 0 ||
        loader_run(setting->loader, &followed.start, &scratch, &trace, &err) < 0) {
        progress_line_end(g->line);
        if (strstr(err.text, program))
            log_warn("%s, skipping", err.text);
        else
            log_warn("%s, skipping '%s'", err.text, str_escape(&scratch, program));
        g->n_unread++;
        return;
    }
    row = storm_row(&trace);
    row.program = arena_strdup(&g->arena, program);
    row.exit_text = row.exit_text ? arena_strdup(&g->arena, row.exit_text) : NULL;
    g->row = arena_grow(&g->arena, g->row, g->n_rows, sizeof(*g->row));
    g->row[g->n_rows++] = row;
}

static int gather_live(struct gathering *g, struct err *err)
{
    CLEANUP(setting_release) struct setting setting = {0};
    struct options *o = &g->options->common;
    int r = setting_live(o, &setting, err);

    if (r == 0)
        g->cpu = arena_strdup(&g->arena, setting.cpu.name);
    for (size_t i = 0; r == 0 && i < o->n_args; i++) {
        gather(g, &setting, o->arg[i]);
        progress_update(&g->line->progress, "programs", i + 1, o->n_args);
    }
    return r;
}

static json_t *row_json(const struct storm_row *row, const char *cpu)
{
    json_t *object = json_object();

    json_put_text(object, "program", row->program);
    json_put_text(object, "cpu", cpu);
    json_put(object, "storm", storm_json(&row->storm));
    json_put(object, "dlopen", storm_json(&row->dlopen));
    json_put_text(object, "exit", row->exit_text);
    json_put(object, "assumed", json_boolean(row->assumed));
    return object;
}

static int print_json(const struct gathering *g, size_t top, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < g->n_rows && i < top; i++) {
        json_t *value = row_json(&g->row[i], g->cpu);

        r = json_print(value, stdout, false, err);
        json_decref(value);
    }
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
    const bool all = g->options->common.n_args && !g->options->has_top;
    const size_t top = all ? SIZE_MAX : g->options->top;
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
    int r, code;

    options_parse(&argp, argc, argv, &o);
    r = gather_live(&g, &err);
    progress_line_end(&line);
    if (r < 0)
        log_error("%s", err.text);
    code = r < 0 ? EXIT_USAGE : report(&g);
    arena_release(&g.arena);
    options_release(&o.common);
    return code;
}

const struct command cmd_storm = {
    .name = "storm",
    .summary = "What starts cost: programs ranked by the loader's failed calls",
    .run = run,
};
