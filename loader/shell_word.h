/*
 * Words of a shell script, expanded: the part of bash's grammar that makeWrapper uses.
 *
 * Understood: plain text, backslashes, '..', $'..', "..", $NAME, ${NAME}, ${NAME:-w} ${NAME-w}
 * ${NAME:+w} ${NAME+w} ${NAME#w} ${NAME%w} ${NAME/w/w} with literal patterns, ${NAME[@]} of an
 * array declared empty, $0 and "$@". Everything else is refused with a reason, never guessed.
 */
#pragma once

#include "base/str.h"

struct shell_var {
    const char *name;
    const char *value; /* NULL: unset */
    bool exported;
};

struct shell {
    struct arena *arena;
    const char *text; /* the whole script; not ended by a zero byte */
    size_t len, at;
    const char *self; /* $0 */
    struct shell_var *var;
    size_t n_vars;
    size_t expanded; /* bytes of text made so far */
    const char *why; /* why it cannot be followed; NULL: it can, so far */
};

/* Words of one command: what "$@" stands for is not known, only where it stands. */
struct shell_words {
    const char **word;
    size_t n;
    size_t args_at; /* index of the word before which "$@" stands; SIZE_MAX: nowhere */
};

/* A variable's value; NULL: unset. */
const char *shell_get(const struct shell *shell, const char *name);

/* Set a variable (NULL: unset it). A new one is exported only if told so, an old one stays so. */
void shell_set(struct shell *shell, const char *name, const char *value, bool exported);

/* Set the variables of an environment, NAME=VALUE each; and the exported ones as one. */
void shell_take_env(struct shell *shell, const char *const *env, size_t n_env);
void shell_give_env(const struct shell *shell, const char ***ret_env, size_t *ret_n);

/* Skip blanks and line continuations. True when the command ends here: line end, ';', comment. */
bool shell_at_end(struct shell *shell);

/* Take a name [A-Za-z_][A-Za-z0-9_]*; NULL: there is none here, nothing is taken. */
const char *shell_name(struct shell *shell);

/* Take the text if it stands here. */
bool shell_take(struct shell *shell, const char *text);

/* Take one word as the value of an assignment: no splitting. NULL: refused, shell->why. */
const char *shell_value(struct shell *shell);

/*
 * Take one word of a command; what expansions give is split at blanks. False: refused. So is an
 * unquoted * ? [, since it would be replaced by file names.
 */
bool shell_word(struct shell *shell, struct shell_words *words);

/* Take all words up to the command's end. False: refused. */
bool shell_rest(struct shell *shell, struct shell_words *ret_words);

/*
 * Account for `len` more bytes of text. False: refused, the script doubles something again and
 * again (A=$A$A).
 */
bool shell_charge(struct shell *shell, size_t len);

/* Refuse, with the first reason kept. Always returns false. */
bool shell_refuse(struct shell *shell, const char *fmt, ...) PRINTF(2, 3);
