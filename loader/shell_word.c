#include "loader/shell_word.h"

#include <ctype.h>
#include <string.h>

enum {
    MAX_DEPTH = 8,                  /* ${A:+${B:+..}} */
    MAX_EXPANDED = 4 * 1024 * 1024, /* bytes of text; the kernel takes 2 MiB of environment */
};

/* The word being built: fields[0..n) are finished by splitting, `text` is the one at work. */
struct building {
    struct shell_words *words; /* NULL: an assignment, never split */
    struct str text;
    bool any; /* there is a word even when its text is empty */
};

bool shell_refuse(struct shell *shell, const char *fmt, ...)
{
    va_list ap;

    if (shell->why)
        return false;
    va_start(ap, fmt);
    shell->why = arena_vprintf(shell->arena, fmt, ap);
    va_end(ap);
    return false;
}

bool shell_charge(struct shell *shell, size_t len)
{
    if (len > MAX_EXPANDED - shell->expanded)
        return shell_refuse(shell, "it expands to more than %d bytes", MAX_EXPANDED);
    shell->expanded += len;
    return true;
}

/* ---- variables */

static struct shell_var *find_var(const struct shell *shell, const char *name)
{
    for (size_t i = 0; i < shell->n_vars; i++)
        if (!strcmp(shell->var[i].name, name))
            return &shell->var[i];
    return NULL;
}

const char *shell_get(const struct shell *shell, const char *name)
{
    const struct shell_var *var = find_var(shell, name);

    return var ? var->value : NULL;
}

void shell_set(struct shell *shell, const char *name, const char *value, bool exported)
{
    struct shell_var *var = find_var(shell, name);

    if (!var) {
        shell->var = arena_grow(shell->arena, shell->var, shell->n_vars, sizeof(*shell->var));
        var = &shell->var[shell->n_vars++];
        *var = (struct shell_var){.name = name};
    }
    var->value = value;
    var->exported = value && (var->exported || exported);
}

void shell_take_env(struct shell *shell, const char *const *env, size_t n_env)
{
    for (size_t i = 0; i < n_env; i++) {
        const char *eq = strchr(env[i], '=');

        if (eq)
            shell_set(shell, arena_strndup(shell->arena, env[i], (size_t)(eq - env[i])), eq + 1,
                      true);
    }
}

void shell_give_env(const struct shell *shell, const char ***ret_env, size_t *ret_n)
{
    const char **env = arena_calloc(shell->arena, shell->n_vars + 1, sizeof(*env));
    size_t n = 0;

    for (size_t i = 0; i < shell->n_vars; i++) {
        const struct shell_var *var = &shell->var[i];

        if (var->value && var->exported)
            env[n++] = arena_printf(shell->arena, "%s=%s", var->name, var->value);
    }
    *ret_env = env;
    *ret_n = n;
}

/* ---- characters */

static int peek(const struct shell *shell, size_t ahead)
{
    return shell->at + ahead < shell->len ? (unsigned char)shell->text[shell->at + ahead] : -1;
}

static bool is_name_start(int c)
{
    return c == '_' || (c < 128 && isalpha(c));
}

static bool is_name(int c)
{
    return c == '_' || (c < 128 && c >= 0 && isalnum(c));
}

bool shell_take(struct shell *shell, const char *text)
{
    size_t len = strlen(text);

    if (shell->len - shell->at < len || memcmp(shell->text + shell->at, text, len) != 0)
        return false;
    shell->at += len;
    return true;
}

const char *shell_name(struct shell *shell)
{
    size_t n = 0;

    if (!is_name_start(peek(shell, 0)))
        return NULL;
    while (is_name(peek(shell, n)))
        n++;
    shell->at += n;
    return arena_strndup(shell->arena, shell->text + shell->at - n, n);
}

bool shell_at_end(struct shell *shell)
{
    for (;;) {
        int c = peek(shell, 0);

        if (c == ' ' || c == '\t')
            shell->at++;
        else if (!shell_take(shell, "\\\n"))
            return c < 0 || c == '\n' || c == ';' || c == '#';
    }
}

/* ---- building words */

static void add_text(struct shell *shell, struct building *b, const char *text, size_t len)
{
    if (!shell_charge(shell, len))
        return; /* whoever asked for the word will notice */
    str_add_n(&b->text, text, len);
    b->any = true;
}

static void finish_field(struct shell *shell, struct building *b)
{
    struct shell_words *w = b->words;

    if (!b->any || !w)
        return;
    w->word = arena_grow(shell->arena, w->word, w->n, sizeof(*w->word));
    w->word[w->n++] = arena_strndup(shell->arena, b->text.text ?: "", b->text.len);
    b->text = (struct str){.arena = shell->arena};
    b->any = false;
}

