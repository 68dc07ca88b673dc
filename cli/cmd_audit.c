/*
 * stormlint audit NAME PATH... -o FILE: what there is to know about a closure, as one file.
 */
#include "audit/audit_make.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/linting.h"
#include "cli/meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct audit_arguments {
    struct options common;
    const char *name, *output, *policy, *suppressions;
    uint32_t budget;
    bool no_plan, only;
    const char *meta;
    struct arena *arena;
    struct progress_lines lines; /* of --progress-fd */
};

enum {
    OPT_POLICY = 0x200,
    OPT_NO_PLAN,
    OPT_ONLY,
    OPT_BUDGET,
    OPT_SUPPRESSIONS,
    OPT_PROGRESS,
    OPT_META
};

static const struct argp_option rows[] = {
    {"output", 'o', "FILE", 0, "Where the audit is written; '-': to the terminal", 0},
    {"policy", OPT_POLICY, "FILE", 0, "What plans must not break (JSON)", 0},
    {"no-plan", OPT_NO_PLAN, NULL, 0, "Count and lint only: much faster", 0},
    {"only", OPT_ONLY, NULL, 0, "The packages alone, without what they refer to", 0},
    {"probe-budget", OPT_BUDGET, "N", 0, "Failed opens that a start may make (default: 200)", 0},
    {"suppressions", OPT_SUPPRESSIONS, "FILE", 0,
     "What is known, and why (default: " SUPPRESSIONS ", when it is there)", 0},
    {"meta", OPT_META, "FILE", 0, META_HELP, 0},
    {"progress-fd", OPT_PROGRESS, "N", 0,
     "Tell progress on file descriptor N, a JSON object a line", 0},
    {0},
};

static uint32_t number(const char *option, const char *text, const struct argp_state *state)
{
    char *end;
    const unsigned long n = strtoul(text, &end, 10);

    if (end == text || *end || *text == '-' || n > UINT32_MAX)
        argp_error(state, "%s wants a number, not '%s'", option, text);
    return (uint32_t)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct audit_arguments *a = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->common;
        break;
    case 'o':
        a->output = arg;
        break;
    case OPT_POLICY:
        a->policy = arg;
        break;
    case OPT_NO_PLAN:
        a->no_plan = true;
        break;
    case OPT_ONLY:
        a->only = true;
        break;
    case OPT_BUDGET:
        a->budget = number("--probe-budget", arg, state);
        if (a->budget == 0)
            argp_error(state, "--probe-budget wants a number above 0");
        break;
    case OPT_PROGRESS:
        a->lines = progress_lines((int)(number("--progress-fd", arg, state) & 1023));
        break;
    case OPT_SUPPRESSIONS:
        a->suppressions = arg;
        break;
    case OPT_META:
        a->meta = arg;
        break;
    case ARGP_KEY_END:
        if (a->common.n_args == 0)
            argp_error(state, "what is the audit's name?");
        if (!a->output)
            argp_error(state, "-o FILE is missing");
        a->name = a->common.arg[0];
        a->common.arg++;
        a->common.n_args--;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_child children[] = {{&linting_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .args_doc = "NAME [PATH...]",
    .doc = "Record a closure in one file: its packages, what each program's start costs and what "
           "could be done about it, and every finding of the linter.\v"
           "The closure is everything that the PATHs' packages refer to, by the store's database, "
           "or by the index with --db; without PATH, the whole index. "
           "Exit code: 0; 3, something could not be read.",
    .children = children,
};

static int judge(void *data, struct findings *findings, struct err *err)
{
    const struct audit_arguments *a = data;
    struct suppressions suppressions;

    return linting_suppress(a->suppressions, findings, &suppressions, a->arena, err);
}

/* Beside its place first: a file of that name is a whole audit, always. */
static int write_file(const struct audit *audit, const char *path, struct arena *arena,
                      struct err *err)
{
    const char *beside = arena_printf(arena, "%s.new", path);
    FILE *to;
    int r;

    if (!strcmp(path, "-"))
        return audit_write(audit, stdout, err);
    to = fopen(beside, "we");
    if (!to)
        return err_set(err, errno, "'%s': %s", beside, strerror(errno));
    r = audit_write(audit, to, err);
    if (fclose(to) != 0 && r == 0)
        r = err_set(err, errno, "'%s': %s", beside, strerror(errno));
    if (r == 0 && rename(beside, path) < 0)
        r = err_set(err, errno, "'%s': %s", path, strerror(errno));
    if (r < 0)
        (void)remove(beside);
    return r;
}

static int make(struct audit_arguments *a, struct progress_line *line, struct err *err)
{
    CLEANUP(linting_release) struct linting linting = {0};
    CLEANUP(origins_freep) struct origins *origins = NULL;
    struct policy policy = *policy_default();
    struct audit_options o = {.name = a->name,
                              .time = linting_now(a->arena),
                              .path = a->common.arg,
                              .n_paths = a->common.n_args,
                              .policy = a->no_plan ? NULL : &policy,
                              .judge = judge,
                              .data = a};
    struct audit audit;
    int r = meta_read(a->meta, a->arena, &origins, err);

    if (r == 0 && a->policy)
        r = policy_read(a->policy, a->arena, &policy, err);
    if (r == 0)
        r = linting_open(&a->common, !a->only, &linting, err);
    if (r < 0)
        return r;
    o.origins = origins;
    o.source = linting.closure.live ? "files" : "index";
    o.lint = (struct lint_options){.cpu = &linting.setting.cpu,
                                   .cwd = linting.setting.cwd,
                                   .probe_budget = a->budget,
                                   .progress = a->lines.progress.update ? &a->lines.progress
                                                                        : &line->progress};
    r = audit_make(&linting.closure, &o, a->arena, &audit, err);
    progress_line_end(line);
    if (r == 0)
        r = write_file(&audit, a->output, a->arena, err);
    if (r < 0)
        return r;
    log_info("%zu packages, %zu programs, %zu findings; failed calls at start: %llu",
             audit.n_packages, audit.n_programs, audit.n_findings,
             (unsigned long long)audit_failed(&audit));
    return audit.incomplete ? EXIT_INCOMPLETE : EXIT_FINE;
}

static int run(int argc, char **argv)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct progress_line line = progress_line(stderr);
    struct audit_arguments a = {.arena = &arena};
    struct err err = {0};
    int r;

    options_parse(&argp, argc, argv, &a);
    r = make(&a, &line, &err);
    progress_line_end(&line);
    if (r < 0) {
        log_error("%s", str_escape(&arena, err.text));
        r = setting_failure(r);
    }
    options_release(&a.common);
    return r;
}

const struct command cmd_audit = {
    .name = "audit",
    .summary = "record a closure in one file",
    .run = run,
};
