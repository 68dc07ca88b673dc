#include "base/json.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static json_t *must(json_t *value)
{
    if (!value)
        abort();
    return value;
}

json_t *json_text(const char *text)
{
    CLEANUP(arena_release) struct arena arena = {0};

    /* what is escaped is printable UTF-8: there is nothing to check again */
    return text ? must(json_string_nocheck(str_escape(&arena, text))) : must(json_null());
}

void json_put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(object, key, must(value)) < 0)
        abort();
}

void json_push(json_t *array, json_t *value)
{
    if (json_array_append_new(array, must(value)) < 0)
        abort();
}

void json_put_text(json_t *object, const char *key, const char *text)
{
    json_put(object, key, json_text(text));
}

void json_put_int(json_t *object, const char *key, int64_t value)
{
    json_put(object, key, json_integer(value));
}

/* ---- printing */

/* What is gathered before stdio sees it: values come in a few bytes at a time. */
struct sink {
    FILE *to;
    size_t n;
    char bytes[4096];
};

static int sink_flush(struct sink *sink)
{
    const size_t n = sink->n;

    sink->n = 0;
    return fwrite(sink->bytes, 1, n, sink->to) == n ? 0 : -1;
}

static int sink_add(const char *bytes, size_t size, void *data)
{
    struct sink *sink = data;

    while (size > sizeof(sink->bytes) - sink->n) {
        const size_t part = sizeof(sink->bytes) - sink->n;

        memcpy(sink->bytes + sink->n, bytes, part);
        sink->n += part;
        bytes += part;
        size -= part;
        if (sink_flush(sink) < 0)
            return -1;
    }
    memcpy(sink->bytes + sink->n, bytes, size);
    sink->n += size;
    return 0;
}

static int print_by_jansson(struct sink *sink, const json_t *value, size_t flags)
{
    return json_dump_callback(value, sink_add, sink, JSON_PRESERVE_ORDER | JSON_ENCODE_ANY | flags);
}

/* True when nothing in a text has to be escaped: printable ASCII without quote and backslash. */
static bool is_plain(const char *text, size_t len)
{
    bool plain = true;

    for (size_t i = 0; i < len; i++)
        plain &= text[i] >= 0x20 && text[i] < 0x7f && text[i] != '"' && text[i] != '\\';
    return plain;
}

/* A quoted text, with what stands behind it: ":" or nothing. */
static int print_plain(struct sink *sink, const char *text, size_t len, const char *behind)
{
    int r = sink_add("\"", 1, sink);

    r |= sink_add(text, len, sink);
    r |= sink_add("\"", 1, sink);
    return r | sink_add(behind, strlen(behind), sink);
}

static int print_key(struct sink *sink, const char *key)
{
    const size_t len = strlen(key);
    json_t *odd;
    int r;

    if (is_plain(key, len))
        return print_plain(sink, key, len, ":");
    odd = must(json_string_nocheck(key));
    r = print_by_jansson(sink, odd, JSON_COMPACT);
    json_decref(odd);
    return r | sink_add(":", 1, sink);
}

static int print_integer(struct sink *sink, json_int_t value)
{
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    char text[24], *at = text + sizeof(text);

    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *--at = '-';
    return sink_add(at, (size_t)(text + sizeof(text) - at), sink);
}

static int print_line(struct sink *sink, const json_t *value);

static int print_object(struct sink *sink, const json_t *value)
{
    json_t *object = (json_t *)(uintptr_t)value; /* json_object_iter() takes no const */
    int r = sink_add("{", 1, sink);
    const char *separator = "";

    for (void *i = json_object_iter(object); i && r == 0; i = json_object_iter_next(object, i)) {
        r |= sink_add(separator, strlen(separator), sink);
        r |= print_key(sink, json_object_iter_key(i));
        r |= print_line(sink, json_object_iter_value(i));
        separator = ",";
    }
    return r | sink_add("}", 1, sink);
}

static int print_array(struct sink *sink, const json_t *array)
{
    const size_t n = json_array_size(array);
    int r = sink_add("[", 1, sink);

    for (size_t i = 0; i < n && r == 0; i++) {
        r |= sink_add(",", i > 0, sink);
        r |= print_line(sink, json_array_get(array, i));
    }
    return r | sink_add("]", 1, sink);
}

/*
 * A value without blanks. What most answers are made of is written here: jansson formats numbers
 * with printf and looks at every character, which was a third of the time of a ranking. All else
 * is left to it.
 */
static int print_line(struct sink *sink, const json_t *value)
{
    if (json_is_object(value))
        return print_object(sink, value);
    if (json_is_array(value))
        return print_array(sink, value);
    if (json_is_integer(value))
        return print_integer(sink, json_integer_value(value));
    if (json_is_string(value) && is_plain(json_string_value(value), json_string_length(value)))
        return print_plain(sink, json_string_value(value), json_string_length(value), "");
    return print_by_jansson(sink, value, JSON_COMPACT);
}

int json_print(const json_t *value, FILE *to, bool indented, struct err *err)
{
    struct sink sink __attribute__((uninitialized));
    int r;

    sink.to = to;
    sink.n = 0;
    r = indented ? print_by_jansson(&sink, value, JSON_INDENT(2)) : print_line(&sink, value);
    if (r < 0 || sink_add("\n", 1, &sink) < 0 || sink_flush(&sink) < 0)
        return err_set(err, EIO, "cannot write JSON: %s", strerror(errno));
    return 0;
}

/* ---- reading */

static void file_closep(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

int json_read_file(const char *path, size_t max_bytes, json_t **ret_value, struct err *err)
{
    CLEANUP(file_closep) FILE *file = fopen(path, "re");
    json_error_t why;
    json_t *value;
    long size;

    if (!file)
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0) {
        if ((size_t)size > max_bytes)
            return err_set(err, EFBIG, "'%s': %ld bytes, the limit is %zu", path, size, max_bytes);
        rewind(file);
    }
    value = json_loadf(file, JSON_REJECT_DUPLICATES, &why);
    if (!value)
        return err_set(err, EINVAL, "'%s', line %d: %s", path, why.line, why.text);
    *ret_value = value;
    return 0;
}
