#include "loader/wrapper.h"

#include "loader/shebang.h"
#include "loader/shell_word.h"

#include <errno.h>
#include <string.h>

/*
 * What makeWrapper writes, in all its generations:
 *
 *	#! /bin/bash -e
 *	export NAME='value'				--set
 *	export NAME=${NAME-'value'}			--set-default
 *	unset NAME					--unset
 *	cd 'dir'					--chdir
 *	export NAME='value'${NAME:+':'}$NAME		--prefix, older
 *	NAME=${NAME:+':'$NAME':'}			--prefix, newer: make room,
 *	NAME=${NAME/':''value'':'/':'}			take it out where it is,
 *	NAME='value'$NAME				put it in front,
 *	if [[ $NAME != *':''value'':'* ]]; then		(--suffix: at the end, if it is not there)
 *	    NAME=$NAME'value'
 *	fi
 *	NAME=${NAME#':'}				tidy up
 *	NAME=${NAME%':'}
 *	export NAME
 *	exec -a "$0" "/path/.prog-wrapped" flags "$@"
 */

/* Where a command's reader puts what it finds. */
struct following {
    struct shell shell;
    struct wrapper *wrapper;
    bool idle;   /* inside an if whose condition does not hold */
    bool in_if;  /* one level is all that makeWrapper nests */
    bool became; /* exec was read: the rest does not matter */
};

static struct shell_words no_words_yet(void)
{
    return (struct shell_words){.args_at = SIZE_MAX};
}

/* All words up to the command's end. */
static bool rest_of_command(struct shell *shell, struct shell_words *words)
{
    while (!shell_at_end(shell))
        if (!shell_word(shell, words))
            return false;
    return true;
}

static void assign(struct following *f, const char *name, const char *value, bool exported)
{
    if (!f->idle)
        shell_set(&f->shell, name, value, exported);
}

/* "=value" or "+=value" behind a name. False: refused, or neither stands here. */
static bool assignment(struct following *f, const char *name, bool exported)
{
    struct shell *shell = &f->shell;
    bool append = shell_take(shell, "+=");
    const char *value;

    if (!append && !shell_take(shell, "="))
        return shell_refuse(shell, "a command that is not understood: '%s'", name);
    value = shell_value(shell);
    if (!value)
        return false;
    if (append) {
        const char *old = shell_get(shell, name) ?: "";

        if (!shell_charge(shell, strlen(old)))
            return false;
        value = arena_printf(shell->arena, "%s%s", old, value);
    }
    assign(f, name, value, exported);
    return true;
}

/* ---- commands */

static bool do_export(struct following *f)
{
    struct shell *shell = &f->shell;

    while (!shell_at_end(shell)) {
        const char *name = shell_name(shell);

        if (!name)
            return shell_refuse(shell, "an export that is not understood");
        if (shell->at < shell->len && strchr("+=", shell->text[shell->at])) {
            if (!assignment(f, name, true))
                return false;
        } else if (shell_get(shell, name)) {
            assign(f, name, shell_get(shell, name), true);
        }
    }
    return true;
}

static bool do_unset(struct following *f)
{
    while (!shell_at_end(&f->shell)) {
        const char *name = shell_name(&f->shell);

        if (!name)
            return shell_refuse(&f->shell, "an unset that is not understood");
        assign(f, name, NULL, false);
    }
    return true;
}

/* set -e, set +u: how errors are treated; nothing that shows. */
static bool do_set(struct following *f)
{
    struct shell_words words = no_words_yet();

    if (!rest_of_command(&f->shell, &words))
        return false;
    for (size_t i = 0; i < words.n; i++) {
        const char *w = words.word[i];

        if ((*w != '-' && *w != '+') || w[1 + strspn(w + 1, "eu")])
            return shell_refuse(&f->shell, "set %s", w);
    }
    return true;
}

