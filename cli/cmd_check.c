/*
 * stormlint check PROGRAM...: is the prediction what the real loader does?
 */
#include "base/log.h"
#include "base/progress.h"
#include "base/str.h"
#include "cli/check_plan.h"
#include "cli/check_text.h"
#include "cli/check_time.h"
#include "cli/check_tree.h"
#include "cli/command.h"
#include "cli/options.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    OPT_ROOT = 0x100,
    OPT_ENV,
    OPT_CWD,
    OPT_CPU,
    OPT_JSON,
    OPT_TIME,
    OPT_LIMIT,
    OPT_PLAN,
    OPT_OUTPUT,
    OPT_BEFORE,
    OPT_JOBS,
    OPT_TREE,
    OPT_TOP,
    OPT_NO_STOP,
    OPT_DLOPEN,
    OPT_QUIET,
    MAX_JOBS = 64,
    DEFAULT_LIMIT_S = 10,
};

struct options_check {
    struct check_options check;
    const char *cpu_name;
    struct cpu cpu;
    bool json, tree, quiet, has_limit;
    unsigned jobs, rounds;
    const char *plan, *output, *before;
    size_t top;
    const char **env;
    size_t n_env;
    const char **program; /* before "--" */
    size_t n_programs;
    const char **arg; /* behind "--" */
    size_t n_args;
    struct options dlopen; /* its dlopens and declared, and their arena, alone */
    struct arena arena;    /* owns the rest of the above */
};

static const struct argp_option rows[] = {
    {"root", OPT_ROOT, "DIR", 0, "Take the tree below DIR for / (needs unshare)", 0},
    {"env", OPT_ENV, "NAME=VALUE", 0, "Set a variable for the program (repeatable)", 0},
    {"cwd", OPT_CWD, "DIR", 0, "The program's working directory (default: an empty one)", 0},
    {"cpu", OPT_CPU, "NAME", 0, "Predict for this CPU instead of this machine's", 0},
    {"limit", OPT_LIMIT, "SECONDS", 0,
     "Kill a program after this time (default: 10; --tree: no limit)", 0},
    {"plan", OPT_PLAN, "PLAN", 0,
     "Check the programs of a plan that was applied: they start as it promises", 0},
    {"output", OPT_OUTPUT, "NAME=DIR", 0, "With --plan: the package's output is DIR now", 0},
    {"time", OPT_TIME, "N", 0,
     "Also time the start: medians of N runs, with page faults, memory and the loader's own "
     "statistics",
     0},
    {"before", OPT_BEFORE, "FILE", 0, "With --time: in turns with FILE, the unedited program", 0},
    {"jobs", OPT_JOBS, "N", 0, "Check this many programs at a time (default: 1)", 0},
    {"no-stop", OPT_NO_STOP, NULL, 0,
     "Let programs run on instead of killing them before their first own instruction", 0},
    {"dlopen", OPT_DLOPEN, "NAME[@OBJECT]", 0,
     "With --no-stop: tell which libraries that are opened later are this one and what it loads "
     "(repeatable); 'declared': what the loaded objects say they will dlopen",
     0},
    {"quiet", OPT_QUIET, NULL, 0, "Do not list the programs that agree", 0},
    {"tree", OPT_TREE, NULL, 0,
     "Run the command behind -- with everything it starts, and add up what the loaders do", 0},
    {"top", OPT_TOP, "N", 0, "With --tree: list the N worst programs (default: 20; 0: all)", 0},
    {"json", OPT_JSON, NULL, 0, "Print JSON", 0},
    {0},
};

static unsigned number(const char *text, unsigned max, const char *option,
                       const struct argp_state *state)
{
    char *end;
    unsigned long n;

    errno = 0;
    n = strtoul(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || n > max)
        argp_error(state, "%s wants a number up to %u, not '%s'", option, max, text);
    return (unsigned)n;
}

static void add(struct options_check *o, const char ***array, size_t *n, const char *text)
{
    *array = arena_grow(&o->arena, *array, *n, sizeof(**array));
    (*array)[(*n)++] = str_unescape(&o->arena, text);
}

