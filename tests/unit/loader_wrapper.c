/*
 * Wrappers as makeWrapper and makeBinaryWrapper write them, and scripts that only look like it.
 */
#include "loader/wrapper.h"

#include "base/str.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#define BASH "#! /s/bash/bin/bash -e\n"
#define EXEC "exec -a \"$0\" \"/s/x/bin/.x-wrapped\"  \"$@\" \n"

static const char *const given[] = {"PATH=/usr/bin:/b:/bin", "HOME=/h", "EMPTY="};

/* The value that a variable has in the wrapped program; NULL: unset. */
static const char *value_of(const struct wrapper *wrapper, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < wrapper->n_env; i++)
        if (!strncmp(wrapper->env[i], name, len) && wrapper->env[i][len] == '=')
            return wrapper->env[i] + len + 1;
    return NULL;
}

static int follow(const char *text, size_t len, struct arena *arena, struct wrapper *wrapper,
                  struct err *err)
{
    const struct script script = {text, len, given, ARRAY_LEN(given), "/s/bash/bin/bash"};

    return (str_starts(text, "#!") ? wrapper_shell : wrapper_binary)(&script, arena, wrapper, err);
}

/* One variable's value behind the lines of a script. */
static void values(void **state UNUSED)
{
    static const struct row {
        const char *lines, *name, *value;
    } rows[] = {
        {"", "HOME", "/h"},
        {"", "EMPTY", ""},
        {"export A='/a:/b'\n", "A", "/a:/b"},
        {"export A='it'\\''s'\n", "A", "it's"},
        {"export A=$'a\\tb\\'c\\\\d\\033\\n'\n", "A", "a\tb'c\\d\033\n"},
        {"export A=\"x$HOME/${HOME}y\\$\\\"z\"\n", "A", "x/h//hy$\"z"},
        {"export A=a B=b\n", "B", "b"},
        {"A=a\n", "A", NULL},
        {"A=a\nexport A\n", "A", "a"},
        {"HOME=/other\n", "HOME", "/other"},
        {"unset HOME\n", "HOME", NULL},
        {"unset HOME\nHOME=/other\n", "HOME", NULL},
        {"export A=${A-'default'}\n", "A", "default"},
        {"export HOME=${HOME-'default'}\n", "HOME", "/h"},
        {"export EMPTY=${EMPTY-'default'}\n", "EMPTY", ""},
        {"export EMPTY=${EMPTY:-'default'}\n", "EMPTY", "default"},
        {"export A='/a'${A:+':'}$A\n", "A", "/a"},
        {"export PATH='/a'${PATH:+':'}$PATH\n", "PATH", "/a:/usr/bin:/b:/bin"},
        {"export PATH='/a'${PATH:+':'$PATH}\n", "PATH", "/a:/usr/bin:/b:/bin"},
        {"export PATH=$PATH${PATH:+':'}'/a'\n", "PATH", "/usr/bin:/b:/bin:/a"},
        {"export PATH+=${PATH:+':'}'/a'\n", "PATH", "/usr/bin:/b:/bin:/a"},
        {"export A+=${A:+':'}'/a'\n", "A", "/a"},
        /* --prefix: moved to the front if it is there */
        {"PATH=${PATH:+':'$PATH':'}\n"
         "PATH=${PATH/':''/b'':'/':'}\n"
         "PATH='/b'$PATH\n"
         "PATH=${PATH#':'}\n"
         "PATH=${PATH%':'}\n"
         "export PATH\n",
         "PATH", "/b:/usr/bin:/bin"},
        {"A=${A:+':'$A':'}\n"
         "A=${A/':''/b'':'/':'}\n"
         "A='/b'$A\n"
         "A=${A#':'}\n"
         "A=${A%':'}\n"
         "export A\n",
         "A", "/b"},
        /* --suffix: left alone if it is there */
        {"PATH=${PATH:+':'$PATH':'}\n"
         "if [[ $PATH != *':''/b'':'* ]]; then\n"
         "    PATH=$PATH'/b'\n"
         "fi\n"
         "PATH=${PATH#':'}\n"
         "PATH=${PATH%':'}\n"
         "export PATH\n",
         "PATH", "/usr/bin:/b:/bin"},
        {"PATH=${PATH:+':'$PATH':'}\n"
         "if [[ $PATH != *':''/c'':'* ]]; then\n"
         "    PATH=$PATH'/c'\n"
         "fi\n"
         "PATH=${PATH#':'}\n"
         "PATH=${PATH%':'}\n"
         "export PATH\n",
         "PATH", "/usr/bin:/b:/bin:/c"},
        {"# a comment with 'quote\n\n  export A=a # behind\n", "A", "a"},
        {"export A=a; export B=b\n", "B", "b"},
        {"export A='a\nb'\n", "A", "a\nb"},
        {"export A=a\\\nb\n", "A", "ab"},
        {"set -u\nset +u\nset -eu\n", "HOME", "/h"},
    };
    const struct row *row;

    for_each (row, rows) {
        CLEANUP(arena_release) struct arena arena = {0};
        const char *text = arena_printf(&arena, BASH "%s" EXEC, row->lines);
        struct wrapper w;
        struct err err;

        if (follow(text, strlen(text), &arena, &w, &err) < 0)
            fail_msg("%s: %s", row->lines, err.text);
        assert_string_equal(w.program, "/s/x/bin/.x-wrapped");
        if (!str_same(value_of(&w, row->name), row->value))
            fail_msg("%s: %s is '%s'", row->lines, row->name, value_of(&w, row->name));
    }
}

