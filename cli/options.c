#include "cli/options.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_DB = 0x100,
    OPT_ROOT,
    OPT_ENV,
    OPT_CWD,
    OPT_UID,
    OPT_CPU,
    OPT_DLOPEN,
    OPT_EXPLICIT,
    OPT_JSON
};

static const struct argp_option rows[] = {
    {"db", OPT_DB, "FILE", 0, "Use this index, also for arguments with a slash", 0},
    {"root", OPT_ROOT, "DIR", 0, "Take the tree below DIR for /", 0},
    {"env", OPT_ENV, "NAME=VALUE", 0,
     "Set a variable for the program; it sees only those given (repeatable)", 0},
    {"cwd", OPT_CWD, "DIR", 0, "The program's working directory", 0},
    {"uid", OPT_UID, "N", 0, "The user who starts the program (default: you)", 0},
    {"cpu", OPT_CPU, "NAME", 0,
     "x86-64-v1 to x86-64-v4, with :intel behind it on Intel's, another machine's name, or host "
     "(default: host; for an index " CPU_POLICY ")",
     0},
    {"dlopen", OPT_DLOPEN, "NAME[@OBJECT]", 0,
     "The program, or OBJECT in it, dlopens NAME after its start (repeatable); 'declared': what "
     "the loaded objects say they will",
     0},
    {"json", OPT_JSON, NULL, 0, "Print JSON", 0},
    {0},
};

static void add_text(struct options *o, const char ***array, size_t *n, const char *text)
{
    *array = arena_grow(&o->arena, *array, *n, sizeof(**array));
    (*array)[(*n)++] = str_unescape(&o->arena, text);
}

static void add_env(struct options *o, const char *text, const struct argp_state *state)
{
    const char *equals = strchr(text, '=');

    if (!equals || equals == text)
        argp_error(state, "--env wants NAME=VALUE, not '%s'", text);
    add_text(o, &o->env, &o->n_env, text);
}

/* NAME[@OBJECT]: names of libraries hold no '@', so the last one parts. */
void options_dlopen(struct options *o, const char *text, const struct argp_state *state)
{
    char *name = str_unescape(&o->arena, text), *at = strrchr(name, '@');

    if (!strcmp(text, "declared")) {
        o->declared = true;
        return;
    }
    if (at)
        *at++ = '\0';
    if (!*name || (at && !*at))
        argp_error(state, "--dlopen wants NAME or NAME@OBJECT, not '%s'", text);
    o->dlopens = arena_grow(&o->arena, o->dlopens, o->n_dlopens, sizeof(*o->dlopens));
    o->dlopens[o->n_dlopens++] = (struct dlopen_call){.name = name, .caller = at};
}

static void set_uid(struct options *o, const char *text, const struct argp_state *state)
{
    char *end;
    unsigned long uid;

    errno = 0;
    uid = strtoul(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || uid >= UINT32_MAX)
        argp_error(state, "--uid wants a number, not '%s'", text);
    o->uid = (uint32_t)uid;
    o->has_uid = true;
}

