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

/*
 * jansson writes a few bytes at a time, several of them for every value: they are gathered here,
 * since each would be a locked call of stdio.
 */
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

int json_print(const json_t *value, FILE *to, bool indented, struct err *err)
{
    const size_t flags = JSON_PRESERVE_ORDER | JSON_ENCODE_ANY;
    struct sink sink __attribute__((uninitialized));

    sink.to = to;
    sink.n = 0;
    if (json_dump_callback(value, sink_add, &sink,
                           flags | (indented ? JSON_INDENT(2) : JSON_COMPACT)) < 0 ||
        sink_add("\n", 1, &sink) < 0 || sink_flush(&sink) < 0)
        return err_set(err, EIO, "cannot write JSON: %s", strerror(errno));
    return 0;
}

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
