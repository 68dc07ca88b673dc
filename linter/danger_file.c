#include "linter/danger_file.h"
#include "base/str.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 20, MAX_ROWS = 10000 };

static const struct {
    const char *name;
    enum danger_key key;
    size_t at;
} columns[] = {
    {"soname", DANGER_BY_SONAME, offsetof(struct danger, soname)},
    {"path", DANGER_BY_PATH, offsetof(struct danger, path)},
    {"pname", DANGER_BY_PNAME, offsetof(struct danger, pname)},
    {"run_path", DANGER_BY_RUN_PATH, offsetof(struct danger, run_path)},
    {"symbol", DANGER_BY_SYMBOL, offsetof(struct danger, symbol)},
    {"env", DANGER_BY_ENV, offsetof(struct danger, env)},
    {"interp", DANGER_BY_INTERP, offsetof(struct danger, interp)},
};

static const char *const **column(struct danger *row, size_t at)
{
    return (const char *const **)(void *)((char *)row + at);
}

static const char *const *column_of(const struct danger *row, size_t at)
{
    return *(const char *const *const *)(const void *)((const char *)row + at);
}

static int find_verdict(const char *name, enum danger_verdict *ret_verdict)
{
    for (int v = DANGER_NA; v <= DANGER_REFUSE; v++)
        if (!strcmp(danger_verdict_name((enum danger_verdict)v), name)) {
            *ret_verdict = (enum danger_verdict)v;
            return 0;
        }
    return -EINVAL;
}

static int parse_globs(json_t *list, struct arena *arena, const char *const **ret_globs)
{
    const char **globs = arena_calloc(arena, json_array_size(list) + 1, sizeof(*globs));
    json_t *value;
    size_t i;

    json_array_foreach (list, i, value) {
        if (!json_is_string(value))
            return -EINVAL;
        globs[i] = str_unescape(arena, json_string_value(value));
    }
    *ret_globs = globs;
    return json_is_array(list) ? 0 : -EINVAL;
}

static int parse_match(json_t *match, struct arena *arena, struct danger *row, struct err *err)
{
    const char *key;
    json_t *list;
    size_t i;

    json_object_foreach (match, key, list) {
        for (i = 0; i < ARRAY_LEN(columns) && strcmp(columns[i].name, key) != 0; i++)
            ;
        if (i == ARRAY_LEN(columns) || parse_globs(list, arena, column(row, columns[i].at)) < 0)
            return err_set(err, EINVAL, "rule '%s': match '%s' is no key, or no list of globs",
                           row->id, key);
    }
    return 0;
}

static int parse_row(json_t *json, struct arena *arena, struct danger *row, struct err *err)
{
    const char *id, *why, *absolute = "ok", *farm = "ok", *note = "ok";
    json_error_t bad;
    json_t *match;

    if (json_unpack_ex(json, &bad, JSON_STRICT, "{s:s, s:o, s?s, s?s, s?s, s:s}", "id", &id,
                       "match", &match, "absolute", &absolute, "farm", &farm, "note", &note, "why",
                       &why))
        return err_set(err, EINVAL, "rule: %s", bad.text);
    *row = (struct danger){.id = str_unescape(arena, id), .why = str_unescape(arena, why)};
    if (!*row->id)
        return err_set(err, EINVAL, "rule: an empty id");
    if (find_verdict(absolute, &row->absolute) < 0 || find_verdict(farm, &row->farm) < 0 ||
        find_verdict(note, &row->note) < 0)
        return err_set(err, EINVAL, "rule '%s': there is no such verdict", row->id);
    return parse_match(match, arena, row, err);
}

int danger_parse(json_t *list, struct arena *arena, const struct danger **ret_rows, struct err *err)
{
    struct danger *rows;
    json_t *value;
    size_t i;
    int r;

    if (json_is_null(list)) {
        *ret_rows = NULL;
        return 0;
    }
    if (!json_is_array(list) || json_array_size(list) > MAX_ROWS)
        return err_set(err, EINVAL, "rules: expected a list, not too long");
    rows = arena_calloc(arena, json_array_size(list) + 1, sizeof(*rows));
    json_array_foreach (list, i, value)
        if ((r = parse_row(value, arena, &rows[i], err)) < 0)
            return r;
    *ret_rows = rows;
    return 0;
}

int danger_read(const char *path, struct arena *arena, const struct danger **ret_rows,
                struct err *err)
{
    json_t *root;
    int r = json_read_file(path, MAX_FILE_BYTES, &root, err);

    if (r < 0)
        return r;
    if ((r = danger_parse(root, arena, ret_rows, err)) < 0)
        r = err_set(err, -r, "'%s': %s", path, arena_strdup(arena, err->text));
    json_decref(root);
    return r;
}

json_t *danger_list_json(const struct danger *rows)
{
    json_t *list = json_array();

    for (; rows && rows->id; rows++) {
        json_t *row = json_object(), *match = json_object();

        json_put_text(row, "id", rows->id);
        for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
            const char *const *glob = column_of(rows, columns[i].at);
            json_t *globs = glob ? json_array() : NULL;

            for (; glob && *glob; glob++)
                json_push(globs, json_text(*glob));
            if (globs)
                json_put(match, columns[i].name, globs);
        }
        json_put(row, "match", match);
        json_put_text(row, "absolute", danger_verdict_name(rows->absolute));
        json_put_text(row, "farm", danger_verdict_name(rows->farm));
        json_put_text(row, "note", danger_verdict_name(rows->note));
        json_put_text(row, "why", rows->why);
        json_push(list, row);
    }
    return list;
}

static bool matches(const struct danger *row, enum danger_key key, const char *value)
{
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        for (const char *const *glob = columns[i].key == key ? column_of(row, columns[i].at) : NULL;
             glob && *glob; glob++)
            if (!fnmatch(*glob, value, FNM_NOESCAPE))
                return true;
    return false;
}

const struct danger *danger_next_in(const struct danger *rows, enum danger_key key,
                                    const char *value, const struct danger *after)
{
    const struct danger *row;
    bool mine = false; /* `after` is one of the user's */

    for (row = rows; after && row && row->id; row++)
        mine |= row == after;
    if (!mine && (row = danger_next(key, value, after)))
        return row;
    for (row = mine ? after + 1 : rows; row && row->id; row++)
        if (matches(row, key, value))
            return row;
    return NULL;
}
