/*
 * Flags: values go where their rows say, and what is wrong ends the process with the sentence.
 */
#include "cli/command.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct inner {
    const char *name;
    uint32_t count;
};

struct line {
    const char *text, *path, *cwd;
    const char **env, **arg;
    size_t n_env, n_args;
    bool on, has_big;
    uint32_t small, above;
    uint64_t big, bounded;
    double half; /* of what --half says */
    unsigned vowels;
    struct inner inner;
    char **rest;
};

static int take_half(void *into, const char *text, struct arena *arena UNUSED, struct err *err)
{
    uint64_t number;

    if (!flag_number(text, 100, &number))
        return err_set(err, EINVAL, "'%s' has no half", text);
    *(double *)into = (double)number / 2;
    return 0;
}

static int take_vowels(void *into, const char *text, struct arena *arena UNUSED,
                       struct err *err UNUSED)
{
    struct line *l = into;

    l->vowels += text == NULL;
    return 0;
}

static const struct flag inner_rows[] = {
    {"name", "NAME", "A name", INTO(struct inner, name)},
    {"count", "N", "How many", INTO(struct inner, count)},
    {0},
};

static const struct flag rows[] = {
    {"text", "TEXT", "A text", INTO(struct line, text), .letter = 't'},
    {"path", "FILE", "A path", PATH(struct line, path)},
    {"cwd", "DIR", "A directory", PATH(struct line, cwd), .is = flag_is_absolute,
     .wants = "an absolute path"},
    {"env", "NAME=VALUE", "A variable", LIST(struct line, env, n_env), .is = flag_is_assignment,
     .wants = "NAME=VALUE"},
    {"on", NULL, "Switch it on", INTO(struct line, on)},
    {"small", "N", "A number", INTO(struct line, small)},
    {"above", "N", "A number above 1", INTO(struct line, above), .min = 2},
    {"bounded", "N", "A number up to 64", INTO(struct line, bounded), .max = 64},
    {.help = "More:"},
    {"big", "N", "A large number", INTO(struct line, big), .given = offsetof(struct line, has_big)},
    {"half", "N", "A number", CALL_ON(struct line, half, take_half)},
    {"vowels", NULL, "Count", CALL(take_vowels)},
    {ROWS(struct line, inner, inner_rows)},
    {NULL, "ARG", NULL, LIST(struct line, arg, n_args)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct line *l = into;

    return l->on && l->text ? err_set(err, EINVAL, "--on and --text do not go together") : 0;
}

static const struct flags flags = {.row = rows, .args = "ARG...", .doc = "Test.", .check = check};

enum { WORDS_MAX = 8 };

static struct line read_line(struct arena *arena, const char *const words[WORDS_MAX])
{
    struct line line = {.small = 7, .half = -1};
    char *argv[WORDS_MAX + 1] = {arena_strdup(arena, "test")};
    int argc = 1;

    for (size_t i = 0; i < WORDS_MAX - 1 && words[i]; i++)
        argv[argc++] = arena_strdup(arena, words[i]);
    flags_parse(&flags, argc, argv, &line, arena);
    return line;
}

static void values_go_where_they_belong(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct line l =
        read_line(&arena, (const char *const[WORDS_MAX]){"-t", "a\\x41", "b\\x20c", "--path=d\\x5c",
                                                         "--small", "4294967295", "-"});

    assert_string_equal(l.text, "a\\x41");
    assert_string_equal(l.path, "d\\");
    assert_int_equal(l.small, UINT32_MAX);
    assert_int_equal(l.n_args, 2);
    assert_string_equal(l.arg[0], "b c");
    assert_string_equal(l.arg[1], "-");
    assert_false(l.on || l.has_big);
    assert_null(l.cwd);
}

static void what_is_not_given_stays(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct line l = read_line(&arena, (const char *const[WORDS_MAX]){"--on"});

    assert_true(l.on);
    assert_int_equal(l.small, 7);
    assert_true(l.half < 0);
    assert_int_equal(l.n_args, 0);
}

static void numbers_have_their_members_range(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct line l = read_line(
        &arena, (const char *const[WORDS_MAX]){"--big", "18446744073709551615", "--bounded", "64",
                                               "--above", "2", "--small=0"});

    assert_true(l.has_big);
    assert_true(l.big == UINT64_MAX);
    assert_int_equal(l.bounded, 64);
    assert_int_equal(l.above, 2);
    assert_int_equal(l.small, 0);
}

static void lists_grow_and_texts_are_replaced(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct line l = read_line(
        &arena, (const char *const[WORDS_MAX]){"--env=A=1", "--text=x", "--env=B=\\x32", "--text=y",
                                               "--env=A=", "--vowels", "--vowels"});

    assert_int_equal(l.n_env, 3);
    assert_string_equal(l.env[0], "A=1");
    assert_string_equal(l.env[1], "B=2");
    assert_string_equal(l.env[2], "A=");
    assert_string_equal(l.text, "y");
    assert_int_equal(l.vowels, 2);
}

static void rows_of_a_member_and_functions(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct line l = read_line(&arena, (const char *const[WORDS_MAX]){"--name=n", "--count=3",
                                                                     "--half", "5", "--", "--on"});

    assert_string_equal(l.inner.name, "n");
    assert_int_equal(l.inner.count, 3);
    assert_true(l.half > 2.4 && l.half < 2.6);
    assert_int_equal(l.n_args, 1);
    assert_string_equal(l.arg[0], "--on");
    assert_false(l.on);
}

static void the_rest_is_another_programs(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct flags until = {.row = rows, .until = "--", .rest = offsetof(struct line, rest)};
    char *argv[] = {arena_strdup(&arena, "test"), arena_strdup(&arena, "a"),
                    arena_strdup(&arena, "--"), arena_strdup(&arena, "--on"), NULL};
    struct line l = {0};

    flags_parse(&until, 4, argv, &l, &arena);
    assert_int_equal(l.n_args, 1);
    assert_string_equal(l.rest[0], "--on");
    assert_null(l.rest[1]);
    assert_false(l.on);
    l = (struct line){0};
    flags_parse(&until, 3, argv, &l, &arena);
    assert_non_null(l.rest);
    l = (struct line){0};
    flags_parse(&until, 2, argv, &l, &arena);
    assert_null(l.rest);
}

/* ---- what ends the process */

struct ending {
    int status;
    char text[2048];
};

static void be_child(const struct flags *what, const char *const words[WORDS_MAX], int to)
{
    struct arena arena = {0};
    struct line line = {0};
    char *argv[WORDS_MAX + 1] = {arena_strdup(&arena, "test")};
    int argc = 1;

    for (size_t i = 0; i < WORDS_MAX - 1 && words[i]; i++)
        argv[argc++] = arena_strdup(&arena, words[i]);
    if (dup2(to, STDOUT_FILENO) < 0 || dup2(to, STDERR_FILENO) < 0)
        _exit(100);
    flags_parse(what, argc, argv, &line, &arena);
    _exit(101);
}

static struct ending end_of(const struct flags *what, const char *const words[WORDS_MAX])
{
    struct ending ending = {0};
    size_t len = 0;
    int to[2], status;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(to), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        be_child(what, words, to[1]);
    close(to[1]);
    while ((n = read(to[0], ending.text + len, sizeof(ending.text) - 1 - len)) > 0)
        len += (size_t)n;
    close(to[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    ending.status = WEXITSTATUS(status);
    return ending;
}

static void errors_are_told(void **state UNUSED)
{
    static const struct {
        const char *const words[WORDS_MAX];
        const char *text;
    } lines[] = {
        {{"--small", "x"}, "--small wants a number, not 'x'"},
        {{"--small", ""}, "--small wants a number, not ''"},
        {{"--small=-1"}, "--small wants a number, not '-1'"},
        {{"--small=4294967296"}, "--small wants a number, not '4294967296'"},
        {{"--small=1x"}, "--small wants a number, not '1x'"},
        {{"--big=18446744073709551616"}, "--big wants a number, not '18446744073709551616'"},
        {{"--above=1"}, "--above wants a number above 1, not '1'"},
        {{"--bounded=65"}, "--bounded wants a number up to 64, not '65'"},
        {{"--count=c"}, "--count wants a number, not 'c'"},
        {{"--cwd=a"}, "--cwd wants an absolute path, not 'a'"},
        {{"--env=="}, "--env wants NAME=VALUE, not '='"},
        {{"--env=A"}, "--env wants NAME=VALUE, not 'A'"},
        {{"--half=101"}, "'101' has no half"},
        {{"--on", "-ta"}, "--on and --text do not go together"},
        {{"--nothing"}, "unrecognized option '--nothing'"},
        {{"--text"}, "option '--text' requires an argument"},
    };

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        const struct ending e = end_of(&flags, lines[i].words);

        assert_int_equal(e.status, EXIT_USAGE);
        if (!strstr(e.text, lines[i].text))
            fail_msg("'%s' is not in '%s'", lines[i].text, e.text);
        assert_int_equal(strncmp(e.text, "stormlint test: ", 16), 0);
    }
}

static void help_is_the_table(void **state UNUSED)
{
    const struct ending e = end_of(&flags, (const char *const[WORDS_MAX]){"--help"});
    static const char *const parts[] = {"Usage: stormlint test [OPTION...] ARG...\nTest.\n",
                                        "  -t, --text=TEXT            A text\n",
                                        "\n More:\n      --big=N ",
                                        "      --name=NAME            A name\n"};

    assert_int_equal(e.status, 0);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!strstr(e.text, parts[i]))
            fail_msg("'%s' is not in '%s'", parts[i], e.text);
}

static const struct flag one_argument[] = {{"on", NULL, "Switch it on", INTO(struct line, on)},
                                           {NULL, "ARG", NULL, INTO(struct line, text)},
                                           {0}};

/* Without a row for arguments there are none; one text has room for one. */
static void arguments_have_to_fit(void **state UNUSED)
{
    const struct flags none = {.row = inner_rows}, single = {.row = one_argument, .args = "ARG"};
    struct ending e = end_of(&none, (const char *const[WORDS_MAX]){"a"});

    assert_int_equal(e.status, EXIT_USAGE);
    assert_non_null(strstr(e.text, "Too many arguments"));
    e = end_of(&single, (const char *const[WORDS_MAX]){"a", "b"});
    assert_int_equal(e.status, EXIT_USAGE);
    assert_non_null(strstr(e.text, "Usage: stormlint test [OPTION...] ARG\n"));
    assert_int_equal(end_of(&single, (const char *const[WORDS_MAX]){"a"}).status, 101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_go_where_they_belong),
        cmocka_unit_test(what_is_not_given_stays),
        cmocka_unit_test(numbers_have_their_members_range),
        cmocka_unit_test(lists_grow_and_texts_are_replaced),
        cmocka_unit_test(rows_of_a_member_and_functions),
        cmocka_unit_test(the_rest_is_another_programs),
        cmocka_unit_test(errors_are_told),
        cmocka_unit_test(help_is_the_table),
        cmocka_unit_test(arguments_have_to_fit),
    };

    return UNIT_RUN(tests);
}
