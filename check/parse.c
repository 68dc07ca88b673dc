#include "check/parse.h"

#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* `?` lets strace skip what the machine does not have. */
const char parse_syscalls[] = "trace=execve,?open,openat,?openat2,?stat,?stat64,?lstat,?newfstatat,"
                              "?fstatat64,?statx,?access,?faccessat,?faccessat2,?readlink,"
                              "?readlinkat,mprotect,?arch_prctl,set_tid_address";

enum {
    MAX_ARGS = 8,
    MAX_DEPTH = 16, /* of brackets inside one argument */
};

struct span {
    const char *text;
    size_t len;
};

/* One system call, split: name(arg, arg) = result. */
struct syscall_line {
    struct span name;
    struct span arg[MAX_ARGS];
    size_t n_args;
    struct span result; /* what follows "= " */
};

/* System calls on paths. Arguments are counted from 0; -1: there is none. */
static const struct path_call {
    const char *name;
    enum call_kind kind;
    int dir_arg, path_arg, stat_arg;
} path_calls[] = {
    {"openat", CALL_OPEN, 0, 1, -1},       {"newfstatat", CALL_STAT, 0, 1, 2},
    {"open", CALL_OPEN, -1, 0, -1},        {"stat", CALL_STAT, -1, 0, 1},
    {"access", CALL_ACCESS, -1, 0, -1},    {"readlink", CALL_READLINK, -1, 0, -1},
    {"openat2", CALL_OPEN, 0, 1, -1},      {"stat64", CALL_STAT, -1, 0, 1},
    {"lstat", CALL_STAT, -1, 0, 1},        {"fstatat64", CALL_STAT, 0, 1, 2},
    {"statx", CALL_STAT, 0, 1, 4},         {"faccessat", CALL_ACCESS, 0, 1, -1},
    {"faccessat2", CALL_ACCESS, 0, 1, -1}, {"readlinkat", CALL_READLINK, 0, 1, -1},
};

static bool span_is(struct span span, const char *text)
{
    return span.len == strlen(text) && !memcmp(span.text, text, span.len);
}

static bool span_starts(struct span span, const char *text)
{
    return span.len >= strlen(text) && !memcmp(span.text, text, strlen(text));
}

static bool span_holds(struct span span, const char *text)
{
    return memmem(span.text, span.len, text, strlen(text)) != NULL;
}

static int bad_line(struct err *err, struct span line, const char *why)
{
    CLEANUP(arena_release) struct arena scratch = {0};

    return err_set(err, EINVAL, "not a line of strace (%s): '%s'", why,
                   str_escape_n(&scratch, line.text, line.len < 200 ? line.len : 200));
}

/* ---- strings */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The byte behind a backslash at text[*at], moving *at over it; -1: not an escape of strace's. */
static int unescape(struct span span, size_t *at)
{
    static const char letters[] = "n\nt\tr\rv\vf\fa\ab\be\033";
    char c = span.text[*at];
    const char *l;
    int value = 0, digits = 0;

    if (c == '\\' || c == '"' || c == '\'') {
        (*at)++;
        return (unsigned char)c;
    }
    if (c == 'x') {
        int high = *at + 1 < span.len ? hex_digit(span.text[*at + 1]) : -1;
        int low = *at + 2 < span.len ? hex_digit(span.text[*at + 2]) : -1;

        *at += 3;
        return high < 0 || low < 0 ? -1 : high * 16 + low;
    }
    while (*at < span.len && digits < 3 && span.text[*at] >= '0' && span.text[*at] <= '7') {
        value = value * 8 + (span.text[(*at)++] - '0');
        digits++;
    }
    if (digits)
        return value > 255 ? -1 : value;
    for (l = letters; *l; l += 2)
        if (*l == c) {
            (*at)++;
            return l[1];
        }
    return -1;
}

/*
 * The bytes of a quoted argument. An argument that is no string (NULL, an address that could not
 * be read) stays as it is written. NULL: malformed.
 */
static const char *string_value(struct span arg, struct arena *arena, bool *ret_cut)
{
    char *out;
    size_t n = 0, at = 1;

    if (arg.len == 0 || arg.text[0] != '"')
        return arena_strndup(arena, arg.text, arg.len);
    out = arena_alloc(arena, arg.len + 1);
    while (at < arg.len && arg.text[at] != '"') {
        int c = (unsigned char)arg.text[at++];

        if (c == '\\') {
            c = at < arg.len ? unescape(arg, &at) : -1;
            if (c <= 0) /* a path holds no zero byte */
                return NULL;
        }
        out[n++] = (char)c;
    }
    if (at >= arg.len)
        return NULL;
    *ret_cut = arg.len - at >= 4 && !memcmp(arg.text + at + 1, "...", 3);
    return out;
}

