/*
 * Flags: what a command takes, as a table. A row says how an option is written and where its value
 * goes; argp reads the command line by it, prints --help, and answers what is wrong.
 *
 *	struct trace_options {
 *		struct options common;
 *		bool calls;
 *	};
 *
 *	static const struct flag rows[] = {
 *		{"calls", NULL, "List every call", INTO(struct trace_options, calls)},
 *		{ROWS(struct trace_options, common, options_rows)},
 *		{0},
 *	};
 *	static const struct flags flags = {rows, "PROGRAM", "Predict the calls ...", check};
 *
 * What is not given stays as it was in the struct. Given twice, the last one holds, but for lists.
 */
#pragma once

#include "base/arena.h"

enum flag_kind {
    FLAG_NONE,   /* without help the table's end, else a heading over the rows that follow */
    FLAG_TEXT,   /* const char *, as it was written */
    FLAG_PATH,   /* const char *, `\xNN` read back */
    FLAG_LIST,   /* const char ** and how many, `\xNN` read back; repeatable */
    FLAG_ON,     /* bool, becomes true */
    FLAG_UINT32, /* whole numbers from `min` to `max` */
    FLAG_UINT64,
    FLAG_CALL, /* whatever `take` makes of it */
    FLAG_ROWS, /* the rows of another table, for the struct that is a member of this one */
};

struct flag {
    const char *name;    /* --NAME; NULL: what is no option, the arguments */
    const char *arg;     /* its value, as --help calls it; NULL: it has none */
    const char *help;    /* one sentence for --help */
    enum flag_kind kind; /* this and the next two by one of the macros below */
    size_t at;           /* where the value goes: an offset in the command's struct */
    size_t count;        /* of a list: where its length is, a size_t */
    int letter;          /* -L, too; 0: there is none */
    size_t given;        /* where a bool becomes true when it is given; 0: nowhere */
    uint64_t min, max;   /* of a number; max 0: what the member holds */

    /* Of a text: NULL, or whether it is one; else the error is "--NAME wants WANTS, not '...'". */
    bool (*is)(const char *text);
    const char *wants;

    /* Take a value in (NULL: the option has none); what it makes is the arena's. Errors are told. */
    int (*take)(void *into, const char *text, struct arena *arena, struct err *err);
    const struct flag *rows;
};

/* The value goes into a member, and what it has to be follows from its type. */
#define INTO(type, member)                                                                         \
    .kind = _Generic(((type *)0)->member,                                                          \
                     const char *: FLAG_TEXT,                                                      \
                     bool: FLAG_ON,                                                                \
                     uint32_t: FLAG_UINT32,                                                        \
                     uint64_t: FLAG_UINT64),                                                       \
    .at = offsetof(type, member)
#define PATH(type, member)                                                                         \
    .kind = _Generic(((type *)0)->member, const char * : FLAG_PATH), .at = offsetof(type, member)
#define LIST(type, member, n)                                                                      \
    .kind = _Generic(((type *)0)->member, const char **: FLAG_LIST), .at = offsetof(type, member), \
    .count = offsetof(type, n)

/* A function takes the value in: into the command's struct, or into a member of it. */
#define CALL(fn)                  .kind = FLAG_CALL, .take = (fn)
#define CALL_ON(type, member, fn) CALL(fn), .at = offsetof(type, member)

#define ROWS(type, member, others) .kind = FLAG_ROWS, .at = offsetof(type, member), .rows = (others)

struct flags {
    const struct flag *row;
    const char *args; /* the arguments, as --help tells them, a line for each way; NULL: none */
    const char *doc;  /* what the command does; behind \v, what is told after the options */

    const char
        *until;  /* the word behind which the line is another program's; NULL: there is none */
    size_t rest; /* where that goes, a char **, NULL-ended; the word is not there: it stays */

    /* NULL, or whether all of it together makes sense; asked last. Errors are told. */
    int (*check)(void *into, struct err *err);
};

/*
 * Read a command's line into its struct. Anything wrong ends the process with EXIT_USAGE, --help
 * with 0, as argp does. argv[0] is the command's name. Texts are argv's or the arena's.
 */
void flags_parse(const struct flags *flags, int argc, char **argv, void *into, struct arena *arena);

/* A whole number up to `max`, and nothing else. */
bool flag_number(const char *text, uint64_t max, uint64_t *ret_number);

/* What `is` may be: NAME=VALUE, NAME not empty; a path that starts with a slash. */
bool flag_is_assignment(const char *text);
bool flag_is_absolute(const char *text);