/* The result of an expansion outside quotes: split at blanks, and an empty one is no word. */
static bool add_split(struct shell *shell, struct building *b, const char *text)
{
    if (!b->words) {
        add_text(shell, b, text, strlen(text));
        return true;
    }
    for (; *text; text++) {
        if (strchr(" \t\n", *text))
            finish_field(shell, b);
        else if (strchr("*?[", *text))
            return shell_refuse(shell, "an expansion holds a file name pattern");
        else
            add_text(shell, b, text, 1);
    }
    return true;
}

/* ---- expansions: they nest, at most MAX_DEPTH deep */

// NOLINTBEGIN(misc-no-recursion)

static bool braced(struct shell *shell, bool quoted, unsigned depth, struct building *b);

/* $NAME, ${..}, $0, "$@" and $'..'; `at` stands behind the dollar. */
static bool dollar(struct shell *shell, bool quoted, unsigned depth, struct building *b)
{
    const char *value, *name;

    if (shell_take(shell, "{"))
        return braced(shell, quoted, depth, b);
    if (shell_take(shell, "@")) {
        if (!quoted || !b->words || b->words->args_at != SIZE_MAX || b->text.len)
            return shell_refuse(shell, "$@ where it is not expected");
        b->words->args_at = b->words->n;
        b->any = false;
        return true;
    }
    if (peek(shell, 0) == '0' && !is_name(peek(shell, 1))) {
        shell->at++;
        value = shell->self;
    } else {
        name = shell_name(shell);
        if (!name)
            return shell_refuse(shell, "an expansion that is not understood: $%c",
                                isprint(peek(shell, 0)) ? peek(shell, 0) : '?');
        value = shell_get(shell, name) ?: "";
    }
    if (!quoted)
        return add_split(shell, b, value);
    add_text(shell, b, value, strlen(value));
    return true;
}

static bool single_quoted(struct shell *shell, struct building *b)
{
    const char *from = shell->text + shell->at;
    const char *end = memchr(from, '\'', shell->len - shell->at);

    if (!end)
        return shell_refuse(shell, "a quoted string does not end");
    add_text(shell, b, from, (size_t)(end - from));
    shell->at += (size_t)(end - from) + 1;
    return true;
}

/* $'..': C escapes, as bash's @Q writes what holds control characters. */
static bool c_quoted(struct shell *shell, struct building *b)
{
    static const char letters[] = "n\nt\tr\rv\vf\fa\ab\bE\033e\033\\\\''\"\"";

    b->any = true;
    for (;;) {
        int c = peek(shell, 0), value = 0, digits = 0;
        const char *l;
        char byte;

        shell->at++;
        if (c < 0)
            return shell_refuse(shell, "a quoted string does not end");
        if (c == '\'')
            return true;
        if (c == '\\') {
            c = peek(shell, 0);
            while (digits < 3 && peek(shell, 0) >= '0' && peek(shell, 0) <= '7') {
                value = value * 8 + peek(shell, 0) - '0';
                shell->at++;
                digits++;
            }
            for (l = letters; *l && *l != c; l += 2)
                ;
            if (digits == 0 && !*l)
                return shell_refuse(shell, "an escape that is not understood: \\%c",
                                    isprint(c) ? c : '?');
            if (digits == 0)
                shell->at++;
            c = digits ? value : l[1];
            if (c == 0 || c > 255)
                return shell_refuse(shell, "a zero byte in a string");
        }
        byte = (char)c;
        add_text(shell, b, &byte, 1);
    }
}

static bool double_quoted(struct shell *shell, unsigned depth, struct building *b)
{
    size_t before = b->words ? b->words->args_at : 0;

    b->any = true;
    for (;;) {
        int c = peek(shell, 0);
        char byte = (char)c;

        if (c < 0)
            return shell_refuse(shell, "a quoted string does not end");
        shell->at++;
        if (c == '"')
            break;
        if (c == '`')
            return shell_refuse(shell, "command substitution");
        if (c == '$') {
            if (!dollar(shell, true, depth, b))
                return false;
            continue;
        }
        if (c == '\\' && peek(shell, 0) >= 0 && strchr("$`\"\\\n", peek(shell, 0))) {
            byte = (char)peek(shell, 0);
            shell->at++;
            if (byte == '\n')
                continue;
        }
        add_text(shell, b, &byte, 1);
    }
    if (b->words && b->words->args_at != before && b->text.len)
        return shell_refuse(shell, "$@ inside a longer string");
    return true;
}

/* One piece of a word. `stop`: characters that end it besides blanks; they are not taken. */
static bool piece(struct shell *shell, const char *stop, unsigned depth, struct building *b)
{
    int c = peek(shell, 0);
    char byte;

    shell->at++;
    switch (c) {
    case '\'':
        return single_quoted(shell, b);
    case '"':
        return double_quoted(shell, depth, b);
    case '$':
        if (shell_take(shell, "'"))
            return c_quoted(shell, b);
        return dollar(shell, false, depth, b);
    case '\\':
        c = peek(shell, 0);
        if (c < 0)
            return shell_refuse(shell, "a backslash at the end");
        shell->at++;
        if (c == '\n')
            return true;
        break;
    case '*':
    case '?':
    case '[':
        if (b->words || depth)
            return shell_refuse(shell, "a file name pattern");
        break;
    case '`':
    case '|':
    case '&':
    case '<':
    case '>':
    case '(':
    case ')':
        return shell_refuse(shell, "a shell construct: %c", c);
    case '{':
    case '~':
        if (!*stop && b->words)
            return shell_refuse(shell, "a shell expansion: %c", c);
        break;
    default:
        break;
    }
    byte = (char)c;
    add_text(shell, b, &byte, 1);
    return true;
}