/* ---- splitting */

/* The index behind the string that starts at text[at]; 0: it does not end. */
static size_t string_end(struct span line, size_t at)
{
    for (at++; at < line.len; at++) {
        if (line.text[at] == '\\')
            at++;
        else if (line.text[at] == '"')
            return at + 1;
    }
    return 0;
}

static struct span trimmed(const char *text, size_t len)
{
    while (len && *text == ' ') {
        text++;
        len--;
    }
    while (len && text[len - 1] == ' ')
        len--;
    return (struct span){text, len};
}

static void add_arg(struct syscall_line *call, const char *text, size_t len)
{
    struct span arg = trimmed(text, len);

    if (call->n_args < MAX_ARGS && (arg.len || call->n_args))
        call->arg[call->n_args++] = arg;
}

/*
 * Split "name(args) = result". Brackets nest, strings may hold anything. NULL when it succeeded,
 * else what is wrong. "" when the call did not return (it was unfinished when the process died).
 */
static const char *split(struct span line, struct syscall_line *ret_call)
{
    size_t at = 0, from, depth = 0;

    while (at < line.len && (isalnum((unsigned char)line.text[at]) || line.text[at] == '_'))
        at++;
    if (at == 0 || at >= line.len || line.text[at] != '(')
        return "no name";
    *ret_call = (struct syscall_line){.name = {line.text, at}};
    from = ++at;
    while (at < line.len) {
        char c = line.text[at];

        if (c == '"') {
            at = string_end(line, at);
            if (!at)
                return "a string does not end";
            continue;
        }
        if (c == ')' && depth == 0)
            break;
        if (c == ',' && depth == 0) {
            add_arg(ret_call, line.text + from, at - from);
            from = at + 1;
        }
        if (strchr("([{", c) && c && ++depth > MAX_DEPTH)
            return "too many brackets";
        if (strchr(")]}", c) && c && depth-- == 0)
            return "brackets do not match";
        if (span_starts((struct span){line.text + at, line.len - at}, "<unfinished ..."))
            return "";
        at++;
    }
    if (at >= line.len)
        return "no end";
    add_arg(ret_call, line.text + from, at - from);
    for (at++; at < line.len && line.text[at] == ' ';)
        at++;
    if (at + 1 >= line.len || line.text[at] != '=' || line.text[at + 1] != ' ')
        return "no result";
    ret_call->result = trimmed(line.text + at + 2, line.len - at - 2);
    return ret_call->result.len ? NULL : "no result";
}

/* ---- results */

/* errno by its name; 0: there is none of that name. */
static int errno_by_name(struct span name)
{
    for (int e = 1; e < 256; e++) {
        const char *known = strerrorname_np(e);

        if (known && span_is(name, known))
            return e;
    }
    return 0;
}

/*
 * 0: the call succeeded; else its errno; -1: malformed; -2: it did not come to an end and is made
 * again ("? ERESTARTSYS") or never returned ("?").
 */
static int result_error(struct span result)
{
    struct span name;

    if (result.text[0] == '?')
        return -2;
    if (isdigit((unsigned char)result.text[0]))
        return 0;
    if (!span_starts(result, "-1 E"))
        return -1;
    name = (struct span){result.text + 3, 0};
    while (3 + name.len < result.len && isalnum((unsigned char)name.text[name.len]))
        name.len++;
    return errno_by_name(name) ?: -1;
}

/* ---- lines */

/* A relative path that starts at an open directory is written as "[fd]/path". */
static const char *with_directory(struct arena *arena, struct span dir, const char *path)
{
    if (*path == '/' || span_starts(dir, "AT_FDCWD"))
        return path;
    return arena_printf(arena, "[%.*s]/%s", (int)dir.len, dir.text, path);
}

static int parse_path_call(const struct path_call *known, const struct syscall_line *call,
                           struct span line, struct arena *arena, struct line *ret_line,
                           struct err *err)
{
    int error = result_error(call->result);
    const char *path;

