#include "loader/follow.h"

#include "base/str.h"
#include "loader/shebang.h"
#include "loader/wrapper.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SCRIPTS_MAX = 5, /* scripts that run scripts: the kernel gives up then */
};

/* Where the way has got to. */
struct walker {
    struct world *world;
    struct arena *arena;
    struct way *way;
    struct hop at;      /* being looked at */
    const char *script; /* NULL, or the script that at.exec is, or was started to run */
    struct node *file;  /* of at.program; NULL: leads nowhere */
    struct err *err;
};

/* What one look gives: the way ends here, goes on with at.exec, or cannot be told. */
enum step { STEP_LAST, STEP_ON, STEP_FAILED };

/* ---- arguments and files */

/* Arguments before and behind those that are known. */
static void arg_add(struct walker *w, const char *const *before, size_t n_before,
                    const char *const *behind, size_t n_behind)
{
    const char **all = arena_calloc(w->arena, n_before + w->at.n_args + n_behind + 1, sizeof(*all));
    size_t n = 0;

    for (size_t i = 0; i < n_before; i++)
        all[n++] = before[i];
    for (size_t i = 0; i < w->at.n_args; i++)
        all[n++] = w->at.arg[i];
    for (size_t i = 0; i < n_behind; i++)
        all[n++] = behind[i];
    w->at.arg = all;
    w->at.n_args = n;
}

static void arg_put(struct walker *w, const char *const *before, size_t n)
{
    arg_add(w, before, n, NULL, 0);
}

/* The first n arguments are used up. */
static void arg_drop(struct walker *w, size_t n)
{
    w->at.arg += n;
    w->at.n_args -= n;
}

static struct node *file_at(const struct walker *w, const char *path, int *ret_error)
{
    const struct place at = world_walk(w->world, NULL, str_join(w->arena, w->at.cwd, path));

    *ret_error = at.error ? at.error : at.node->kind == NODE_FILE ? 0 : EACCES;
    return *ret_error ? NULL : at.node;
}

/* The bytes of a file that may be a wrapper; NULL: it cannot be read, or is too long for one. */
static const char *bytes_at(const struct walker *w, struct node *file, size_t max, size_t *ret_len)
{
    char *bytes;

    if (world_bytes(w->world, file, max, w->arena, &bytes, ret_len) < 0)
        return NULL;
    return bytes;
}

static enum step stop_at(struct walker *w, bool unfollowed, const char *why)
{
    w->way->stop = arena_strdup(w->arena, why);
    w->way->unfollowed = unfollowed;
    return STEP_LAST;
}

/* What may be a wrapper, as the present hop would start it. False: it cannot be read. */
static bool script_at(const struct walker *w, struct node *file, struct script *ret_script)
{
    struct script script = {.env = w->at.env, .n_env = w->at.n_env, .shell = w->at.program};

    script.bytes = file ? bytes_at(w, file, WRAPPER_MAX, &script.len) : NULL;
    *ret_script = script;
    return script.bytes;
}

/* The present hop is finished: what comes next is `exec`. */
static enum step go_on(struct walker *w, const char *how, const char *exec)
{
    struct way *way = w->way;

    if (way->n + 1 == HOPS_MAX) {
        err_set(w->err, ELOOP, "'%s': more than %d programs that become another", way->hop[0].exec,
                HOPS_MAX - 1);
        return STEP_FAILED;
    }
    way->hop[way->n] = w->at;
    way->hop[way->n++].how = how;
    w->at.exec = exec;
    w->at.program = NULL;
    return STEP_ON;
}

/* The same, as a wrapper says. */
static enum step become(struct walker *w, const char *how, const struct wrapper *wrapper)
{
    const enum step step = go_on(w, how, wrapper->program);

    if (step != STEP_ON)
        return step;
    w->at.env = wrapper->env;
    w->at.n_env = wrapper->n_env;
    if (wrapper->cwd)
        w->at.cwd = wrapper->cwd;
    arg_add(w, wrapper->args, wrapper->n_before, wrapper->args + wrapper->n_before,
            wrapper->n_args - wrapper->n_before);
    return STEP_ON;
}

/* ---- interpreters that become something else */

/* The first argument that is no option. */
static size_t operand(const struct walker *w)
{
    size_t i = 0;

    while (i < w->at.n_args && strchr("-+", w->at.arg[i][0]) && w->at.arg[i][0])
        if (!strcmp(w->at.arg[i++], "--"))
            break;
    return i;
}

/* `#!/bin/sh .../bin/sbang`: the shell runs sbang, which runs what the second line says. */
static enum step run_sbang(struct walker *w)
{
    const char **word, *bytes;
    struct err why = {0};
    struct node *file;
    size_t len, n;
    int error;

    if (w->at.n_args == 0 || !(file = file_at(w, w->at.arg[0], &error)) ||
        !(bytes = bytes_at(w, file, 8192, &len)))
        return stop_at(w, true, "sbang has no script to read");
    if (shebang_second(bytes, len, w->arena, &word, &n, &why) < 0)
        return stop_at(w, true, why.text);
    if (go_on(w, "sbang runs what its second line names", word[0]) != STEP_ON)
        return STEP_FAILED;
    arg_put(w, word + 1, n - 1);
    return STEP_ON;
}

