/*
 * stormlint audit NAME PATH... -o FILE: what there is to know about a closure, as one file.
 */
#include "audit/audit_make.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/linting.h"
#include "cli/meta.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct audit_arguments {
    struct options common;
    const char *output, *policy, *suppressions;
    uint32_t budget;
    bool no_plan, only;
    const char *meta;
    struct arena *arena;
    struct progress_lines lines; /* of --progress-fd */
};

static const struct flag rows[] = {
    {"output", "FILE", "Where the audit is written; '-': to the terminal",
     INTO(struct audit_arguments, output), .letter = 'o'},
    {"policy", "FILE", "What plans must not break (JSON)", INTO(struct audit_arguments, policy)},
    {"no-plan", NULL, "Count and lint only: much faster", INTO(struct audit_arguments, no_plan)},
    {"only", NULL, "The packages alone, without what they refer to",
     INTO(struct audit_arguments, only)},
    {"probe-budget", "N", "Failed opens that a start may make (default: 200)",
     INTO(struct audit_arguments, budget), .min = 1},
    {"suppressions", "FILE", "What is known, and why (default: " SUPPRESSIONS ", when it is there)",
     INTO(struct audit_arguments, suppressions)},
    {ROWS(struct audit_arguments, meta, meta_rows)},
    {ROWS(struct audit_arguments, lines, progress_rows)},
    {ROWS(struct audit_arguments, common, linting_rows)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct audit_arguments *a = into;

    if (a->common.n_args == 0)
        return err_set(err, EINVAL, "what is the audit's name?");
    return a->output ? 0 : err_set(err, EINVAL, "-o FILE is missing");
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "NAME [PATH...]",
    .doc = "Record a closure in one file: its packages, what each program's start costs and what "
           "could be done about it, and every finding of the linter.\v"
           "The closure is everything that the PATHs' packages refer to, by the store's database, "
           "or by the index with --db; without PATH, the whole index. "
           "Exit code: 0; 3, something could not be read.",
};

static int judge(void *data, struct findings *findings, struct err *err)
{
    const struct audit_arguments *a = data;
    struct suppressions suppressions;
    const char **told;
    size_t n;
    const int r = linting_suppress(a->suppressions, findings, &suppressions, a->arena, err);

    if (r < 0)
        return r;
    n = suppressions_told(&suppressions, a->arena, &told);
    for (size_t i = 0; i < n; i++)
        log_warn("%s", str_escape(a->arena, told[i]));
    return 0;
}

static int write_to(const struct audit *audit, const char *path, struct err *err)
{
    FILE *to = fopen(path, "we");
    int r;

    if (!to)
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    r = audit_write(audit, to, err);
    if (fclose(to) != 0 && r == 0)
        r = err_set(err, errno, "'%s': %s", path, strerror(errno));
    return r;
}

/* A device or a pipe: nothing may take its place. */
static bool is_special(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* Beside its place first: a file of that name is a whole audit, always. */
static int write_file(const struct audit *audit, const char *path, struct arena *arena,
                      struct err *err)
{
    const char *beside = arena_printf(arena, "%s.new", path);
    int r;

    if (!strcmp(path, "-"))
        return audit_write(audit, stdout, err);
    if (is_special(path))
        return write_to(audit, path, err);
    r = write_to(audit, beside, err);
    if (r == 0 && rename(beside, path) < 0)
        r = err_set(err, errno, "'%s': %s", path, strerror(errno));
    if (r < 0)
        (void)remove(beside);
    return r;
}

static int make(void *into, struct arena *arena, struct err *err)
{
    CLEANUP(linting_release) struct linting linting = {0};
    CLEANUP(origins_freep) struct origins *origins = NULL;
    CLEANUP(progress_line_end) struct progress_line line = progress_line(stderr);
    struct audit_arguments *a = into;
    const char *name = *a->common.arg++;
    struct policy policy = *policy_default();
    struct audit_options o = {.name = name,
                              .time = linting_now(arena),
                              .path = a->common.arg,
                              .n_paths = --a->common.n_args,
                              .policy = a->no_plan ? NULL : &policy,
                              .judge = judge,
                              .data = a};
    struct audit audit;
    int r = meta_read(a->meta, arena, &origins, err);

    a->arena = arena;
    if (r == 0 && a->policy)
        r = policy_read(a->policy, arena, &policy, err);
    if (r == 0)
        r = linting_open(&a->common, !a->only, &linting, arena, err);
    if (r < 0)
        return r;
    o.origins = origins;
    o.source = linting.closure.live ? "files" : "index";
    o.lint = (struct lint_options){.cpu = &linting.setting->cpu,
                                   .cwd = linting.setting->cwd,
                                   .probe_budget = a->budget,
                                   .progress = a->lines.progress.update ? &a->lines.progress
                                                                        : &line.progress};
    r = audit_make(&linting.closure, &o, arena, &audit, err);
    progress_line_end(&line);
    if (r == 0)
        r = write_file(&audit, a->output, arena, err);
    if (r < 0)
        return r;
    log_info("%zu packages, %zu programs, %zu findings; failed calls at start: %llu",
             audit.n_packages, audit.n_programs, audit.n_findings,
             (unsigned long long)audit_failed(&audit));
    return audit.incomplete ? EXIT_INCOMPLETE : EXIT_FINE;
}

const struct command cmd_audit = {
    .name = "audit",
    .summary = "record a closure in one file",
    .flags = &flags,
    WORK(make, struct audit_arguments),
};