static void finish(struct options_check *o, const struct argp_state *state)
{
    if (o->tree && (o->n_programs || !o->n_args))
        argp_error(state, "--tree wants a command behind --, and nothing before");
    if (!o->tree && !o->n_programs && !o->plan)
        argp_error(state, "which program?");
    if (o->plan && (o->tree || o->n_programs || o->check.root))
        argp_error(state, "--plan names the programs itself, and goes with neither --tree nor "
                          "--root");
    if (o->before && (!o->rounds || o->n_programs != 1))
        argp_error(state, "--before wants --time and one program");
    if (o->rounds && (o->check.root || o->tree))
        argp_error(state, "--time goes with neither --root nor --tree");
    if (o->tree && o->check.root)
        argp_error(state, "--tree and --root do not go together");
    o->check.dlopens = o->dlopen.dlopens;
    o->check.n_dlopens = o->dlopen.n_dlopens;
    o->check.declared = o->dlopen.declared;
    if ((o->check.n_dlopens || o->check.declared) && !o->check.run_on)
        argp_error(state, "--dlopen wants --no-stop: stopped programs dlopen nothing");
    if (!o->has_limit && !o->tree)
        o->check.limit_ms = DEFAULT_LIMIT_S * 1000;
    o->check.env = o->env;
    o->check.n_env = o->n_env;
    o->check.args = o->arg;
    o->check.n_args = o->n_args;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options_check *o = state->input;

    switch (key) {
    case OPT_ROOT:
        o->check.root = str_unescape(&o->arena, arg);
        return 0;
    case OPT_ENV:
        if (!strchr(arg, '=') || *arg == '=')
            argp_error(state, "--env wants NAME=VALUE, not '%s'", arg);
        add(o, &o->env, &o->n_env, arg);
        return 0;
    case OPT_CWD:
        if (*arg != '/')
            argp_error(state, "--cwd wants an absolute path, not '%s'", arg);
        o->check.cwd = str_unescape(&o->arena, arg);
        return 0;
    case OPT_CPU:
        o->cpu_name = arg;
        return 0;
    case OPT_TIME:
        o->rounds = number(arg, 100000, "--time", state);
        return 0;
    case OPT_LIMIT:
        o->check.limit_ms = number(arg, 1000000, "--limit", state) * 1000;
        o->has_limit = true;
        return 0;
    case OPT_PLAN:
        o->plan = arg;
        return 0;
    case OPT_OUTPUT:
        if (!strchr(arg, '='))
            argp_error(state, "--output wants NAME=DIR, not '%s'", arg);
        o->output = str_unescape(&o->arena, arg);
        return 0;
    case OPT_BEFORE:
        o->before = str_unescape(&o->arena, arg);
        return 0;
    case OPT_JOBS:
        o->jobs = number(arg, MAX_JOBS, "--jobs", state);
        return 0;
    case OPT_NO_STOP:
        o->check.run_on = true;
        return 0;
    case OPT_DLOPEN:
        options_dlopen(&o->dlopen, arg, state);
        return 0;
    case OPT_QUIET:
        o->quiet = true;
        return 0;
    case OPT_TREE:
        o->tree = true;
        return 0;
    case OPT_TOP:
        o->top = number(arg, UINT32_MAX, "--top", state);
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        add(o, &o->program, &o->n_programs, arg);
        return 0;
    case ARGP_KEY_END:
        finish(o, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .args_doc = "PROGRAM... [-- ARGS]\n--plan PLAN [-- ARGS]\n--tree -- COMMAND...",
    .doc =
        "Run each PROGRAM under strace and compare what the dynamic loader does, call for call, "
        "with the prediction of 'stormlint trace'. A directory stands for all programs in it.\v"
        "Programs are killed when everything is loaded, before their first own instruction, so "
        "checking them is safe. ARGS are theirs (default: --version). Wrapper scripts and binary "
        "wrappers are followed. Exit code: 0, everything agrees; 1, something differs; 3, a "
        "program could not be measured, or there is nothing to compare in one that was named.",
};

/* ---- checking */

/* One program to check, and what came of it. */
struct task {
    const char *program;
    const struct planned *planned; /* NULL: no plan speaks of it */
    bool named;                    /* on the command line, not found in a directory */
    bool done;
    enum check_result result;
    bool unmeasured;
    char *text;   /* to be printed; NULL: nothing */
    json_t *json; /* NULL unless asked for */
};

/* Threads take tasks in order; the main thread prints them in order. */
struct work {
    const struct options_check *options;
    struct task *task;
    size_t n, next;
    struct err err; /* code 0: none; why nothing more is done */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct term term;
};

static void render(const struct work *work, struct task *task, const struct checked *checked,
                   const struct timed *timed)
{
    const struct options_check *o = work->options;
    const size_t n_timed = o->rounds ? (o->before ? 2 : 1) : 0;
    size_t size;
    FILE *to;

    task->result = checked->result;
    task->unmeasured = checked->unmeasured;
    if (o->json) {
        task->json = check_json(checked);
        if (n_timed)
            json_put(task->json, "time", check_time_json(timed, n_timed, o->rounds));
        return;
    }
    if (o->quiet && checked->result == CHECK_AGREES && !n_timed)
        return;
    to = open_memstream(&task->text, &size);
    if (to) {
        check_text(to, &work->term, checked);
        if (n_timed)
            check_time_text(to, timed, n_timed, o->rounds);
        (void)fclose(to);
    }
}

/* The calls are as predicted; is the prediction what the plan promises? */
static void hold_against_plan(const struct task *task, struct checked *checked, struct arena *arena)
{
    const char *note = NULL, *why;

    if (checked->result != CHECK_AGREES)
        return;
    why = check_plan_holds(task->planned, arena, &note);
    if (why) {
        checked->result = CHECK_DIFFERS;
        checked->has_trace = false; /* there is no first call that differs */
        checked->reason = why;
    } else {
        checked->note = checked->note ? arena_printf(arena, "%s; %s", note, checked->note) : note;
    }
}

static struct task *next_task(struct work *work)
{
    struct task *task = NULL;

    pthread_mutex_lock(&work->lock);
    if (!work->err.code && work->next < work->n)
        task = &work->task[work->next++];
    pthread_mutex_unlock(&work->lock);
    return task;
}

static void finish_task(struct work *work, struct task *task, const struct err *err)
{
    pthread_mutex_lock(&work->lock);
    if (err->code && !work->err.code)
        work->err = *err;
    task->done = true;
    pthread_cond_signal(&work->changed);
    pthread_mutex_unlock(&work->lock);
}

static void *worker(void *data)
{
    struct work *work = data;
    struct checker *checker = NULL;
    struct err none = {0};
    struct task *task;

    while ((task = next_task(work))) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct timed timed[2];
        struct checked checked;
        struct err err = none;
        int r = checker ? 0 : checker_new(&work->options->check, &checker, &err);

        if (r == 0)
            r = check_program(checker, task->program, &arena, &checked, &err);
        if (r == 0 && task->planned)
            hold_against_plan(task, &checked, &arena);
        if (r == 0 && work->options->rounds)
            r = check_time(&(struct time_options){.check = &work->options->check,
                                                  .program = checked.program,
                                                  .before = work->options->before,
                                                  .rounds = work->options->rounds},
                           &arena, timed, &err);
        if (r == 0)
            render(work, task, &checked, timed);
        finish_task(work, task, r < 0 ? &err : &none);
    }
    checker_free(checker);
    return NULL;
}

static bool wait_for(struct work *work, const struct task *task)
{
    bool done;

    pthread_mutex_lock(&work->lock);
    while (!task->done && !work->err.code)
        pthread_cond_wait(&work->changed, &work->lock);
    done = task->done && !work->err.code;
    pthread_mutex_unlock(&work->lock);
    return done;
}

struct counts {
    size_t result[3];  /* by enum check_result */
    size_t incomplete; /* not measured, or named and nothing to compare */
};

static void print_task(const struct work *work, struct task *task, struct progress_line *line,
                       json_t *programs)
{
    if (task->text && *task->text) {
        progress_line_end(line);
        fputs(task->text, stdout);
        fflush(stdout);
    }
    if (work->options->json)
        json_push(programs, task->json);
    free(task->text);
    task->text = NULL;
}

/* Print results as they come, in order. False: the work was given up. */
static bool collect(struct work *work, struct counts *counts, json_t *programs)
{
    struct progress_line line = progress_line(stderr);

    for (size_t i = 0; i < work->n; i++) {
        struct task *task = &work->task[i];

        progress_update(&line.progress, "checking", i, work->n);
        if (!wait_for(work, task)) {
            progress_line_end(&line);
            return false;
        }
        print_task(work, task, &line, programs);
        counts->result[task->result]++;
        counts->incomplete +=
            task->result == CHECK_NOT_COMPARABLE && (task->unmeasured || task->named);
    }
    progress_line_end(&line);
    return true;
}

static bool run_work(struct work *work, struct counts *counts, json_t *programs)
{
    pthread_t thread[MAX_JOBS];
    unsigned n = 0, jobs = work->options->jobs ? work->options->jobs : 1;
    bool complete;

    pthread_mutex_init(&work->lock, NULL);
    pthread_cond_init(&work->changed, NULL);
    while (n < jobs && n < work->n && pthread_create(&thread[n], NULL, worker, work) == 0)
        n++;
    complete = (n || !work->n) && collect(work, counts, programs);
    while (n)
        pthread_join(thread[--n], NULL);
    pthread_cond_destroy(&work->changed);
    pthread_mutex_destroy(&work->lock);
    return complete;
}

static int plan_tasks(struct options_check *o, struct work *work, struct err *err)
{
    struct planned *planned;
    size_t n;
    int r = check_plan_read(o->plan, o->output, &o->arena, &planned, &n, err);

    if (r < 0)
        return r;
    work->task = arena_calloc(&o->arena, n + 1, sizeof(*work->task));
    for (size_t i = 0; i < n; i++)
        work->task[work->n++] =
            (struct task){.program = planned[i].program, .planned = &planned[i], .named = true};
    return 0;
}

/* Programs and the contents of directories, in the order given. */
static int make_tasks(struct options_check *o, struct work *work, struct err *err)
{
    struct checker *checker = NULL;
    int r;

    if (o->plan)
        return plan_tasks(o, work, err);
    r = checker_new(&o->check, &checker, err);
    for (size_t i = 0; i < o->n_programs && r == 0; i++) {
        const char **path = NULL;
        size_t n = 0;
        bool directory = false;

        r = checker_expand(checker, o->program[i], &o->arena, &path, &n, &directory, err);
        for (size_t k = 0; k < n; k++) {
            work->task = arena_grow(&o->arena, work->task, work->n, sizeof(*work->task));
            work->task[work->n++] = (struct task){.program = path[k], .named = !directory};
        }
    }
    checker_free(checker);
    return r;
}

static void print_summary(const struct counts *c, size_t n)
{
    if (n < 2)
        return;
    printf("%zu programs: %zu agree, %zu differ, %zu cannot be compared\n", n,
           c->result[CHECK_AGREES], c->result[CHECK_DIFFERS], c->result[CHECK_NOT_COMPARABLE]);
}

static int print_summary_json(const struct counts *c, json_t *programs, struct err *err)
{
    json_t *object = json_object(), *summary = json_object();
    int r;

    json_put_int(summary, "ok", (int64_t)c->result[CHECK_AGREES]);
    json_put_int(summary, "differs", (int64_t)c->result[CHECK_DIFFERS]);
    json_put_int(summary, "not_comparable", (int64_t)c->result[CHECK_NOT_COMPARABLE]);
    json_put(object, "programs", json_incref(programs));
    json_put(object, "summary", summary);
    r = json_print(object, stdout, term_of(stdout).is_terminal, err);
    json_decref(object);
    return r;
}

static int check_all(struct options_check *o)
{
    struct work work = {.options = o, .term = term_of(stdout)};
    struct counts counts = {0};
    json_t *programs = json_array();
    struct err err = {0};
    int code = EXIT_FAILED;

    if (make_tasks(o, &work, &err) < 0) {
        log_error("%s", err.text);
    } else if (!run_work(&work, &counts, programs)) {
        log_error("%s", work.err.code ? work.err.text : "no thread could be started");
    } else if (o->json && print_summary_json(&counts, programs, &err) < 0) {
        log_error("%s", err.text);
    } else {
        if (!o->json)
            print_summary(&counts, work.n);
        code = counts.result[CHECK_DIFFERS] ? EXIT_FINDINGS
               : counts.incomplete          ? EXIT_INCOMPLETE
                                            : EXIT_FINE;
    }
    json_decref(programs);
    return code;
}

/* ---- the command line */

/* Take what is behind "--" off the command line: argp would mix it with the programs. */
static int split_args(struct options_check *o, int argc, char **argv)
{
    int n = 0;

    while (n < argc && strcmp(argv[n], "--") != 0)
        n++;
    if (n < argc)
        o->arg = arena_grow(&o->arena, NULL, 0, sizeof(*o->arg)); /* "--" alone: no arguments */
    for (int i = n + 1; i < argc; i++)
        add(o, &o->arg, &o->n_args, argv[i]);
    return n;
}

/* Ctrl-C ends what is being run, not us: programs run in other sessions, and must not be left. */
static int catch_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static int tree(const struct options_check *o)
{
    return check_tree(&(struct tree_options){
        .check = &o->check,
        .env = o->env,
        .n_env = o->n_env,
        .word = o->arg,
        .n_words = o->n_args,
        .json = o->json,
        .top = o->top,
    });
}

static int run(int argc, char **argv)
{
    struct options_check o = {.top = 20};
    struct err err = {0};
    int code = EXIT_USAGE;

    options_parse(&argp, split_args(&o, argc, argv), argv, &o);
    o.check.cpu = &o.cpu;
    o.check.interrupt = catch_signals();
    if (cpu_find(o.cpu_name ? o.cpu_name : CPU_LIVE, &o.cpu, &err) < 0)
        log_error("%s", err.text);
    else
        code = o.tree ? tree(&o) : check_all(&o);
    if (o.check.interrupt >= 0)
        close(o.check.interrupt);
    options_release(&o.dlopen);
    arena_release(&o.arena);
    return code;
}

const struct command cmd_check = {
    .name = "check",
    .summary = "Run programs under strace and compare with the prediction, call for call",
    .run = run,
};