static enum step run_shell(struct walker *w)
{
    const size_t at = operand(w);
    struct wrapper wrapper;
    struct err why = {0};
    struct script script;
    const char *path;
    int error;
    bool csh;

    for (size_t i = 0; i < at; i++)
        if (w->at.arg[i][0] == '-' && w->at.arg[i][1] != '-' && strpbrk(w->at.arg[i], "cilos"))
            return stop_at(w, true,
                           "a shell with options that it is not known to start a script by");
    if (at == w->at.n_args)
        return STEP_LAST;
    path = w->at.arg[at];
    arg_drop(w, at + 1);
    if (!strcmp(str_base(path), "sbang"))
        return run_sbang(w);
    if (!script_at(w, file_at(w, path, &error), &script))
        return stop_at(w, true, arena_printf(w->arena, "'%s' cannot be read", path));
    csh = str_ends(str_base(script.shell), "csh");
    if ((csh ? wrapper_csh : wrapper_shell)(&script, w->arena, &wrapper, &why) < 0)
        return stop_at(w, true, why.text);
    w->script = NULL; /* read to its end */
    return become(w, arena_printf(w->arena, "a script for '%s'", w->at.program), &wrapper);
}

static enum step run_guile(struct walker *w)
{
    const size_t at = operand(w);
    struct wrapper wrapper;
    struct err why = {0};
    struct script script;
    int error, r;

    if (at == w->at.n_args || !script_at(w, file_at(w, w->at.arg[at], &error), &script))
        return STEP_LAST;
    r = wrapper_guile(&script, w->arena, &wrapper, &why);
    if (r == -ENOTSUP)
        return stop_at(w, true, why.text);
    if (r < 0)
        return STEP_LAST;
    arg_drop(w, at); /* the script stays: its interpreter reads it again */
    if (become(w, "a Guix script for Guile", &wrapper) != STEP_ON)
        return STEP_FAILED;
    w->script = w->at.arg[wrapper.n_before];
    return STEP_ON;
}

/* ---- env */

static const char *variable(const struct walker *w, const char *name)
{
    const size_t len = strlen(name);

    for (size_t i = w->at.n_env; i-- > 0;)
        if (!strncmp(w->at.env[i], name, len) && w->at.env[i][len] == '=')
            return w->at.env[i] + len + 1;
    return NULL;
}

/* Set NAME=VALUE, or with just NAME take it out. */
static void set_variable(struct walker *w, const char *text)
{
    const size_t len = strcspn(text, "=");
    const char **env = arena_calloc(w->arena, w->at.n_env + 2, sizeof(*env));
    size_t n = 0;

    for (size_t i = 0; i < w->at.n_env; i++)
        if (strncmp(w->at.env[i], text, len) != 0 || w->at.env[i][len] != '=')
            env[n++] = w->at.env[i];
    if (text[len] == '=')
        env[n++] = text;
    w->at.env = env;
    w->at.n_env = n;
}

/* `-S TEXT`: its words take its place. False: quotes and the like, which are not read. */
static bool split_words(struct walker *w, const char *text)
{
    const char **word = NULL;
    size_t n = 0;

    if (strpbrk(text, "\"'\\$#"))
        return false;
    for (text += strspn(text, " \t"); *text; text += strspn(text, " \t")) {
        const size_t len = strcspn(text, " \t");

        word = arena_grow(w->arena, word, n, sizeof(*word));
        word[n++] = arena_strndup(w->arena, text, len);
        text += len;
    }
    arg_put(w, word, n);
    return true;
}

/* env's own options and variables, up to the name. False: one that is not understood. */
static bool env_options(struct walker *w)
{
    while (w->at.n_args) {
        const char *arg = w->at.arg[0], *text;

        if (arg[0] != '-' && !strchr(arg, '='))
            return true;
        arg_drop(w, 1);
        if (arg[0] != '-') {
            set_variable(w, arg);
        } else if (!strcmp(arg, "-i") || !strcmp(arg, "-")) {
            w->at.n_env = 0;
        } else if (str_starts(arg, "-S") || !strcmp(arg, "-u")) {
            text = arg[1] == 'S' && arg[2] ? arg + 2 : w->at.n_args ? w->at.arg[0] : NULL;
            if (!text)
                return false;
            arg_drop(w, text == w->at.arg[0]);
            if (arg[1] == 'u')
                set_variable(w, arena_strndup(w->arena, text, strcspn(text, "=")));
            else if (!split_words(w, text))
                return false;
        } else if (strcmp(arg, "--") != 0) {
            return false;
        }
    }
    return true;
}

