/*
 * stormlint check PROGRAM...: is the prediction what the real loader does?
 */
#include "base/str.h"
#include "cli/check_programs.h"
#include "cli/check_tree.h"
#include "cli/options.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { DEFAULT_LIMIT_S = 10 };

struct options_check {
    struct check_options check;
    const char *cpu_name;
    bool json, tree, quiet, has_limit;
    unsigned jobs, rounds, limit_s;
    const char *plan, *output, *before;
    size_t top;
    const char **env;
    size_t n_env;
    const char **program; /* before "--" */
    size_t n_programs;
    char **word;           /* behind "--", NULL-ended; NULL: there was no "--" */
    struct options dlopen; /* its dlopens and declared alone */
};

static int take_before(void *into, const char *text, struct arena *arena, struct err *err UNUSED)
{
    struct options_check *o = into;

    o->before = options_absolute(arena, str_unescape(arena, text));
    return 0;
}

static bool has_equals(const char *text)
{
    return strchr(text, '=') != NULL;
}

static const struct flag rows[] = {
    {"root", "DIR", "Take the tree below DIR for / (needs unshare)",
     PATH(struct options_check, check.root)},
    {"env", "NAME=VALUE", "Set a variable for the program (repeatable)",
     LIST(struct options_check, env, n_env), .is = flag_is_assignment, .wants = "NAME=VALUE"},
    {"cwd", "DIR", "The program's working directory (default: an empty one)",
     PATH(struct options_check, check.cwd), .is = flag_is_absolute, .wants = "an absolute path"},
    {"cpu", "NAME", "Predict for this CPU instead of this machine's",
     INTO(struct options_check, cpu_name)},
    {"limit", "SECONDS", "Kill a program after this time (default: 10; --tree: no limit)",
     INTO(struct options_check, limit_s), .given = offsetof(struct options_check, has_limit),
     .max = 1000000},
    {"plan", "PLAN", "Check the programs of a plan that was applied: they start as it promises",
     INTO(struct options_check, plan)},
    {"output", "NAME=DIR", "With --plan: the package's output is DIR now",
     PATH(struct options_check, output), .is = has_equals, .wants = "NAME=DIR"},
    {"time", "N",
     "Also time the start: medians of N runs, with page faults, memory and the loader's own "
     "statistics",
     INTO(struct options_check, rounds), .max = 100000},
    {"before", "FILE|DIR",
     "With --time: in turns with FILE, the unedited program; with --plan DIR, the package as it "
     "was "
     "(default: where it was when the plan was made, if it is there still)",
     CALL(take_before)},
    {"jobs", "N", "Check this many programs at a time (default: 1)",
     INTO(struct options_check, jobs), .max = CHECK_MAX_JOBS},
    {"no-stop", NULL,
     "Let programs run on instead of killing them before their first own instruction",
     INTO(struct options_check, check.run_on)},
    {"dlopen", "NAME[@OBJECT]",
     "With --no-stop: tell which libraries that are opened later are this one and what it loads "
     "(repeatable); 'declared': what the loaded objects say they will dlopen",
     CALL_ON(struct options_check, dlopen, options_dlopen)},
    {"quiet", NULL, "Do not list the programs that agree", INTO(struct options_check, quiet)},
    {"tree", NULL,
     "Run the command behind -- with everything it starts, and add up what the loaders do",
     INTO(struct options_check, tree)},
    {"top", "N", "With --tree: list the N worst programs (default: 20; 0: all)",
     INTO(struct options_check, top), .max = UINT32_MAX},
    {"json", NULL, "Print JSON", INTO(struct options_check, json)},
    {NULL, "PROGRAM", NULL, LIST(struct options_check, program, n_programs)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct options_check *o = into;

    if (o->tree && (o->n_programs || !o->word || !*o->word))
        return err_set(err, EINVAL, "--tree wants a command behind --, and nothing before");
    if (!o->tree && !o->n_programs && !o->plan)
        return err_set(err, EINVAL, "which program?");
    if (o->plan && (o->tree || o->n_programs || o->check.root))
        return err_set(err, EINVAL,
                       "--plan names the programs itself, and goes with neither --tree nor "
                       "--root");
    if (o->before && (!o->rounds || (!o->plan && o->n_programs != 1)))
        return err_set(err, EINVAL, "--before wants --time, and one program or a plan");
    if (o->rounds && (o->check.root || o->tree))
        return err_set(err, EINVAL, "--time goes with neither --root nor --tree");
    if (o->tree && o->check.root)
        return err_set(err, EINVAL, "--tree and --root do not go together");
    if ((o->dlopen.n_dlopens || o->dlopen.declared) && !o->check.run_on)
        return err_set(err, EINVAL, "--dlopen wants --no-stop: stopped programs dlopen nothing");
    return 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .until = "--",
    .rest = offsetof(struct options_check, word),
    .args = "PROGRAM... [-- ARGS]\n--plan PLAN [-- ARGS]\n--tree -- COMMAND...",
    .doc =
        "Run each PROGRAM under strace and compare what the dynamic loader does, call for call, "
        "with the prediction of 'stormlint trace'. A directory stands for all programs in it.\v"
        "Programs are killed when everything is loaded, before their first own instruction, so "
        "checking them is safe. ARGS are theirs (default: --version). Wrapper scripts and binary "
        "wrappers are followed. Exit code: 0, everything agrees; 1, something differs; 3, a "
        "program could not be measured, or there is nothing to compare in one that was named.",
};

/* What is behind "--" becomes the programs' arguments; there may be none. */
static void take_args(char **word, struct check_options *c, struct arena *arena)
{
    const char **arg = arena_calloc(arena, 1, sizeof(*arg));
    size_t n = 0;

    for (; word[n]; n++) {
        arg = arena_grow(arena, arg, n, sizeof(*arg));
        arg[n] = str_unescape(arena, word[n]);
    }
    c->args = arg;
    c->n_args = n;
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
        .word = o->check.args,
        .n_words = o->check.n_args,
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

static int run_check(void *into, struct arena *arena, struct err *err)
{
    struct options_check *o = into;
    struct check_options *c = &o->check;
    struct cpu cpu;
    int code;

    if (cpu_find(o->cpu_name ? o->cpu_name : CPU_LIVE, &cpu, err) < 0)
        return command_failed(EXIT_USAGE, err);
    c->cpu = &cpu;
    c->env = o->env;
    c->n_env = o->n_env;
    if (o->word)
        take_args(o->word, c, arena);
    c->dlopens = o->dlopen.dlopens;
    c->n_dlopens = o->dlopen.n_dlopens;
    c->declared = o->dlopen.declared;
    c->limit_ms = (o->has_limit ? o->limit_s : o->tree ? 0 : DEFAULT_LIMIT_S) * 1000;
    c->interrupt = catch_signals();
    code = o->tree ? tree(o) : programs(o);
    if (c->interrupt >= 0)
        close(c->interrupt);
    return code;
}

const struct command cmd_check = {
    .name = "check",
    .summary = "Run programs under strace and compare with the prediction, call for call",
    .flags = &flags,
    WORK(run_check, struct options_check, .top = 20),
};