static bool do_declare(struct following *f)
{
    const char *name;

    if (shell_at_end(&f->shell) || !shell_take(&f->shell, "-a") || shell_at_end(&f->shell))
        return shell_refuse(&f->shell, "a declaration that is not understood");
    name = shell_name(&f->shell);
    if (!name || !shell_take(&f->shell, "=()"))
        return shell_refuse(&f->shell, "a declaration that is not understood");
    assign(f, name, "", false);
    return true;
}

static bool do_cd(struct following *f)
{
    struct shell_words words = no_words_yet();

    if (!rest_of_command(&f->shell, &words))
        return false;
    if (words.n != 1 || words.word[0][0] != '/')
        return shell_refuse(&f->shell, "a cd that is not to an absolute directory");
    if (!f->idle)
        f->wrapper->cwd = words.word[0];
    return true;
}

static bool do_exec(struct following *f)
{
    struct shell_words words = no_words_yet();
    size_t first = 0;

    if (!rest_of_command(&f->shell, &words))
        return false;
    if (words.n >= 2 && !strcmp(words.word[0], "-a"))
        first = 2;
    if (words.n <= first || words.word[first][0] == '-' || words.args_at <= first)
        return shell_refuse(&f->shell, "an exec that is not understood");
    if (!strchr(words.word[first], '/'))
        return shell_refuse(&f->shell, "exec of '%s', which is searched in PATH",
                            words.word[first]);
    if (f->idle)
        return true;
    f->became = true;
    f->wrapper->program = words.word[first];
    f->wrapper->args = words.word + first + 1;
    f->wrapper->n_args = words.n - first - 1;
    f->wrapper->n_before =
        words.args_at == SIZE_MAX ? f->wrapper->n_args : words.args_at - first - 1;
    return true;
}

/* if [[ $NAME != *'text'* ]]; then */
static bool do_if(struct following *f)
{
    struct shell *shell = &f->shell;
    const char *value, *pattern;
    size_t len;

    if (f->in_if)
        return shell_refuse(shell, "a condition inside a condition");
    if (shell_at_end(shell) || !shell_take(shell, "[[ "))
        return shell_refuse(shell, "a condition that is not understood");
    value = shell_value(shell);
    if (!value || shell_at_end(shell) || !shell_take(shell, "!= *"))
        return shell_refuse(shell, "a condition that is not understood");
    pattern = shell_value(shell);
    len = pattern ? strlen(pattern) : 0;
    if (len == 0 || pattern[len - 1] != '*' || memchr(pattern, '*', len - 1))
        return shell_refuse(shell, "a condition that is not understood");
    if (shell_at_end(shell) || !shell_take(shell, "]]") || !shell_at_end(shell) ||
        !shell_take(shell, ";") || shell_at_end(shell) || !shell_take(shell, "then"))
        return shell_refuse(shell, "a condition that is not understood");
    f->in_if = true;
    f->idle = strstr(value, arena_strndup(shell->arena, pattern, len - 1)) != NULL;
    return true;
}

static bool do_fi(struct following *f)
{
    if (!f->in_if)
        return shell_refuse(&f->shell, "fi without if");
    f->in_if = f->idle = false;
    return true;
}

static const struct shell_command {
    const char *name;
    bool (*run)(struct following *f);
} commands[] = {
    {"export", do_export}, {"unset", do_unset}, {"exec", do_exec}, {"set", do_set},
    {"cd", do_cd},         {"if", do_if},       {"fi", do_fi},     {"declare", do_declare},
};

/* One command, from its first character to its end. */
static bool one_command(struct following *f)
{
    struct shell *shell = &f->shell;
    const struct shell_command *c;
    const char *name = shell_name(shell);
    size_t behind = shell->at;

    if (!name)
        return shell_refuse(shell, "a command that is not understood");
    if (!shell_at_end(shell) && shell->at == behind) {
        if (!assignment(f, name, false))
            return false;
    } else {
        for_each (c, commands)
            if (!strcmp(c->name, name))
                break;
        if (c == commands + ARRAY_LEN(commands))
            return shell_refuse(shell, "a command that is not understood: '%s'", name);
        if (!c->run(f))
            return false;
    }
    if (!shell_at_end(shell))
        return shell_refuse(shell, "something behind '%s'", name);
    return true;
}