static void arguments_and_directory(void **state UNUSED)
{
    static const char text[] =
        BASH "declare -a extraFlagsArray=()\n"
             "cd '/var/empty'\n"
             "exec \"/s/x\" --one='a b' ${UNSET:+--never} ${HOME:+--two --three=${UNSET:+no}} "
             "\"${extraFlagsArray[@]}\" \"\" \"$@\" --last\n"
             "this is never read (\n";
    static const char *const expected[] = {"--one=a b", "--two", "--three=", "", "--last"};
    CLEANUP(arena_release) struct arena arena = {0};
    struct wrapper w;
    struct err err;

    if (follow(text, sizeof(text) - 1, &arena, &w, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(w.cwd, "/var/empty");
    assert_int_equal(w.n_args, ARRAY_LEN(expected));
    assert_int_equal(w.n_before, 4);
    for (size_t i = 0; i < w.n_args; i++)
        assert_string_equal(w.args[i], expected[i]);
}

static void not_followed(void **state UNUSED)
{
    static const struct row {
        const char *text;
        const char *why; /* the error's end */
        int error;
    } rows[] = {
        {"", "not a wrapper", ENOEXEC},
        {"\177ELF and nothing else", "not a wrapper", ENOEXEC},
        {"export A=a\n", "not a wrapper", ENOEXEC},
        {"#! /bin/bash", "it does not end by exec", ENOTSUP},
        {BASH, "line 2: it does not end by exec", ENOTSUP},
        {BASH "export A=$(date)\n" EXEC, "line 2: an expansion that is not understood: $(",
         ENOTSUP},
        {BASH "export A=`date`\n" EXEC, "line 2: a shell construct: `", ENOTSUP},
        {BASH "export A=\"`date`\"\n" EXEC, "line 2: command substitution", ENOTSUP},
        {BASH "\n\nsource /etc/profile\n" EXEC,
         "line 4: a command that is not understood: 'source'", ENOTSUP},
        {BASH "A=1 B=2\n" EXEC, "something behind 'A'", ENOTSUP},
        {BASH "A =1\n" EXEC, "a command that is not understood: 'A'", ENOTSUP},
        {BASH "export A=a | cat\n" EXEC, "an export that is not understood", ENOTSUP},
        {BASH "export A=a&&b\n" EXEC, "a shell construct: &", ENOTSUP},
        {BASH "export A='a\n", "a quoted string does not end", ENOTSUP},
        {BASH "export A=\"a\n", "a quoted string does not end", ENOTSUP},
        {BASH "export A=$'\\q'\n", "an escape that is not understood: \\q", ENOTSUP},
        {BASH "export A=$'\\0'\n", "a zero byte in a string", ENOTSUP},
        {BASH "export A=${A\n", "an expansion that is not understood: ${A", ENOTSUP},
        {BASH "export A=${A:-b\n", "an expansion does not end", ENOTSUP},
        {BASH "export A=${A##b}\nexport B=${#A}\n" EXEC, "not understood: ${", ENOTSUP},
        {BASH "export A=${A#*/}\n" EXEC, "a file name pattern", ENOTSUP},
        {BASH "exec /s/x *\n", "a file name pattern", ENOTSUP},
        {BASH "exec /s/x {a,b}\n", "a shell expansion: {", ENOTSUP},
        {BASH "exec x \"$@\"\n", "exec of 'x', which is searched in PATH", ENOTSUP},
        {BASH "exec\n", "an exec that is not understood", ENOTSUP},
        {BASH "exec \"$@\"\n", "an exec that is not understood", ENOTSUP},
        {BASH "exec /s/x \"$@\" \"$@\"\n", "$@ where it is not expected", ENOTSUP},
        {BASH "exec /s/x \"a$@\"\n", "$@ where it is not expected", ENOTSUP},
        {BASH "exec /s/x >/dev/null\n", "a shell construct: >", ENOTSUP},
        {BASH "cd $HOME/..\n" EXEC "\n", NULL, 0},
        {BASH "cd sub\n" EXEC, "a cd that is not to an absolute directory", ENOTSUP},
        {BASH "if true; then\nfi\n" EXEC, "a condition that is not understood", ENOTSUP},
        {BASH "fi\n" EXEC, "fi without if", ENOTSUP},
        {BASH "set -o pipefail\n" EXEC, "set -o", ENOTSUP},
    };
    const struct row *row;

    for_each (row, rows) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct wrapper w;
        struct err err = {0};
        int r = follow(row->text, strlen(row->text), &arena, &w, &err);

        if (r != -row->error || (row->why && !str_ends(err.text, row->why)))
            fail_msg("%s: %d, %s", row->text, r, err.text);
    }
}

/* Lines that double a value, again and again. */
static void grows_without_end(void **state UNUSED)
{
    static const char *const lines[] = {"A=a$A$A\n", "A+=a$A\n", "export A=a${A/a/$A$A}\n"};
    const char *const *line;

    for_each (line, lines) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct str text = {.arena = &arena};
        struct wrapper w;
        struct err err;

        str_add(&text, BASH);
        for (int i = 0; i < 200; i++)
            str_add(&text, *line);
        str_add(&text, EXEC);
        assert_int_equal(follow(text.text, text.len, &arena, &w, &err), -ENOTSUP);
        assert_true(str_ends(err.text, "it expands to more than 4194304 bytes"));
    }
}

