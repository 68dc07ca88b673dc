#include "loader/shell_word.h"
#include "loader/wrapper.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

/*
 * Scripts for the C shell that set variables and exec, in the way of environment modules:
 *
 *	#!/bin/tcsh -f
 *	setenv NAME "value:${NAME}"
 *	unsetenv NAME
 *	exec /path/program flags $argv:q
 */

/* The caller's arguments as the other shells write them, so that their words are read alike. */
static char *with_shell_arguments(struct arena *arena, const char *bytes, size_t len)
{
    static const char *const forms[] = {"$argv:q", "$*:q", "$*", "$argv"};
    struct str out = {.arena = arena};

    str_add(&out, "");
    for (size_t i = 0; i < len; i++) {
        const char *const *form;

        for_each (form, forms)
            if (len - i >= strlen(*form) && memcmp(bytes + i, *form, strlen(*form)) == 0)
                break;
        if (form == forms + ARRAY_LEN(forms)) {
            str_add_n(&out, bytes + i, 1);
            continue;
        }
        str_add(&out, "\"$@\"");
        i += strlen(*form) - 1;
    }
    return out.text;
}

static bool do_setenv(struct shell *shell)
{
    const char *name, *value = "";

    if (shell_at_end(shell) || !(name = shell_name(shell)))
        return shell_refuse(shell, "a setenv that is not understood");
    if (!shell_at_end(shell) && !(value = shell_value(shell)))
        return false;
    shell_set(shell, name, value, true);
    return true;
}

static bool do_unsetenv(struct shell *shell)
{
    const char *name;

    if (shell_at_end(shell) || !(name = shell_name(shell)))
        return shell_refuse(shell, "an unsetenv that is not understood");
    shell_set(shell, name, NULL, false);
    return true;
}

static bool do_exec(struct shell *shell, struct wrapper *wrapper)
{
    struct shell_words words;

    if (!shell_rest(shell, &words))
        return false;
    if (words.n == 0 || words.args_at == 0 || !strchr(words.word[0], '/'))
        return shell_refuse(shell, "an exec that is not understood");
    wrapper->program = words.word[0];
    wrapper->args = words.word + 1;
    wrapper->n_args = words.n - 1;
    wrapper->n_before = words.args_at == SIZE_MAX ? wrapper->n_args : words.args_at - 1;
    return true;
}

static bool one_command(struct shell *shell, struct wrapper *wrapper)
{
    const char *name = shell_name(shell);
    bool done;

    if (name && !strcmp(name, "setenv"))
        done = do_setenv(shell);
    else if (name && !strcmp(name, "unsetenv"))
        done = do_unsetenv(shell);
    else if (name && !strcmp(name, "exec"))
        done = do_exec(shell, wrapper);
    else
        return shell_refuse(shell, "a command that is not understood");
    return done && (shell_at_end(shell) || shell_refuse(shell, "something behind '%s'", name));
}

static bool follow_script(struct shell *shell, struct wrapper *wrapper)
{
    while (shell->at < shell->len && !wrapper->program) {
        if (!shell_at_end(shell)) {
            if (!one_command(shell, wrapper))
                return false;
            continue;
        }
        if (shell->at < shell->len && shell->text[shell->at] == '#')
            shell->at += strcspn(shell->text + shell->at, "\n");
        shell->at++;
    }
    return wrapper->program || shell_refuse(shell, "it does not end by exec");
}

int wrapper_csh(const struct script *script, struct arena *arena, struct wrapper *ret_wrapper,
                struct err *err)
{
    struct wrapper wrapper = {0};
    struct shell shell = {.arena = arena, .self = "$0"};
    const char *bytes = script->bytes, *name = str_base(script->shell);
    const size_t len = script->len;

    /* what these mean differs from what the other shells' words make of them */
    if (memchr(bytes, '\0', len) || memchr(bytes, '\\', len) || memchr(bytes, '`', len))
        return err_set(err, ENOTSUP, "a script of '%s' that holds backslashes or the like", name);
    shell.text = with_shell_arguments(arena, bytes, len);
    shell.len = strlen(shell.text);
    shell_take_env(&shell, script->env, script->n_env);
    if (!follow_script(&shell, &wrapper))
        return err_set(err, ENOTSUP, "a script of '%s' that cannot be followed: %s", name,
                       shell.why);
    shell_give_env(&shell, &wrapper.env, &wrapper.n_env);
    *ret_wrapper = wrapper;
    return 0;
}
