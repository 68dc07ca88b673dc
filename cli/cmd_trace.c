/*
 * stormlint trace PROGRAM: every call that the loader makes, in order, with who asked and why.
 */
#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/follow.h"
#include "cli/places.h"
#include "cli/trace_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct trace_options {
    struct options common;
    bool calls; /* --calls */
};

static const struct flag rows[] = {
    {"calls", NULL, "List every call instead of the tree of who pulled in whom",
     INTO(struct trace_options, calls)},
    {"explicit", NULL,
     "What stands behind -- is a loader and its arguments, as in 'LD.SO --list PROGRAM'",
     INTO(struct trace_options, common.explicit)},
    {ROWS(struct trace_options, common, options_rows)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct trace_options *o = into;

    if (o->common.explicit && o->common.n_args < 2)
        return err_set(err, EINVAL, "--explicit wants a loader and a program");
    if (!o->common.explicit && o->common.n_args != 1)
        return err_set(err, EINVAL, "one program, please");
    return 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "PROGRAM\n--explicit -- LOADER ARGS...",
    .doc = "Predict the calls that the dynamic loader makes when PROGRAM starts, without running "
           "it: who asked for which library, where it was looked for, and what that cost.\v"
           "PROGRAM with a slash is read as it is now; a bare name is looked up in the index. "
           "Exit code: 0, the program starts; 1, a library is missing or unusable; 3, the program "
           "cannot be read.",
};

static void print_text(const struct trace_options *o, const struct trace_view *view)
{
    trace_text_header(view);
    if (view->trace->n_requests && o->calls)
        trace_text_calls(view);
    else if (view->trace->n_requests)
        trace_text_tree(view);
    if (!o->calls)
        trace_text_missing(view);
    trace_text_summary(view);
}

/* The way to the program, when there is one: what was followed, and what that sets. */
static void write_way(struct json_writer *w, const struct followed *followed)
{
    const struct way *way = &followed->way;
    const struct hop *last = &way->hop[way->n - 1];

    json_write_begin(w, "wrappers", '[');
    for (size_t i = 0; i + 1 < way->n; i++) {
        const struct hop *hop = &way->hop[i];

        json_write_begin(w, NULL, '{');
        json_write_text(w, "path", hop->exec);
        json_write_text(w, "shell", strcmp(hop->exec, hop->program) ? hop->program : NULL);
        json_write_text(w, "how", hop->how);
        json_write_end(w);
    }
    json_write_end(w);
    json_write_begin(w, "set", '[');
    for (size_t i = 0; i < followed->n_set; i++)
        json_write_text(w, NULL, followed->set[i]);
    json_write_end(w);
    json_write_text(w, "script", strcmp(last->exec, last->program) ? last->exec : NULL);
    json_write_text(w, "not_followed", way->stop);
}

static int print(const struct trace_options *o, const struct trace_view *view, struct err *err)
{
    struct json_writer w = {.indented = view->term.is_terminal};
    int r;

    if (!o->common.json) {
        print_text(o, view);
        return 0;
    }
    json_write_begin(&w, NULL, '{');
    trace_write(&w, view->trace);
    write_way(&w, view->followed);
    json_write_end(&w);
    r = json_write_print(&w, view->to, err);
    free(w.text);
    return r;
}

static int exit_code(const struct trace *trace)
{
    return trace->exit == EXIT_OK || trace->exit == EXIT_NOT_DYNAMIC ? EXIT_FINE : EXIT_FINDINGS;
}

/* `note`: NULL, or a sentence about what the setting cannot know of this program. */
static int trace_program(const struct trace_options *o, struct setting *setting,
                         const char *program, const char *note, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct trace_view view = {
        .to = stdout,
        .term = term_of(stdout),
        .arena = &arena,
        .root = o->common.root,
        .note = note,
    };
    struct followed followed;
    struct trace trace = {0};

    if (follow(&o->common, setting, program, &arena, &followed, err) < 0)
        return command_failed(EXIT_INCOMPLETE, err);
    followed.start.record = true;
    if (loader_run(setting->loader, &followed.start, &arena, &trace, err) < 0)
        return command_failed(EXIT_INCOMPLETE, err);
    view.trace = &trace;
    view.cwd = setting->cwd;
    view.env = followed.start.env;
    view.n_env = followed.start.n_env;
    view.followed = &followed;
    view.ld_args = followed.start.ld_args;
    view.n_ld_args = followed.start.n_ld_args;
    if (print(o, &view, err) < 0)
        return command_failed(EXIT_FAILED, err);
    if (followed.way.unfollowed) {
        log_warn("'%s': %s", program, followed.way.stop);
        return EXIT_INCOMPLETE;
    }
    return exit_code(&trace);
}

/* A name that several programs have is no answer: which ones is. */
static int ambiguous(const char *name, const char *const *path, size_t n)
{
    CLEANUP(arena_release) struct arena arena = {0};

    log_error("'%s' is the name of %zu programs in the index; name one of them:", name, n);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, "  %s\n", str_escape(&arena, path[i]));
    return EXIT_USAGE;
}

/* An index does not keep scripts, so what the wrapper of a program sets is not known there. */
static const char *wrapper_note(struct arena *arena, const char *path)
{
    const char *name = str_base(path);

    if (name[0] != '.' || !str_ends(name, "-wrapped"))
        return NULL;
    return arena_printf(
        arena,
        "'%s' is started by a wrapper, and what that sets is not in the index; give "
        "the wrapper's path to have it followed",
        name);
}

static int trace(void *into, struct arena *arena, struct err *err)
{
    const struct trace_options *o = into;
    CLEANUP(places_release) struct places places = {.options = &o->common};
    const char *name = o->common.arg[0];
    struct found found;
    const int r = places_find(&places, name, arena, &found, err);

    if (r < 0)
        return r;
    if (found.n > 1)
        return ambiguous(name, found.path, found.n);
    return trace_program(o, found.setting, found.path[0],
                         found.setting == &places.index ? wrapper_note(arena, found.path[0]) : NULL,
                         err);
}

const struct command cmd_trace = {
    .name = "trace",
    .summary = "Every call the loader makes for a program, who asked and why",
    .flags = &flags,
    WORK(trace, struct trace_options),
};