/* A program of makeBinaryWrapper, as far as it matters: its description among other bytes. */
static void binary(void **state UNUSED)
{
    static const char text[] =
        "\177ELF\0\1\2makeCWrapper is named here too\0\n"
        "# The C-code for this binary wrapper has been generated using the following command:\n\n\n"
        "makeCWrapper /s/x/bin/.x-wrapped \\\n"
        "    --inherit-argv0 \\\n"
        "    --set 'A' 'it'\\''s' \\\n"
        "    --set-default 'HOME' '/no' \\\n"
        "    --set-default 'B' 'b' \\\n"
        "    --unset 'EMPTY' \\\n"
        "    --prefix 'PATH' ':' '/p' \\\n"
        "    --prefix 'NEW' ':' '/n' \\\n"
        "    --suffix 'PATH' ':' '/s' \\\n"
        "    --chdir '/c' \\\n"
        "    --add-flags '-f' \\\n"
        "    --append-flags '-l'\n\n\n"
        "# (Use `nix-shell -p makeBinaryWrapper` to get access)\n\0more";
    CLEANUP(arena_release) struct arena arena = {0};
    struct wrapper w;
    struct err err;

    if (follow(text, sizeof(text) - 1, &arena, &w, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(w.program, "/s/x/bin/.x-wrapped");
    assert_string_equal(value_of(&w, "A"), "it's");
    assert_string_equal(value_of(&w, "HOME"), "/h");
    assert_string_equal(value_of(&w, "B"), "b");
    assert_null(value_of(&w, "EMPTY"));
    assert_string_equal(value_of(&w, "PATH"), "/p:/usr/bin:/b:/bin:/s");
    assert_string_equal(value_of(&w, "NEW"), "/n");
    assert_string_equal(w.cwd, "/c");
    assert_int_equal(w.n_args, 2);
    assert_int_equal(w.n_before, 1);
}

static void binary_with_an_unknown_option(void **state UNUSED)
{
    static const char text[] = "\177ELF has been generated using the following command:\n"
                               "makeCWrapper '/s/x' \\\n    --frobnicate 'A'\n\0";
    CLEANUP(arena_release) struct arena arena = {0};
    struct wrapper w;
    struct err err;

    assert_int_equal(follow(text, sizeof(text) - 1, &arena, &w, &err), -ENOTSUP);
    assert_true(str_ends(err.text, "an option that is not understood: --frobnicate"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),       cmocka_unit_test(arguments_and_directory),
        cmocka_unit_test(not_followed), cmocka_unit_test(grows_without_end),
        cmocka_unit_test(binary),       cmocka_unit_test(binary_with_an_unknown_option),
    };

    return UNIT_RUN(tests);
}
