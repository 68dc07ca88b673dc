#include "cli/flags.h"

#include "base/str.h"
#include "cli/command.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_FIRST = 0x100 }; /* of options without a letter: no character */

/* A row, and the struct that its value goes into. */
struct place {
    const struct flag *flag;
    char *into;
    int key; /* argp's */
};

/* What argp's parser is given. */
struct line {
    const struct flags *flags;
    void *into;
    struct arena *arena;
    struct place *place;
    struct argp_option *option;
    size_t n_places, n_options;
};

/* ---- the table, as argp's */

static void add_option(struct line *l, struct argp_option option)
{
    l->option = arena_grow(l->arena, l->option, l->n_options, sizeof(*l->option));
    l->option[l->n_options++] = option;
}

static void add_row(struct line *l, const struct flag *flag, char *into)
{
    const int key = !flag->name    ? ARGP_KEY_ARG
                    : flag->letter ? flag->letter
                                   : KEY_FIRST + (int)l->n_places;

    if (flag->kind != FLAG_NONE) {
        l->place = arena_grow(l->arena, l->place, l->n_places, sizeof(*l->place));
        l->place[l->n_places++] = (struct place){flag, into, key};
    }
    if (flag->kind == FLAG_NONE || flag->name)
        add_option(l, (struct argp_option){flag->name, key, flag->arg, 0, flag->help, 0});
}

static void add_rows(struct line *l, const struct flag *flag, char *into)
{
    for (; flag->kind != FLAG_NONE || flag->help; flag++)
        if (flag->kind == FLAG_ROWS)
            add_rows(l, flag->rows, into + flag->at);
        else
            add_row(l, flag, into);
}

/* ---- values */

bool flag_number(const char *text, uint64_t max, uint64_t *ret_number)
{
    unsigned long long number;
    char *end;

    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno || end == text || *end || strchr(text, '-') || number > max)
        return false;
    *ret_number = number;
    return true;
}

bool flag_is_assignment(const char *text)
{
    return *text != '=' && strchr(text, '=');
}

bool flag_is_absolute(const char *text)
{
    return *text == '/';
}

static int take_number(const struct flag *flag, void *to, const char *text, struct err *err)
{
    const uint64_t limit = flag->kind == FLAG_UINT32 ? UINT32_MAX : UINT64_MAX;
    uint64_t number;

    if (!flag_number(text, flag->max ? flag->max : limit, &number) || number < flag->min) {
        if (flag->max)
            return err_set(err, EINVAL, "--%s wants a number up to %" PRIu64 ", not '%s'",
                           flag->name, flag->max, text);
        if (flag->min)
            return err_set(err, EINVAL, "--%s wants a number above %" PRIu64 ", not '%s'",
                           flag->name, flag->min - 1, text);
        return err_set(err, EINVAL, "--%s wants a number, not '%s'", flag->name, text);
    }
    if (flag->kind == FLAG_UINT32)
        *(uint32_t *)to = (uint32_t)number;
    else
        *(uint64_t *)to = number;
    return 0;
}

static void take_item(const struct place *p, void *to, const char *text, struct arena *arena)
{
    size_t *n = (void *)(p->into + p->flag->count);
    const char ***list = to;

    *list = arena_grow(arena, *list, *n, sizeof(**list));
    (*list)[(*n)++] = str_unescape(arena, text);
}

static int take(const struct place *p, const char *text, struct arena *arena, struct err *err)
{
    const struct flag *flag = p->flag;
    void *to = p->into + flag->at;

    if (flag->is && !flag->is(text))
        return err_set(err, EINVAL, "--%s wants %s, not '%s'", flag->name, flag->wants, text);
    if (flag->given)
        *(bool *)(p->into + flag->given) = true;
    switch (flag->kind) {
    case FLAG_TEXT:
        *(const char **)to = text;
        return 0;
    case FLAG_PATH:
        *(const char **)to = str_unescape(arena, text);
        return 0;
    case FLAG_LIST:
        take_item(p, to, text, arena);
        return 0;
    case FLAG_ON:
        *(bool *)to = true;
        return 0;
    case FLAG_UINT32:
    case FLAG_UINT64:
        return take_number(flag, to, text, err);
    case FLAG_CALL:
        return flag->take(to, text, arena, err);
    case FLAG_NONE:
    case FLAG_ROWS: /* is no place */
        break;
    }
    abort();
}

/* ---- the line */

static const struct place *place_of(const struct line *l, int key)
{
    for (size_t i = 0; i < l->n_places; i++)
        if (l->place[i].key == key)
            return &l->place[i];
    return NULL;
}

/* One text has room for one argument. */
static bool is_full(const struct place *p, const struct argp_state *state)
{
    return p->key == ARGP_KEY_ARG && state->arg_num > 0 &&
           (p->flag->kind == FLAG_TEXT || p->flag->kind == FLAG_PATH);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const struct line *l = state->input;
    const struct place *place = place_of(l, key);
    struct err err;
    int r = 0;

    if (key == ARGP_KEY_END)
        r = l->flags->check ? l->flags->check(l->into, &err) : 0;
    else if (!place)
        return ARGP_ERR_UNKNOWN;
    else if (is_full(place, state))
        argp_usage(state);
    else
        r = take(place, arg, l->arena, &err);
    if (r < 0)
        argp_error(state, "%s", err.text);
    return 0;
}

/* Take what is another program's off the line: argp would mix it with ours. */
static int split(const struct flags *flags, int argc, char **argv, void *into)
{
    for (int i = 1; flags->until && i < argc; i++)
        if (!strcmp(argv[i], flags->until)) {
            *(char ***)(void *)((char *)into + flags->rest) = argv + i + 1;
            return i;
        }
    return argc;
}

void flags_parse(const struct flags *flags, int argc, char **argv, void *into, struct arena *arena)
{
    static char name[64];
    struct line line = {.flags = flags, .into = into, .arena = arena};
    char **words = arena_calloc(arena, (size_t)argc + 1, sizeof(*words));
    struct argp argp = {.parser = parse, .args_doc = flags->args, .doc = flags->doc};

    argc = split(flags, argc, argv, into);
    add_rows(&line, flags->row, into);
    add_option(&line, (struct argp_option){0});
    argp.options = line.option;
    /* argp names the program after argv[0] */
    (void)snprintf(name, sizeof(name), "stormlint %s", argv[0]);
    memcpy(words, argv, (size_t)argc * sizeof(*words));
    words[0] = name;
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, words, 0, NULL, &line) != 0)
        exit(EXIT_USAGE);
}
