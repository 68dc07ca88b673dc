/*
 * stormlint check PROGRAM...: is the prediction what the real loader does?
 */
#include "base/log.h"
#include "base/str.h"
#include "cli/check_programs.h"
#include "cli/check_tree.h"
#include "cli/command.h"
#include "cli/options.h"

#include <errno.h>
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
    {"before", OPT_BEFORE, "FILE|DIR", 0,
     "With --time: in turns with FILE, the unedited program; with --plan DIR, the package as it "
     "was "
     "(default: where it was when the plan was made, if it is there still)",
     0},
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
    if (o->before && (!o->rounds || (!o->plan && o->n_programs != 1)))
        argp_error(state, "--before wants --time, and one program or a plan");
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
        o->before = options_absolute(&o->arena, str_unescape(&o->arena, arg));
        return 0;
    case OPT_JOBS:
        o->jobs = number(arg, CHECK_MAX_JOBS, "--jobs", state);
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

static int programs(const struct options_check *o)
{
    return check_programs(&(struct programs_options){
        .check = &o->check,
        .program = o->program,
        .n_programs = o->n_programs,
        .plan = o->plan,
        .output = o->output,
        .jobs = o->jobs,
        .rounds = o->rounds,
        .before = o->before,
        .json = o->json,
        .quiet = o->quiet,
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
        code = o.tree ? tree(&o) : programs(&o);
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
