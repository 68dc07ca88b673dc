#include "base/json_write.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room for `more` bytes. */
static char *room(struct json_writer *w, size_t more)
{
    enum { FIRST = 4096 };

    if (w->size - w->len < more) {
        w->size = (w->size ? w->size * 2 : FIRST) + more;
        w->text = realloc(w->text, w->size);
        if (!w->text)
            abort();
    }
    return w->text + w->len;
}

static void add(struct json_writer *w, const char *bytes, size_t len)
{
    memcpy(room(w, len), bytes, len);
    w->len += len;
}

static void new_line(struct json_writer *w)
{
    const size_t spaces = (size_t)w->depth * 2;

    if (!w->indented)
        return;
    memset(room(w, spaces + 1), ' ', spaces + 1);
    w->text[w->len] = '\n';
    w->len += spaces + 1;
}

/* Printable ASCII without quotes and backslashes: 16 bytes at a time, there are megabytes of paths. */
static bool is_plain(const char *text, size_t len)
{
    enum { BLOCK = 16 };
    unsigned char odd = 0;

    for (; len >= BLOCK; text += BLOCK, len -= BLOCK)
        for (int i = 0; i < BLOCK; i++)
            odd |= text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\';
    for (; len; text++, len--)
        odd |= *text < ' ' || *text > '~' || *text == '"' || *text == '\\';
    return !odd;
}

static void add_plain(struct json_writer *w, const char *text, size_t len)
{
    char *to = room(w, len + 2);

    to[0] = to[len + 1] = '"';
    memcpy(to + 1, text, len);
    w->len += len + 2;
}

/* One byte of valid UTF-8 as it stands in a string, as jansson has it. */
static char *quoted(char *to, char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    static const char hex[] = "0123456789ABCDEF";
    const char *at = c ? strchr(plain, c) : NULL;

    if (at) {
        *to++ = '\\';
        *to++ = letter[at - plain];
    } else if ((unsigned char)c < ' ') {
        to = stpcpy(to, "\\u00");
        *to++ = hex[c >> 4];
        *to++ = hex[c & 15];
    } else {
        *to++ = c;
    }
    return to;
}

static void add_quoted(struct json_writer *w, const char *text, size_t len)
{
    enum { LONGEST = 6 }; /* \u001f */
    char *to, *from;

    if (is_plain(text, len)) {
        add_plain(w, text, len);
        return;
    }
    from = to = room(w, LONGEST * len + 2);
    *to++ = '"';
    for (size_t i = 0; i < len; i++)
        to = quoted(to, text[i]);
    *to++ = '"';
    w->len += (size_t)(to - from);
}

/* What stands before a value: a comma, a line of its own, its key. */
static void begin_value(struct json_writer *w, const char *key)
{
    if (w->filled)
        add(w, ",", 1);
    if (w->depth)
        new_line(w);
    w->filled = true;
    if (!key)
        return;
    add_quoted(w, key, strlen(key));
    add(w, ": ", w->indented ? 2 : 1);
}

void json_write_begin(struct json_writer *w, const char *key, char open)
{
    if (w->depth == JSON_WRITE_DEPTH)
        abort();
    begin_value(w, key);
    add(w, &open, 1);
    w->close[w->depth++] = open == '{' ? '}' : ']';
    w->filled = false;
}

void json_write_end(struct json_writer *w)
{
    const char close = w->close[--w->depth];

    if (w->filled)
        new_line(w);
    add(w, &close, 1);
    w->filled = true;
}

void json_write_text(struct json_writer *w, const char *key, const char *text)
{
    const size_t len = text ? strlen(text) : 0;
    CLEANUP(arena_release) struct arena arena = {0};

    begin_value(w, key);
    if (!text) {
        add(w, "null", 4);
    } else if (is_plain(text, len)) { /* as nearly all are */
        add_plain(w, text, len);
    } else {
        text = str_escape(&arena, text);
        add_quoted(w, text, strlen(text));
    }
}

void json_write_int(struct json_writer *w, const char *key, int64_t value)
{
    char text[24], *at = text + sizeof(text);
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;

    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *--at = '-';
    begin_value(w, key);
    add(w, at, (size_t)(text + sizeof(text) - at));
}

static void write_real(struct json_writer *w, const char *key, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);

    if (!text)
        abort();
    begin_value(w, key);
    add(w, text, strlen(text));
    free(text);
}

static void write_scalar(struct json_writer *w, const char *key, const json_t *value)
{
    const char *word = json_is_null(value) ? "null" : json_is_true(value) ? "true" : "false";

    if (json_is_string(value)) {
        begin_value(w, key);
        add_quoted(w, json_string_value(value), json_string_length(value));
    } else if (json_is_integer(value)) {
        json_write_int(w, key, json_integer_value(value));
    } else if (json_is_real(value)) {
        write_real(w, key, value);
    } else {
        begin_value(w, key);
        add(w, word, strlen(word));
    }
}

static void write_value(struct json_writer *w, const char *key, json_t *value)
{
    const char *name;
    json_t *member;
    size_t i;

    if (json_is_object(value)) {
        json_write_begin(w, key, '{');
        json_object_foreach (value, name, member)
            write_value(w, name, member);
        json_write_end(w);
    } else if (json_is_array(value)) {
        json_write_begin(w, key, '[');
        json_array_foreach (value, i, member)
            write_value(w, NULL, member);
        json_write_end(w);
    } else {
        write_scalar(w, key, value);
    }
}

void json_write_value(struct json_writer *w, const char *key, json_t *value)
{
    write_value(w, key, value);
    json_decref(value);
}

void json_write_finish(struct json_writer *w)
{
    add(w, "\n", 1);
}

int json_write_print(struct json_writer *w, FILE *to, struct err *err)
{
    json_write_finish(w);
    if (fwrite(w->text, 1, w->len, to) != w->len)
        return err_set(err, EIO, "cannot write JSON: %s", strerror(errno));
    return 0;
}
