#include "loader/shell_word.h"
#include "loader/wrapper.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

/*
 * What Guix' wrap-script puts in front of a script:
 *
 *	#!/gnu/store/...-guile/bin/guile --no-auto-compile
 *	#!#; Guix wrapper				(or the script's coding line)
 *	#\-(begin (let ((current (getenv "X"))) (setenv "X" (if current (string-append "/a" ":"
 *		current) "/a"))) (setenv "Y" "/b"))
 *	#\-(let ((cl (command-line))) (apply execl "/gnu/store/...-python/bin/python" (car cl)
 *		(append (quote ("-E")) cl)))
 *
 * Each "#\-" is a character, and thrown away, to Guile, and begins a comment to other languages.
 */

enum { DEPTH_MAX = 32 };

enum form_kind { FORM_LIST, FORM_TEXT, FORM_SYMBOL };

struct form {
    enum form_kind kind;
    const char *text; /* of texts and symbols */
    struct form *first, *next;
};

struct guile {
    struct arena *arena;
    struct shell shell; /* its variables are the environment; shell.why: why it is given up */
    struct wrapper *wrapper;
    const char *at, *end;
    const char *bound; /* the one variable that may be bound; NULL: none */
    const char *value; /* NULL: #f */
};

/* ---- reading */

static struct form *form_new(struct guile *g, enum form_kind kind, const char *text)
{
    struct form *form = arena_alloc(g->arena, sizeof(*form));

    *form = (struct form){.kind = kind, .text = text};
    return form;
}

static struct form *refused(struct guile *g, const char *why)
{
    shell_refuse(&g->shell, "%s", why);
    return NULL;
}

static struct form *read_text(struct guile *g)
{
    struct str out = {.arena = g->arena};

    str_add(&out, "");
    for (; g->at < g->end && *g->at != '"'; g->at++) {
        if (*g->at == '\\' && ++g->at < g->end && *g->at != '\\' && *g->at != '"')
            return refused(g, "an escape that is not understood");
        if (g->at < g->end)
            str_add_n(&out, g->at, 1);
    }
    if (g->at >= g->end)
        return refused(g, "a string does not end");
    g->at++;
    return form_new(g, FORM_TEXT, out.text);
}

static struct form *read_form(struct guile *g, unsigned depth);

static struct form *read_list(struct guile *g, unsigned depth)
{
    struct form *list = form_new(g, FORM_LIST, NULL), **tail = &list->first;

    for (;;) {
        while (g->at < g->end && strchr(" \t\n", *g->at) && *g->at)
            g->at++;
        if (g->at >= g->end)
            return refused(g, "a list does not end");
        if (*g->at == ')')
            break;
        *tail = read_form(g, depth);
        if (!*tail)
            return NULL;
        tail = &(*tail)->next;
    }
    g->at++;
    return list;
}

/* One form. NULL: refused. */
static struct form *read_form(struct guile *g, unsigned depth)
{
    const char *from;
    struct form *list;

    while (g->at < g->end && strchr(" \t\n", *g->at) && *g->at)
        g->at++;
    if (g->at >= g->end)
        return refused(g, "a form is missing");
    if (depth > DEPTH_MAX)
        return refused(g, "forms nested too deeply");
    if (*g->at == '(')
        return g->at++, read_list(g, depth + 1);
    if (*g->at == '"')
        return g->at++, read_text(g);
    if (*g->at == '\'') {
        g->at++;
        list = form_new(g, FORM_LIST, NULL);
        list->first = form_new(g, FORM_SYMBOL, "quote");
        list->first->next = read_form(g, depth + 1);
        return list->first->next ? list : NULL;
    }
    for (from = g->at; g->at < g->end && *g->at && !strchr(" \t\n()\"'", *g->at);)
        g->at++;
    if (g->at == from)
        return refused(g, "a form that is not understood");
    return form_new(g, FORM_SYMBOL, arena_strndup(g->arena, from, (size_t)(g->at - from)));
}

/* ---- what forms mean */

static bool is_symbol(const struct form *form, const char *text)
{
    return form && form->kind == FORM_SYMBOL && strcmp(form->text, text) == 0;
}

/* A list (NAME ...) of n elements behind the name; n < 0: any number. Returns the first of them. */
static const struct form *call_of(const struct form *form, const char *name, int n)
{
    static const struct form nothing;
    const struct form *arg;

    if (!form || form->kind != FORM_LIST || !is_symbol(form->first, name))
        return NULL;
    for (arg = form->first->next; arg && n > 0; arg = arg->next)
        n--;
    if (n > 0 || (n == 0 && arg))
        return NULL;
    return form->first->next ? form->first->next : &nothing;
}

