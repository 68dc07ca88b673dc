#include "loader/wrapper.h"

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
    struct shell_words words;

    if (!shell_rest(&f->shell, &words))
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
    struct shell_words words;

    if (!shell_rest(&f->shell, &words))
        return false;
    if (words.n != 1 || words.word[0][0] != '/')
        return shell_refuse(&f->shell, "a cd that is not to an absolute directory");
    if (!f->idle)
        f->wrapper->cwd = words.word[0];
    return true;
}

static bool do_exec(struct following *f)
{
    struct shell_words words;
    size_t first = 0;

    if (!shell_rest(&f->shell, &words))
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

static size_t line_of(const struct shell *shell)
{
    size_t line = 1;

    for (size_t i = 0; i < shell->at && i < shell->len; i++)
        line += shell->text[i] == '\n';
    return line;
}

int wrapper_shell(const struct script *script, struct arena *arena, struct wrapper *ret_wrapper,
                  struct err *err)
{
    struct wrapper wrapper = {0};
    struct following f = {
        .shell = {.arena = arena, .text = script->bytes, .len = script->len, .self = "$0"},
        .wrapper = &wrapper};
    const char *base = str_base(script->shell);

    if (memchr(script->bytes, '\0', script->len))
        return err_set(err, ENOTSUP, "a script of '%s' that holds zero bytes", base);
    shell_take_env(&f.shell, script->env, script->n_env);
    if (!follow_script(&f))
        return err_set(err, ENOTSUP, "a script of '%s' that cannot be followed: line %zu: %s", base,
                       line_of(&f.shell), f.shell.why);
    shell_give_env(&f.shell, &wrapper.env, &wrapper.n_env);
    *ret_wrapper = wrapper;
    return 0;
}