static bool follow_script(struct following *f)
{
    struct shell *shell = &f->shell;

    while (shell->at < shell->len && !f->became) {
        const char *line_end;

        if (!shell_at_end(shell)) {
            if (!one_command(f))
                return false;
            continue;
        }
        if (shell->at < shell->len && shell->text[shell->at] == '#') {
            line_end = memchr(shell->text + shell->at, '\n', shell->len - shell->at);
            shell->at = line_end ? (size_t)(line_end - shell->text) : shell->len;
        }
        shell->at++;
    }
    return f->became || shell_refuse(shell, "it does not end by exec");
}

/* ---- makeBinaryWrapper */

static const char description[] = "has been generated using the following command:";
static const char command_name[] = "makeCWrapper ";

static void put_beside(struct following *f, const char *const *arg, bool in_front)
{
    const char *old = shell_get(&f->shell, arg[0]);
    const char *value = arg[2];

    if (old && !shell_charge(&f->shell, strlen(old)))
        return;
    if (old && in_front)
        value = arena_printf(f->shell.arena, "%s%s%s", arg[2], arg[1], old);
    else if (old)
        value = arena_printf(f->shell.arena, "%s%s%s", old, arg[1], arg[2]);
    shell_set(&f->shell, arg[0], value, true);
}

static void option_set(struct following *f, const char *const *arg)
{
    shell_set(&f->shell, arg[0], arg[1], true);
}

static void option_set_default(struct following *f, const char *const *arg)
{
    if (!shell_get(&f->shell, arg[0]))
        shell_set(&f->shell, arg[0], arg[1], true);
}

static void option_unset(struct following *f, const char *const *arg)
{
    shell_set(&f->shell, arg[0], NULL, false);
}

static void option_prefix(struct following *f, const char *const *arg)
{
    put_beside(f, arg, true);
}

static void option_suffix(struct following *f, const char *const *arg)
{
    put_beside(f, arg, false);
}

static void option_chdir(struct following *f, const char *const *arg)
{
    f->wrapper->cwd = arg[0];
}

static void add_arg(struct following *f, const char *arg)
{
    struct wrapper *w = f->wrapper;

    w->args = arena_grow(f->shell.arena, w->args, w->n_args, sizeof(*w->args));
    w->args[w->n_args++] = arg;
}

/* Arguments are shown, not compared: one word each is near enough for --add-flags. */
static void option_add_flag(struct following *f, const char *const *arg)
{
    if (f->wrapper->n_before == f->wrapper->n_args)
        f->wrapper->n_before++;
    add_arg(f, arg[0]);
}

static void option_append_flag(struct following *f, const char *const *arg)
{
    add_arg(f, arg[0]);
}

static const struct binary_option {
    const char *name;
    size_t n_args;
    void (*apply)(struct following *f, const char *const *arg); /* NULL: nothing that counts */
} binary_options[] = {
    {"--set", 2, option_set},
    {"--set-default", 2, option_set_default},
    {"--unset", 1, option_unset},
    {"--prefix", 3, option_prefix},
    {"--suffix", 3, option_suffix},
    {"--chdir", 1, option_chdir},
    {"--add-flags", 1, option_add_flag},
    {"--add-flag", 1, option_add_flag},
    {"--append-flags", 1, option_append_flag},
    {"--append-flag", 1, option_append_flag},
    {"--argv0", 1, NULL},
    {"--inherit-argv0", 0, NULL},
    {"--resolve-argv0", 0, NULL},
};

/* The command line that stands in the file as text: PROGRAM, then options with quoted arguments. */
static bool follow_binary(struct following *f)
{
    struct shell_words words = no_words_yet();

    if (!rest_of_command(&f->shell, &words))
        return false;
    if (words.n == 0 || !strchr(words.word[0], '/'))
        return shell_refuse(&f->shell, "its description names no program");
    f->wrapper->program = words.word[0];
    for (size_t i = 1; i < words.n;) {
        const struct binary_option *o;

        for_each (o, binary_options)
            if (!strcmp(o->name, words.word[i]))
                break;
        if (o == binary_options + ARRAY_LEN(binary_options) || words.n - i - 1 < o->n_args)
            return shell_refuse(&f->shell, "an option that is not understood: %s", words.word[i]);
        if (o->apply)
            o->apply(f, words.word + i + 1);
        i += 1 + o->n_args;
    }
    return !f->shell.why;
}

