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

json_t *json_texts(const char *const *text, size_t n)
{
    json_t *list = must(json_array());

    for (size_t i = 0; i < n; i++)
        json_push(list, json_text(text[i]));
    return list;
}

json_t *json_time(int64_t at)
{
    CLEANUP(arena_release) struct arena arena = {0};

    return json_text(at ? str_time(&arena, at) : NULL);
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

/* ---- lines */

static void flush(struct json_line *line)
{
    line->failed |= fwrite(line->bytes, 1, line->n, line->to) != line->n;
    line->n = 0;
}

static void add(struct json_line *line, const char *bytes, size_t size)
{
    while (size > sizeof(line->bytes) - line->n) {
        const size_t part = sizeof(line->bytes) - line->n;

        memcpy(line->bytes + line->n, bytes, part);
        line->n += part;
        bytes += part;
        size -= part;
        flush(line);
    }
    memcpy(line->bytes + line->n, bytes, size);
    line->n += size;
}

static int add_dumped(const char *bytes, size_t size, void *line)
{
    add(line, bytes, size);
    return 0;
}

/* What jansson makes of a value. */
static void add_value(struct json_line *line, const json_t *value, size_t flags)
{
    line->failed |= json_dump_callback(value, add_dumped, line,
                                       JSON_PRESERVE_ORDER | JSON_ENCODE_ANY | flags) < 0;
}

/* True when nothing in a text has to be escaped: printable ASCII without quote and backslash. */
static bool is_plain(const char *text, size_t len)
{
    bool plain = true;

    for (size_t i = 0; i < len; i++)
        plain &= text[i] >= 0x20 && text[i] < 0x7f && text[i] != '"' && text[i] != '\\';
    return plain;
}

static void add_text(struct json_line *line, const char *text)
{
    const size_t len = text ? strlen(text) : 0;

    if (!text) {
        add(line, "null", 4);
    } else if (is_plain(text, len)) {
        add(line, "\"", 1);
        add(line, text, len);
        add(line, "\"", 1);
    } else {
        json_auto_t *value = json_text(text);

        add_value(line, value, JSON_COMPACT);
    }
}

/* Room for `size` bytes in one piece. */
static char *room(struct json_line *line, size_t size)
{
    if (size > sizeof(line->bytes) - line->n)
        flush(line);
    if (size > sizeof(line->bytes))
        abort();
    return line->bytes + line->n;
}

/* What stands before a value: a brace or a comma, the key. */
static void add_key(struct json_line *line, const char *key)
{
    const size_t len = strlen(key);
    char *to = room(line, len + 4);

    *to++ = line->before;
    *to++ = '"';
    to = mempcpy(to, key, len);
    *to++ = '"';
    *to++ = ':';
    line->n += len + 4;
    line->before = ',';
}

void json_line_begin(struct json_line *line, FILE *to)
{
    line->to = to;
    line->n = 0;
    line->failed = false;
    line->before = '{';
}

void json_line_open(struct json_line *line, const char *key)
{
    add_key(line, key);
    line->before = '{';
}

void json_line_close(struct json_line *line)
{
    add(line, "{}", line->before == '{' ? 2 : 0);
    add(line, "}", line->before != '{');
    line->before = ',';
}

void json_line_text(struct json_line *line, const char *key, const char *text)
{
    add_key(line, key);
    add_text(line, text);
}

void json_line_texts(struct json_line *line, const char *key, const char *const *text, size_t n)
{
    add_key(line, key);
    add(line, "[", 1);
    for (size_t i = 0; i < n; i++) {
        add(line, ",", i > 0);
        add_text(line, text[i]);
    }
    add(line, "]", 1);
}

void json_line_int(struct json_line *line, const char *key, int64_t value)
{
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    char text[24], *at = text + sizeof(text);

    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *--at = '-';
    add_key(line, key);
    add(line, at, (size_t)(text + sizeof(text) - at));
}

void json_line_bool(struct json_line *line, const char *key, bool value)
{
    add_key(line, key);
    add(line, value ? "true" : "false", value ? 4 : 5);
}

static int finish(struct json_line *line, struct err *err)
{
    add(line, "\n", 1);
    flush(line);
    return line->failed ? err_set(err, EIO, "cannot write JSON: %s", strerror(errno)) : 0;
}

int json_line_end(struct json_line *line, struct err *err)
{
    json_line_close(line);
    return finish(line, err);
}

int json_print(const json_t *value, FILE *to, bool indented, struct err *err)
{
    struct json_line line = {.to = to};

    add_value(&line, value, indented ? JSON_INDENT(2) : JSON_COMPACT);
    return finish(&line, err);
}

/* ---- a long list, item by item */

/* What is written there starts its lines with `indent` spaces. */
struct indented {
    struct json_line *line;
    size_t indent;
};

static int add_indented(const char *bytes, size_t size, void *data)
{
    const struct indented *to = data;

    while (size) {
        const char *end = memchr(bytes, '\n', size);
        const size_t part = end ? (size_t)(end + 1 - bytes) : size;

        add(to->line, bytes, part);
        for (size_t i = 0; end && i < to->indent; i++)
            add(to->line, " ", 1);
        bytes += part;
        size -= part;
    }
    return 0;
}

json_t *json_items(size_t n)
{
    json_t *list = must(json_array());

    if (n)
        json_push(list, json_string(JSON_ITEMS)); /* no text that is escaped has it */
    return list;
}

int json_print_items(const json_t *frame, const struct json_items *items, FILE *to, struct err *err)
{
    static const char MARK[] = "\"\\u0001\"";
    struct json_line line = {.to = to};
    struct indented in = {.line = &line};
    char *text = json_dumps(frame, JSON_PRESERVE_ORDER | JSON_ENCODE_ANY | JSON_INDENT(2));
    const char *mark, *rest = text;

    if (!text)
        abort();
    mark = strstr(text, MARK);
    if (mark) {
        while (mark - in.indent > text && mark[-1 - (ptrdiff_t)in.indent] == ' ')
            in.indent++;
        add(&line, text, (size_t)(mark - text));
        rest = mark + strlen(MARK);
    }
    for (size_t i = 0; mark && i < items->n; i++) {
        json_auto_t *item = items->item(items->data, i);

        if (i)
            (void)add_indented(",\n", 2, &in);
        line.failed |=
            json_dump_callback(item, add_indented, &in,
                               JSON_PRESERVE_ORDER | JSON_ENCODE_ANY | JSON_INDENT(2)) < 0;
    }
    add(&line, rest, strlen(rest));
    free(text);
    return finish(&line, err);
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