    if (error == -2)
        return 0;
    if (error < 0)
        return bad_line(err, line, "its result");
    if (call->n_args <= (size_t)known->path_arg)
        return bad_line(err, line, "its path is missing");
    path = string_value(call->arg[known->path_arg], arena, &ret_line->cut);
    if (!path)
        return bad_line(err, line, "its path");
    if (known->dir_arg >= 0) {
        struct span dir = call->arg[known->dir_arg];

        if (!*path && !span_starts(dir, "AT_FDCWD"))
            return 0; /* fstat() in newer clothes: no path */
        path = with_directory(arena, dir, path);
    }
    ret_line->kind = LINE_CALL;
    ret_line->call = (struct call){.kind = known->kind, .error = error, .request = -1};
    ret_line->call.path = path;
    if (error == 0 && known->stat_arg >= 0 && call->n_args > (size_t)known->stat_arg)
        ret_line->call.is_dir = span_holds(call->arg[known->stat_arg], "S_IFDIR");
    return 0;
}

static int parse_exec(const struct syscall_line *call, struct span line, struct arena *arena,
                      struct line *ret_line, struct err *err)
{
    int error = result_error(call->result);

    if (error == -2)
        return 0;
    if (error < 0)
        return bad_line(err, line, "its result");
    if (call->n_args < 1)
        return bad_line(err, line, "its path is missing");
    ret_line->path = string_value(call->arg[0], arena, &ret_line->cut);
    if (!ret_line->path)
        return bad_line(err, line, "its path");
    ret_line->kind = LINE_EXEC;
    ret_line->error = error;
    return 0;
}

static int parse_call(struct span line, struct arena *arena, struct line *ret_line, struct err *err)
{
    struct syscall_line call;
    const char *wrong = split(line, &call);
    const struct path_call *known;

    if (wrong && !*wrong)
        return 0;
    if (wrong)
        return bad_line(err, line, wrong);
    for_each (known, path_calls)
        if (span_is(call.name, known->name))
            return parse_path_call(known, &call, line, arena, ret_line, err);
    if (span_is(call.name, "execve"))
        return parse_exec(&call, line, arena, ret_line, err);
    if (span_is(call.name, "mprotect") && call.n_args == 3 && span_is(call.arg[2], "PROT_READ"))
        ret_line->kind = LINE_SEAL;
    if (span_is(call.name, "set_tid_address") ||
        (span_is(call.name, "arch_prctl") && call.n_args && span_is(call.arg[0], "ARCH_SET_FS")))
        ret_line->kind = LINE_THREAD_POINTER;
    return 0;
}

/* "+++ exited with 127 +++", "+++ killed by SIGKILL +++", "--- stopped by SIGSTOP ---". */
static int parse_event(struct span line, struct arena *arena, struct line *ret_line,
                       struct err *err)
{
    static const char exited[] = "+++ exited with ", killed[] = "+++ killed by ";

    if (span_starts(line, exited)) {
        char digits[8] = "";
        size_t at = sizeof(exited) - 1, n = 0;

        while (at < line.len && n < sizeof(digits) - 1 && isdigit((unsigned char)line.text[at]))
            digits[n++] = line.text[at++];
        if (!n)
            return bad_line(err, line, "its exit status");
        ret_line->kind = LINE_EXITED;
        ret_line->status = (int)strtol(digits, NULL, 10);
    } else if (span_starts(line, killed)) {
        size_t at = sizeof(killed) - 1, n = 0;

        while (at + n < line.len && line.text[at + n] != ' ')
            n++;
        ret_line->kind = LINE_KILLED;
        ret_line->path = arena_strndup(arena, line.text + at, n);
    } else if (span_starts(line, "--- stopped by ")) {
        ret_line->kind = LINE_STOPPED;
    } else if (!span_starts(line, "--- SIG") && !span_starts(line, "+++ superseded")) {
        return bad_line(err, line, "its kind");
    }
    return 0;
}

int parse_line(const char *text, size_t len, struct arena *arena, struct line *ret_line,
               struct err *err)
{
    struct span span = {text, len};
    struct line line = {.kind = LINE_OTHER};
    int r;

    if (len > PARSE_LINE_MAX)
        return bad_line(err, span, "too long");
    if (span_starts(span, "+++ ") || span_starts(span, "--- "))
        r = parse_event(span, arena, &line, err);
    else
        r = parse_call(span, arena, &line, err);
    if (r == 0)
        *ret_line = line;
    return r;
}