/* ---- from outside */

static size_t line_of(const struct shell *shell)
{
    size_t line = 1;

    for (size_t i = 0; i < shell->at && i < shell->len; i++)
        line += shell->text[i] == '\n';
    return line;
}

static struct following following(const struct script *script, struct arena *arena,
                                  struct wrapper *wrapper)
{
    struct following f = {
        .shell = {.arena = arena, .text = script->bytes, .len = script->len, .self = "$0"},
        .wrapper = wrapper};

    shell_take_env(&f.shell, script->env, script->n_env);
    return f;
}

static int answer(const struct following *f, struct wrapper *ret_wrapper)
{
    shell_give_env(&f->shell, &f->wrapper->env, &f->wrapper->n_env);
    *ret_wrapper = *f->wrapper;
    return 0;
}

/* `base`: the shell's name. */
static int read_shell(struct following *f, const char *base, struct err *err)
{
    size_t line;

    if (memchr(f->shell.text, '\0', f->shell.len))
        return err_set(err, ENOTSUP, "a script of '%s' that holds zero bytes", base);
    if (!follow_script(f)) {
        line = line_of(&f->shell);
        return err_set(err, ENOTSUP, "a script of '%s' that cannot be followed: line %zu: %s", base,
                       line, f->shell.why);
    }
    return 0;
}

static int read_script(struct following *f, struct err *err)
{
    struct shebang first = {0};
    int r = shebang_read(f->shell.text, f->shell.len, f->shell.arena, &first, err);
    const char *base;

    if (r < 0)
        return r;
    base = str_base(first.interpreter);
    f->wrapper->interpreter = first.interpreter;
    if (strcmp(base, "bash") != 0 && strcmp(base, "sh") != 0)
        return err_set(err, ENOTSUP, "a script of '%s'", first.interpreter);
    return read_shell(f, base, err);
}

static int read_binary(struct following *f, struct err *err)
{
    struct shell *shell = &f->shell;
    const char *at = memmem(shell->text, shell->len, description, strlen(description)), *end;

    if (at)
        at =
            memmem(at, shell->len - (size_t)(at - shell->text), command_name, strlen(command_name));
    if (!at)
        return err_set(err, ENOEXEC, "not a wrapper");
    shell->at = (size_t)(at - shell->text) + strlen(command_name);
    end = memchr(at, '\0', shell->len - (size_t)(at - shell->text));
    if (!end)
        return err_set(err, ENOEXEC, "not a wrapper");
    shell->len = (size_t)(end - shell->text);
    if (!follow_binary(f))
        return err_set(err, ENOTSUP, "a binary wrapper that cannot be followed: %s", shell->why);
    return 0;
}

int wrapper_read(const struct script *script, struct arena *arena, struct wrapper *ret_wrapper,
                 struct err *err)
{
    struct wrapper wrapper = {0};
    struct following f = following(script, arena, &wrapper);
    const size_t len = script->len;
    int r;

    if (len > 2 && !memcmp(script->bytes, "#!", 2))
        r = read_script(&f, err);
    else if (len > 4 && len <= WRAPPER_MAX && !memcmp(script->bytes, "\177ELF", 4))
        r = read_binary(&f, err);
    else
        r = err_set(err, ENOEXEC, "not a wrapper");
    return r < 0 ? r : answer(&f, ret_wrapper);
}

int wrapper_shell(const struct script *script, struct arena *arena, struct wrapper *ret_wrapper,
                  struct err *err)
{
    struct wrapper wrapper = {.interpreter = script->shell};
    struct following f = following(script, arena, &wrapper);
    const int r = read_shell(&f, str_base(script->shell), err);

    return r < 0 ? r : answer(&f, ret_wrapper);
}