static void set_cwd(struct options *o, const char *text, const struct argp_state *state)
{
    if (*text != '/')
        argp_error(state, "--cwd wants an absolute path, not '%s'", text);
    o->cwd = str_unescape(&o->arena, text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case OPT_DB:
        o->db = arg;
        return 0;
    case OPT_ROOT:
        o->root = arg;
        return 0;
    case OPT_ENV:
        add_env(o, arg, state);
        return 0;
    case OPT_CWD:
        set_cwd(o, arg, state);
        return 0;
    case OPT_UID:
        set_uid(o, arg, state);
        return 0;
    case OPT_CPU:
        o->cpu = arg;
        return 0;
    case OPT_DLOPEN:
        options_dlopen(o, arg, state);
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        add_text(o, &o->arg, &o->n_args, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp options_argp = {.options = rows, .parser = parse};

void options_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    static char name[64];
    CLEANUP(arena_release) struct arena arena = {0};
    char **line = arena_calloc(&arena, (size_t)argc + 1, sizeof(*line));

    /* argp names the program after argv[0] */
    (void)snprintf(name, sizeof(name), "stormlint %s", argv[0]);
    memcpy(line, argv, (size_t)argc * sizeof(*line));
    line[0] = name;
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(argp, argc, line, 0, NULL, input) != 0)
        exit(EXIT_USAGE);
}

void options_release(struct options *options)
{
    arena_release(&options->arena);
}

bool options_is_live(const struct options *options, const char *arg)
{
    return !options->db && strchr(arg, '/');
}

const char *options_db(struct options *options)
{
    const char *named = getenv("STORMLINT_DB"), *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");

    if (options->db)
        return options->db;
    if (named && *named)
        return named;
    if (cache && *cache == '/')
        return arena_printf(&options->arena, "%s/stormlint/index.db", cache);
    return arena_printf(&options->arena, "%s/.cache/stormlint/index.db", home ? home : "");
}

/* The group a user's processes have: ours, the user database's, else the same number. */
static uint32_t group_of(uint32_t uid)
{
    const struct passwd *user;

    if (uid == getuid())
        return getgid();
    user = getpwuid(uid);
    return user ? user->pw_gid : uid;
}

/* The loader keeps pointers into the setting, so it comes last and into its final place. */
static int setting_make(const struct setting *from, struct setting *ret_setting)
{
    *ret_setting = *from;
    ret_setting->home = ret_setting->cwd;
    ret_setting->loader =
        loader_new(ret_setting->world, &ret_setting->cpu, ret_setting->cwd, false);
    return 0;
}

int setting_live(struct options *options, struct setting *ret_setting, struct err *err)
{
    const char *root = options->root ? options->root : "/";
    const uint32_t uid = options->has_uid ? options->uid : getuid();
    struct setting setting = {.cwd = options->cwd ? options->cwd : "/"};
    char here[4096];
    int r;

    if (!options->cwd && !strcmp(root, "/") && getcwd(here, sizeof(here)))
        setting.cwd = arena_strdup(&options->arena, here);
    r = cpu_find(options->cpu ? options->cpu : CPU_LIVE, &setting.cpu, err);
    if (r < 0)
        return r;
    r = world_live(root, uid, group_of(uid), &setting.world, err);
    if (r < 0)
        return r;
    return setting_make(&setting, ret_setting);
}

int setting_index(struct options *options, struct world *world, struct setting *ret_setting,
                  struct err *err)
{
    struct setting setting = {.world = world, .cwd = options->cwd ? options->cwd : "/"};
    int r = 0;

    if (options->root)
        r = err_set(err, EINVAL, "--root and an index do not go together");
    else if (options->has_uid && options->uid != 0)
        r = err_set(err, EINVAL, "an index does not know who may read what: --uid must be 0");
    else
        r = cpu_find(options->cpu ? options->cpu : CPU_POLICY, &setting.cpu, err);
    if (r < 0) {
        world_close(world);
        return r;
    }
    return setting_make(&setting, ret_setting);
}

void setting_release(struct setting *setting)
{
    loader_free(setting->loader);
    world_close(setting->world);
    arena_release(&setting->arena);
    *setting = (struct setting){0};
}

int setting_failure(int error)
{
    return error == -EINVAL ? EXIT_USAGE : EXIT_INCOMPLETE;
}

const char *options_absolute(struct arena *arena, const char *path)
{
    char here[PATH_MAX];

    if (*path == '/' || !getcwd(here, sizeof(here)))
        return path;
    return str_join(arena, here, path);
}

const char *options_placed(struct options *options, const char *arg)
{
    const char *base = options->cwd ? options->cwd : options->root ? "/" : NULL;

    if (*arg == '/' || !options_is_live(options, arg))
        return arg;
    while (arg[0] == '.' && arg[1] == '/')
        arg += 2 + strspn(arg + 2, "/");
    if (*arg == '\0')
        arg = ".";
    return base ? str_join(&options->arena, base, arg) : options_absolute(&options->arena, arg);
}

void options_place(struct options *options)
{
    for (size_t i = 0; i < options->n_args; i++)
        options->arg[i] = options_placed(options, options->arg[i]);
}

void setting_enter(struct setting *setting, const char *cwd)
{
    cwd = cwd ? str_join(&setting->arena, setting->cwd, cwd) : setting->home;
    if (!strcmp(cwd, setting->cwd))
        return;
    loader_free(setting->loader);
    setting->cwd = cwd;
    setting->loader = loader_new(setting->world, &setting->cpu, cwd, false);
}

struct start options_start(const struct options *options, const char *program)
{
    return (struct start){
        .program = program,
        .env = options->env,
        .n_env = options->n_env,
        .dlopens = options->dlopens,
        .n_dlopens = options->n_dlopens,
        .declared = options->declared,
        .ld_args = options->explicit ? options->arg + 1 : NULL,
        .n_ld_args = options->explicit ? options->n_args - 1 : 0,
    };
}