/* A name in the directories of PATH, as execvp() looks for it. NULL: nowhere. */
static const char *in_path(const struct walker *w, const char *name)
{
    const char *path = variable(w, "PATH");
    int error;

    if (strchr(name, '/'))
        return name;
    for (path = path ? path : "/bin:/usr/bin"; path; path += *path == ':') {
        const size_t len = strcspn(path, ":");
        const char *full = arena_printf(w->arena, "%.*s%s%s", (int)len, path, len ? "/" : "", name);
        const struct node *file = file_at(w, full, &error);

        if (file && file->mode & (S_IXUSR | S_IXGRP | S_IXOTH))
            return full;
        path += len;
        if (!*path)
            break;
    }
    return NULL;
}

static enum step run_env(struct walker *w)
{
    const struct hop before = w->at;
    struct hop after;
    const char *name, *exec;
    enum step step;

    if (!env_options(w)) {
        w->at = before;
        return stop_at(w, true, "an option of env that is not understood");
    }
    name = w->at.n_args ? w->at.arg[0] : NULL;
    exec = name ? in_path(w, name) : NULL;
    after = w->at;
    w->at = before;
    if (!name)
        return STEP_LAST;
    if (!exec)
        return stop_at(w, true, arena_printf(w->arena, "env finds no '%s' in PATH", name));
    step = go_on(w, arena_printf(w->arena, "env looks for '%s' in PATH", name), exec);
    if (step != STEP_ON)
        return step;
    w->at.env = after.env;
    w->at.n_env = after.n_env;
    w->at.arg = after.arg;
    w->at.n_args = after.n_args;
    arg_drop(w, 1);
    return STEP_ON;
}

/* ---- one hop */

static const struct interpreter {
    const char *name;
    enum step (*run)(struct walker *w);
} interpreters[] = {
    {"sh", run_shell},   {"bash", run_shell}, {"dash", run_shell},  {"csh", run_shell},
    {"tcsh", run_shell}, {"env", run_env},    {"guile", run_guile},
};

/* From at.exec along first lines to the program that is loaded: at.program, w->file. */
static enum step find_program(struct walker *w)
{
    struct shebang first;
    struct err why = {0};
    const char *bytes;
    size_t len;
    int error, r;

    w->at.program = w->at.exec;
    for (int i = 0; i <= SCRIPTS_MAX; i++) {
        const char *word[2];
        size_t n = 0;

        w->file = file_at(w, w->at.program, &error);
        if (!w->file && i > 0) {
            err_set(w->err, error, "'%s': its interpreter '%s': %s", w->at.exec, w->at.program,
                    strerror(error));
            return STEP_FAILED;
        }
        if (!w->file || world_object(w->world, w->file) ||
            !(bytes = bytes_at(w, w->file, SHEBANG_MAX, &len)))
            return STEP_ON;
        r = shebang_read(bytes, len, w->arena, &first, &why);
        if (r == -ENOEXEC)
            return STEP_ON;
        if (r < 0) {
            err_set(w->err, -r, "'%s': %s", w->at.program, why.text);
            return STEP_FAILED;
        }
        if (first.arg)
            word[n++] = first.arg;
        word[n++] = w->at.program;
        arg_put(w, word, n);
        if (!w->script)
            w->script = w->at.exec;
        w->at.program = first.interpreter;
    }
    err_set(w->err, ELOOP, "'%s': more than %d scripts that run one another", w->at.exec,
            SCRIPTS_MAX);
    return STEP_FAILED;
}

/* A program of makeBinaryWrapper. STEP_LAST: it is none. */
static enum step run_binary(struct walker *w)
{
    struct wrapper wrapper;
    struct err why = {0};
    struct script script;
    int r;

    if (w->file->size > WRAPPER_MAX || !script_at(w, w->file, &script))
        return STEP_LAST;
    r = wrapper_binary(&script, w->arena, &wrapper, &why);
    if (r == -ENOTSUP)
        return stop_at(w, true, why.text);
    return r < 0 ? STEP_LAST : become(w, "a binary wrapper", &wrapper);
}

static enum step one_hop(struct walker *w)
{
    const struct interpreter *i;
    enum step step = find_program(w);
    const struct object *object;

    if (step != STEP_ON)
        return step;
    object = w->file ? world_object(w->world, w->file) : NULL;
    if (!object)
        return STEP_LAST;
    step = run_binary(w);
    if (step != STEP_LAST || w->way->stop || w->at.n_args == 0)
        return step;
    for_each (i, interpreters)
        if (!strcmp(i->name, str_base(w->at.program))) {
            step = i->run(w);
            break;
        }
    if (step == STEP_LAST && !w->way->stop && w->script)
        w->way->stop = arena_printf(w->arena, "a script of '%s'", str_base(w->at.program));
    return step;
}

int way_follow(struct world *world, const struct hop *from, struct arena *arena,
               struct way *ret_way, struct err *err)
{
    struct way way = {0};
    struct walker w = {.world = world, .arena = arena, .way = &way, .at = *from, .err = err};
    enum step step;

    do
        step = one_hop(&w);
    while (step == STEP_ON);
    if (step == STEP_FAILED)
        return -err->code;
    way.hop[way.n++] = w.at;
    *ret_way = way;
    return 0;
}
