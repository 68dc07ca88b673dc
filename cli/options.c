#include "cli/options.h"

#include "base/str.h"
#include "loader/world_index.h"
#include "planner/cost.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NAME[@OBJECT]: names of libraries hold no '@', so the last one parts. */
int options_dlopen(void *into, const char *text, struct arena *arena, struct err *err)
{
    struct options *o = into;
    char *name = str_unescape(arena, text), *at = strrchr(name, '@');

    if (!strcmp(text, "declared")) {
        o->declared = true;
        return 0;
    }
    if (at)
        *at++ = '\0';
    if (!*name || (at && !*at))
        return err_set(err, EINVAL, "--dlopen wants NAME or NAME@OBJECT, not '%s'", text);
    o->dlopens = arena_grow(arena, o->dlopens, o->n_dlopens, sizeof(*o->dlopens));
    o->dlopens[o->n_dlopens++] = (struct dlopen_call){.name = name, .caller = at};
    return 0;
}

static int take_uid(void *into, const char *text, struct arena *arena UNUSED, struct err *err)
{
    struct options *o = into;
    uint64_t uid;

    if (!flag_number(text, UINT32_MAX - 1, &uid)) /* the last one is nobody's */
        return err_set(err, EINVAL, "--uid wants a number, not '%s'", text);
    o->uid = (uint32_t)uid;
    o->has_uid = true;
    return 0;
}

const struct flag options_rows[] = {
    {"db", "FILE", "Use this index, also for arguments with a slash", INTO(struct options, db)},
    {"root", "DIR", "Take the tree below DIR for /", INTO(struct options, root)},
    {"env", "NAME=VALUE", "Set a variable for the program; it sees only those given (repeatable)",
     LIST(struct options, env, n_env), .is = flag_is_assignment, .wants = "NAME=VALUE"},
    {"cwd", "DIR", "The program's working directory", PATH(struct options, cwd),
     .is = flag_is_absolute, .wants = "an absolute path"},
    {"uid", "N", "The user who starts the program (default: you)", CALL(take_uid)},
    {"cpu", "NAME",
     "x86-64-v1 to x86-64-v4, with :intel behind it on Intel's, another machine's name, or host "
     "(default: host; for an index and for plans " CPU_POLICY ")",
     INTO(struct options, cpu)},
    {"dlopen", "NAME[@OBJECT]",
     "The program, or OBJECT in it, dlopens NAME after its start (repeatable); 'declared': what "
     "the loaded objects say they will",
     CALL(options_dlopen)},
    {"json", NULL, "Print JSON", INTO(struct options, json)},
    {NULL, "ARG", NULL, LIST(struct options, arg, n_args)},
    {0},
};

const struct flag db_rows[] = {
    {"db", "FILE", "The index; else $STORMLINT_DB, else the cache directory's",
     INTO(struct options, db)},
    {0},
};

const struct flag json_rows[] = {
    {"json", NULL, "Print JSON", INTO(struct options, json)},
    {0},
};

static int take_probe_cost(void *into, const char *text, struct arena *arena UNUSED,
                           struct err *err)
{
    const double us = probe_cost(text);

    if (us < 0)
        return err_set(err, EINVAL, "'%s': a probe costs 'local', 'nfs', or microseconds", text);
    *(double *)into = us;
    return 0;
}

const struct flag probe_cost_rows[] = {
    {"probe-cost", "local|nfs|US", "Tell time, too: what one failed call costs, in microseconds",
     CALL(take_probe_cost)},
    {0},
};

static int take_progress_fd(void *into, const char *text, struct arena *arena UNUSED,
                            struct err *err)
{
    uint64_t fd;

    if (!flag_number(text, 1023, &fd))
        return err_set(err, EINVAL, "'%s' is no file descriptor", text);
    *(struct progress_lines *)into = progress_lines((int)fd);
    return 0;
}

const struct flag progress_rows[] = {
    {"progress-fd", "N", "Tell progress on file descriptor N, a JSON object a line",
     CALL(take_progress_fd)},
    {0},
};

bool options_is_live(const struct options *options, const char *arg)
{
    return !options->db && strchr(arg, '/');
}

const char *options_db(const struct options *options, struct arena *arena)
{
    const char *named = getenv("STORMLINT_DB"), *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");

    if (options->db)
        return options->db;
    if (named && *named)
        return named;
    if (cache && *cache == '/')
        return arena_printf(arena, "%s/stormlint/index.db", cache);
    return arena_printf(arena, "%s/.cache/stormlint/index.db", home ? home : "");
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

int setting_live(const struct options *options, struct setting *ret_setting, struct err *err)
{
    const char *root = options->root ? options->root : "/";
    const uint32_t uid = options->has_uid ? options->uid : getuid();
    struct setting setting = {.cwd = options->cwd ? options->cwd : "/"};
    char here[4096];
    int r;

    r = cpu_find(options->cpu ? options->cpu : CPU_LIVE, &setting.cpu, err);
    if (r < 0)
        return r;
    r = world_live(root, uid, group_of(uid), &setting.world, err);
    if (r < 0)
        return r;
    if (!options->cwd && !strcmp(root, "/") && getcwd(here, sizeof(here)))
        setting.cwd = arena_strdup(&setting.arena, here);
    return setting_make(&setting, ret_setting);
}

int setting_index(const struct options *options, struct world *world, struct setting *ret_setting,
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

int setting_trim(struct setting *setting, struct err *err)
{
    int r;

    if (world_held(setting->world) + loader_held(setting->loader) <= WORLD_INDEX_MUCH)
        return 0;
    loader_free(setting->loader);
    r = world_index_anew(&setting->world, err);
    setting->loader = loader_new(setting->world, &setting->cpu, setting->cwd, false);
    return r;
}

void setting_release(struct setting *setting)
{
    loader_free(setting->loader);
    world_close(setting->world);
    arena_release(&setting->arena);
    *setting = (struct setting){0};
}

const char *options_absolute(struct arena *arena, const char *path)
{
    char here[PATH_MAX];

    if (*path == '/' || !getcwd(here, sizeof(here)))
        return path;
    return str_join(arena, here, path);
}

const char *options_placed(const struct options *options, const char *arg, struct arena *arena)
{
    const char *base = options->cwd ? options->cwd : options->root ? "/" : NULL;

    if (*arg == '/' || !options_is_live(options, arg))
        return arg;
    while (arg[0] == '.' && arg[1] == '/')
        arg += 2 + strspn(arg + 2, "/");
    if (*arg == '\0')
        arg = ".";
    return base ? str_join(arena, base, arg) : options_absolute(arena, arg);
}

void options_place(struct options *options, struct arena *arena)
{
    for (size_t i = 0; i < options->n_args; i++)
        options->arg[i] = options_placed(options, options->arg[i], arena);
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
