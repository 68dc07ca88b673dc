/*
 * Programs of makeBinaryWrapper: the command line that made them stands in them as text.
 */
#include "loader/shell_word.h"
#include "loader/wrapper.h"

#include <errno.h>
#include <string.h>

/* Where an option's reader puts what it finds. */
struct binary {
    struct shell shell;
    struct wrapper *wrapper;
};

static const char description[] = "has been generated using the following command:";
static const char command_name[] = "makeCWrapper ";

static void put_beside(struct binary *b, const char *const *arg, bool in_front)
{
    const char *old = shell_get(&b->shell, arg[0]);
    const char *value = arg[2];

    if (old && !shell_charge(&b->shell, strlen(old)))
        return;
    if (old && in_front)
        value = arena_printf(b->shell.arena, "%s%s%s", arg[2], arg[1], old);
    else if (old)
        value = arena_printf(b->shell.arena, "%s%s%s", old, arg[1], arg[2]);
    shell_set(&b->shell, arg[0], value, true);
}

static void option_set(struct binary *b, const char *const *arg)
{
    shell_set(&b->shell, arg[0], arg[1], true);
}

static void option_set_default(struct binary *b, const char *const *arg)
{
    if (!shell_get(&b->shell, arg[0]))
        shell_set(&b->shell, arg[0], arg[1], true);
}

static void option_unset(struct binary *b, const char *const *arg)
{
    shell_set(&b->shell, arg[0], NULL, false);
}

static void option_prefix(struct binary *b, const char *const *arg)
{
    put_beside(b, arg, true);
}

static void option_suffix(struct binary *b, const char *const *arg)
{
    put_beside(b, arg, false);
}

static void option_chdir(struct binary *b, const char *const *arg)
{
    b->wrapper->cwd = arg[0];
}

static void add_arg(struct binary *b, const char *arg)
{
    struct wrapper *w = b->wrapper;

    w->args = arena_grow(b->shell.arena, w->args, w->n_args, sizeof(*w->args));
    w->args[w->n_args++] = arg;
}

/* Arguments are shown, not compared: one word each is near enough for --add-flags. */
static void option_add_flag(struct binary *b, const char *const *arg)
{
    if (b->wrapper->n_before == b->wrapper->n_args)
        b->wrapper->n_before++;
    add_arg(b, arg[0]);
}

static void option_append_flag(struct binary *b, const char *const *arg)
{
    add_arg(b, arg[0]);
}

static const struct option {
    const char *name;
    size_t n_args;
    void (*apply)(struct binary *b, const char *const *arg); /* NULL: nothing that counts */
} options[] = {
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
static bool follow_options(struct binary *b)
{
    struct shell_words words;

    if (!shell_rest(&b->shell, &words))
        return false;
    if (words.n == 0 || !strchr(words.word[0], '/'))
        return shell_refuse(&b->shell, "its description names no program");
    b->wrapper->program = words.word[0];
    for (size_t i = 1; i < words.n;) {
        const struct option *o;

        for_each (o, options)
            if (!strcmp(o->name, words.word[i]))
                break;
        if (o == options + ARRAY_LEN(options) || words.n - i - 1 < o->n_args)
            return shell_refuse(&b->shell, "an option that is not understood: %s", words.word[i]);
        if (o->apply)
            o->apply(b, words.word + i + 1);
        i += 1 + o->n_args;
    }
    return !b->shell.why;
}

int wrapper_binary(const struct script *script, struct arena *arena, struct wrapper *ret_wrapper,
                   struct err *err)
{
    const char *bytes = script->bytes, *bytes_end = bytes + script->len;
    const char *at = memmem(bytes, script->len, description, strlen(description)), *end = NULL;
    struct wrapper wrapper = {0};
    struct binary b = {.shell = {.arena = arena, .text = bytes, .self = "$0"}, .wrapper = &wrapper};

    if (at)
        at = memmem(at, (size_t)(bytes_end - at), command_name, strlen(command_name));
    if (at)
        end = memchr(at, '\0', (size_t)(bytes_end - at));
    if (!end)
        return err_set(err, ENOEXEC, "not a wrapper");
    b.shell.at = (size_t)(at - bytes) + strlen(command_name);
    b.shell.len = (size_t)(end - bytes);
    shell_take_env(&b.shell, script->env, script->n_env);
    if (!follow_options(&b))
        return err_set(err, ENOTSUP, "a binary wrapper that cannot be followed: %s", b.shell.why);
    shell_give_env(&b.shell, &wrapper.env, &wrapper.n_env);
    *ret_wrapper = wrapper;
    return 0;
}
