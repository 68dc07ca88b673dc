#include "loader/declared.h"

#include "base/json.h"
#include "base/str.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

struct reading {
    struct arena *arena;
    const struct object *object;
    struct declared_list list;
};

const char *dlopen_source_name(enum dlopen_source source)
{
    static const char *const names[] = {
        [DLOPEN_ASKED] = "asked", [DLOPEN_NOTE] = "note", [DLOPEN_CONSTANT] = "constant"};

    return names[source];
}

static void PRINTF(2, 3) problem(struct reading *r, const char *fmt, ...)
{
    struct declared_list *list = &r->list;
    va_list ap;

    list->problem = arena_grow(r->arena, list->problem, list->n_problems, sizeof(*list->problem));
    va_start(ap, fmt);
    list->problem[list->n_problems++] = arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
}

static bool add(struct reading *r, const struct declared *declared)
{
    struct declared_list *list = &r->list;

    if (list->n == DECLARED_MAX) {
        problem(r, "of more than %d dlopens the rest is left out", DECLARED_MAX);
        return false;
    }
    list->item = arena_grow(r->arena, list->item, list->n, sizeof(*list->item));
    list->item[list->n++] = *declared;
    return true;
}

/* ---- notes: [{"soname": ["liba.so.1", ...], "feature": "...", "priority": "..."}, ...] */

/* The text of a known priority; NULL: none of them. */
static const char *priority_of(const char *text)
{
    static const char *const known[] = {"required", "recommended", "suggested"};
    const char *const *name;

    for_each (name, known)
        if (strcmp(*name, text) == 0)
            return *name;
    return NULL;
}

/* The alternatives of one row. */
static void read_names(struct reading *r, const json_t *sonames, struct declared *ret)
{
    for (size_t i = 0; i < json_array_size(sonames); i++) {
        const char *name = json_string_value(json_array_get(sonames, i));

        if (!name || !*name || strlen(name) >= PATH_MAX) {
            problem(r, "a soname that is no file name is left out");
        } else if (ret->n_names == DECLARED_NAMES_MAX) {
            problem(r, "of more than %d alternatives the rest is left out", DECLARED_NAMES_MAX);
            return;
        } else {
            ret->name = arena_grow(r->arena, ret->name, ret->n_names, sizeof(*ret->name));
            ret->name[ret->n_names++] = arena_strdup(r->arena, name);
        }
    }
}

/* One row. False: no more are taken. */
static bool read_row(struct reading *r, const json_t *row)
{
    const json_t *priority = json_object_get(row, "priority");
    const char *feature = json_string_value(json_object_get(row, "feature"));
    struct declared d = {.source = DLOPEN_NOTE, .priority = "recommended"};

    if (!json_is_array(json_object_get(row, "soname"))) {
        problem(r, "an entry without an array of sonames is left out");
        return true;
    }
    read_names(r, json_object_get(row, "soname"), &d);
    if (d.n_names == 0) {
        problem(r, "an entry without a soname is left out");
        return true;
    }
    if (priority) {
        const char *known =
            priority_of(json_is_string(priority) ? json_string_value(priority) : "");

        if (!known)
            problem(r, "a priority that is not known is taken for '%s'", d.priority);
        d.priority = known ? known : d.priority;
    }
    d.feature = feature ? arena_strdup(r->arena, feature) : NULL;
    return add(r, &d);
}

static void read_note(struct reading *r, const struct note *note)
{
    const char *text = (const char *)note->bytes;
    const char *end = text ? memchr(text, '\0', note->size) : NULL;
    json_error_t error;
    json_t *rows;

    if (!end) {
        problem(r, "a text that is not ended by a zero byte is left out");
        return;
    }
    if (end - text > DECLARED_NOTE_MAX) {
        problem(r, "a text of more than %d bytes is left out", DECLARED_NOTE_MAX);
        return;
    }
    rows = json_loadb(text, (size_t)(end - text), 0, &error);
    if (!rows)
        problem(r, "a text that is not JSON is left out (%s)", error.text);
    else if (!json_is_array(rows))
        problem(r, "JSON that is not an array is left out");
    for (size_t i = 0; json_is_array(rows) && i < json_array_size(rows); i++)
        if (!read_row(r, json_array_get(rows, i)))
            break;
    json_decref(rows);
}

/* ---- constants */

/* Said by a note already, or the own name, or the loader that a program names? */
static bool is_said(const struct reading *r, const char *name)
{
    if (str_same(name, r->object->soname) || str_same(name, r->object->interp))
        return true;
    for (size_t i = 0; i < r->list.n; i++)
        for (size_t k = 0; k < r->list.item[i].n_names; k++)
            if (strcmp(r->list.item[i].name[k], name) == 0)
                return true;
    return false;
}

/* A part of a name that is put together: "_driver.so", "plugins/lib.so". */
static bool is_piece(const char *text)
{
    return *text != '/' && (strchr(text, '/') || !isalnum((unsigned char)*text));
}

static void read_constants(struct reading *r)
{
    const struct object *o = r->object;

    if (!(o->imports & (IMPORT_DLOPEN | IMPORT_DLMOPEN)))
        return;
    for (size_t i = 0; i < o->n_dlopen_strings; i++) {
        const char **name;

        if (is_piece(o->dlopen_string[i]) || is_said(r, o->dlopen_string[i]))
            continue;
        name = arena_memdup(r->arena, &o->dlopen_string[i], sizeof(*name));
        if (!add(r, &(struct declared){.source = DLOPEN_CONSTANT, .name = name, .n_names = 1}))
            return;
    }
}

void declared_read(struct arena *arena, const struct object *object, struct declared_list *ret_list)
{
    struct reading r = {.arena = arena, .object = object};

    for (size_t i = 0; i < object->n_dlopen_notes; i++)
        read_note(&r, &object->dlopen_note[i]);
    read_constants(&r);
    *ret_list = r.list;
}