/* The value of an expression; NULL: #f, or refused. */
static const char *value_of(struct guile *g, const struct form *form)
{
    const struct form *arg;

    if (form->kind == FORM_TEXT)
        return form->text;
    if (g->bound && is_symbol(form, g->bound))
        return g->value;
    if ((arg = call_of(form, "getenv", 1)) && arg->kind == FORM_TEXT)
        return shell_get(&g->shell, arg->text);
    if ((arg = call_of(form, "if", 3)))
        return value_of(g, value_of(g, arg) ? arg->next : arg->next->next);
    if ((arg = call_of(form, "string-append", -1))) {
        struct str out = {.arena = g->arena};

        str_add(&out, "");
        for (; arg; arg = arg->next) {
            const char *part = value_of(g, arg);

            if (!part)
                shell_refuse(&g->shell, "a value that is not understood");
            str_add(&out, part ? part : "");
        }
        return out.text;
    }
    shell_refuse(&g->shell, "a value that is not understood");
    return NULL;
}

/* (apply execl "PROGRAM" (car cl) (append (quote ("ARG" ...)) cl)) */
static bool run_exec(struct guile *g, const struct form *arg)
{
    struct wrapper *w = g->wrapper;
    const struct form *program = arg->next, *self = program->next, *quoted = NULL, *words;
    const char *cl = self->first && self->first->next ? self->first->next->text : NULL;
    const struct form *list = call_of(self->next, "append", 2);

    if (list)
        quoted = call_of(list, "quote", 1);
    if (!is_symbol(arg, "execl") || program->kind != FORM_TEXT || !cl || !call_of(self, "car", 1) ||
        !quoted || quoted->kind != FORM_LIST || !is_symbol(list->next, cl))
        return shell_refuse(&g->shell, "an execl that is not understood");
    for (words = quoted->first; words; words = words->next) {
        if (words->kind != FORM_TEXT)
            return shell_refuse(&g->shell, "an execl that is not understood");
        if (!*words->text) /* what is left of no arguments at all */
            continue;
        w->args = arena_grow(g->arena, w->args, w->n_args, sizeof(*w->args));
        w->args[w->n_args++] = words->text;
    }
    w->n_before = w->n_args;
    w->program = program->text;
    return true;
}

/* A statement. */
static bool run_form(struct guile *g, const struct form *form)
{
    const struct form *arg, *binding;
    const char *value;

    if ((arg = call_of(form, "begin", -1))) {
        for (; arg && arg->kind == FORM_LIST && arg->first; arg = arg->next)
            if (!run_form(g, arg))
                return false;
        return true;
    }
    if ((arg = call_of(form, "setenv", 2)) && arg->kind == FORM_TEXT) {
        value = value_of(g, arg->next);
        if (value && !g->shell.why)
            shell_set(&g->shell, arg->text, value, true);
        return !g->shell.why;
    }
    if ((arg = call_of(form, "apply", 4)))
        return run_exec(g, arg);
    if ((arg = call_of(form, "let", 2))) {
        binding = arg->first;
        if (!binding || binding->next || !binding->first || !binding->first->next ||
            binding->first->kind != FORM_SYMBOL)
            return shell_refuse(&g->shell, "a binding that is not understood");
        g->bound = binding->first->text;
        g->value = NULL;
        if (!call_of(binding->first->next, "command-line", 0))
            g->value = value_of(g, binding->first->next);
        return !g->shell.why && run_form(g, arg->next);
    }
    return shell_refuse(&g->shell, "a form that is not understood");
}

static const char *next_line(const char *at, const char *end)
{
    const char *line_end = memchr(at, '\n', (size_t)(end - at));

    return line_end ? line_end + 1 : end;
}

static bool line_starts(const struct guile *g, const char *text)
{
    const size_t len = strlen(text);

    return (size_t)(g->end - g->at) >= len && memcmp(g->at, text, len) == 0;
}

int wrapper_guile(const struct script *script, struct arena *arena, struct wrapper *ret_wrapper,
                  struct err *err)
{
    const char *end = script->bytes + script->len;
    struct wrapper wrapper = {0};
    struct guile g = {.arena = arena,
                      .shell = {.arena = arena},
                      .wrapper = &wrapper,
                      .at = next_line(script->bytes, end),
                      .end = end};

    if (!line_starts(&g, "#!#;"))
        return err_set(err, ENOEXEC, "not a wrapper");
    shell_take_env(&g.shell, script->env, script->n_env);
    g.at = next_line(g.at, g.end);
    while (!wrapper.program && line_starts(&g, "#\\-")) {
        struct form *form;

        g.at += 3;
        form = read_form(&g, 0);
        if (!form || !run_form(&g, form))
            break;
        g.at = next_line(g.at, g.end);
    }
    if (!wrapper.program)
        return err_set(err, ENOTSUP, "a Guix wrapper that cannot be followed: %s",
                       g.shell.why ? g.shell.why : "it does not end by execl");
    shell_give_env(&g.shell, &wrapper.env, &wrapper.n_env);
    *ret_wrapper = wrapper;
    return 0;
}