/* A word inside ${..}, up to one of `stop`: no splitting of its own text, blanks belong to it. */
static const char *inner(struct shell *shell, const char *stop, unsigned depth)
{
    struct building b = {.text = {.arena = shell->arena}};

    if (depth > MAX_DEPTH) {
        shell_refuse(shell, "expansions nested too deeply");
        return NULL;
    }
    for (;;) {
        int c = peek(shell, 0);

        if (c < 0) {
            shell_refuse(shell, "an expansion does not end");
            return NULL;
        }
        if (strchr(stop, c))
            return shell->why ? NULL : arena_strndup(shell->arena, b.text.text ?: "", b.text.len);
        if (!piece(shell, stop, depth, &b))
            return NULL;
    }
}

static const char *without(struct shell *shell, const char *value, const char *what, char where)
{
    size_t len = strlen(value), cut = strlen(what);

    if (where == '#')
        return str_starts(value, what) ? value + cut : value;
    return str_ends(value, what) ? arena_strndup(shell->arena, value, len - cut) : value;
}

/* ${NAME/what/with}: the first occurrence. */
static const char *replaced(struct shell *shell, const char *value, const char *what,
                            const char *with)
{
    const char *at = *what ? strstr(value, what) : NULL;

    if (!at)
        return value;
    return arena_printf(shell->arena, "%.*s%s%s", (int)(at - value), value, with,
                        at + strlen(what));
}

/* What an array that was declared empty expands to: no word at all. */
static const char no_words[] = "";

/* The value of "${" .. "}" whose inside starts here; NULL: refused. */
static const char *braced_value(struct shell *shell, unsigned depth)
{
    const char *name = shell_name(shell), *value, *word, *with;
    bool colon, set;
    int op;

    if (!name) {
        shell_refuse(shell, "an expansion that is not understood: ${");
        return NULL;
    }
    value = shell_get(shell, name);
    if (shell_take(shell, "}"))
        return value ?: "";
    if (shell_take(shell, "[@]}") && value && !*value)
        return no_words;
    colon = shell_take(shell, ":");
    op = peek(shell, 0);
    shell->at++;
    if (op < 0 || !strchr(colon ? "-+" : "-+#%/", op)) {
        shell_refuse(shell, "an expansion that is not understood: ${%s", name);
        return NULL;
    }
    word = inner(shell, op == '/' ? "/}" : "}", depth + 1);
    if (!word)
        return NULL;
    set = value && (!colon || *value);
    with = op == '/' && shell_take(shell, "/") ? inner(shell, "}", depth + 1) : "";
    if (!with)
        return NULL;
    shell->at++; /* the brace that inner() stopped at */
    switch (op) {
    case '-':
        return set ? value : word;
    case '+':
        return set ? word : "";
    case '/':
        return replaced(shell, value ?: "", word, with);
    default:
        return without(shell, value ?: "", word, (char)op);
    }
}

static bool braced(struct shell *shell, bool quoted, unsigned depth, struct building *b)
{
    const char *value = braced_value(shell, depth);

    if (!value)
        return false;
    if (!quoted)
        return add_split(shell, b, value);
    add_text(shell, b, value, strlen(value));
    if (value == no_words && !b->text.len)
        b->any = false;
    return true;
}

// NOLINTEND(misc-no-recursion)

/* ---- words */

static bool whole_word(struct shell *shell, struct building *b)
{
    for (;;) {
        int c = peek(shell, 0);

        if (c < 0 || strchr(" \t\n;", c))
            break;
        if (!piece(shell, "", 0, b))
            return false;
    }
    finish_field(shell, b);
    return !shell->why;
}

const char *shell_value(struct shell *shell)
{
    struct building b = {.text = {.arena = shell->arena}};

    if (!whole_word(shell, &b))
        return NULL;
    return arena_strndup(shell->arena, b.text.text ?: "", b.text.len);
}

bool shell_word(struct shell *shell, struct shell_words *words)
{
    struct building b = {.words = words, .text = {.arena = shell->arena}};

    return whole_word(shell, &b);
}

bool shell_rest(struct shell *shell, struct shell_words *ret_words)
{
    *ret_words = (struct shell_words){.args_at = SIZE_MAX};
    while (!shell_at_end(shell))
        if (!shell_word(shell, ret_words))
            return false;
    return true;
}
